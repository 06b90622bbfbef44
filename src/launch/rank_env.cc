// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/rank_env.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/text.h"

namespace rudder::launch {
namespace {

Result<std::int64_t> integer_variable(const char* name, const char* text, std::int64_t low,
                                      std::int64_t high) {
  const auto value = parse_int(text);
  if (!value || *value < low || *value > high) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("environment variable {}='{}' is not a number from {} to {}", name, text, low, high)};
  }
  return *value;
}

}  // namespace

Result<RankEnvironment> rank_from_environment() {
  constexpr std::array<const char*, 4> kNames = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  std::array<const char*, 4> values{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    values[i] = std::getenv(kNames[i]);
  }
  RankEnvironment found;
  if (values[0] == nullptr && values[1] == nullptr) {
    return found;
  }
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (values[i] == nullptr) {
      return Error{
          Errc::kInvalidArgument,
          fmt::format("environment variable {} is missing while {} is set; set RANK, WORLD_SIZE, MASTER_ADDR "
                      "and MASTER_PORT together, or none of them",
                      kNames[i], values[0] != nullptr ? "RANK" : "WORLD_SIZE")};
    }
  }
  RUDDER_ASSIGN(const std::int64_t world, integer_variable("WORLD_SIZE", values[1], 1, 65536));
  RUDDER_ASSIGN(const std::int64_t rank, integer_variable("RANK", values[0], 0, world - 1));
  RUDDER_ASSIGN(const std::int64_t port, integer_variable("MASTER_PORT", values[3], 1, 65535));
  found.rank = narrow<Rank>(rank);
  found.world = narrow<Rank>(world);
  found.master_address = values[2];
  found.master_port = narrow<std::uint16_t>(port);
  return found;
}

Result<std::uint16_t> free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return Error{Errc::kIo, "cannot create a socket: " + std::generic_category().message(errno)};
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(fd, generic, length) == 0 && ::getsockname(fd, generic, &length) == 0;
  const int saved = errno;
  ::close(fd);
  if (!bound) {
    return Error{Errc::kIo, "no free TCP port: " + std::generic_category().message(saved)};
  }
  return ntohs(address.sin_port);
}

}  // namespace rudder::launch
