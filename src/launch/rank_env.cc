// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/rank_env.h"

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string_view>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/core/text.h"
#include "rudder/place/hostlist.h"

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

/// The variable's text, or an error that says which variable made it necessary.
Result<const char*> wanted(const char* name, const char* because) {
  if (const char* value = std::getenv(name)) {
    return value;
  }
  return Error{Errc::kInvalidArgument,
               fmt::format("environment variable {} is missing while {} is set", name, because)};
}

Result<RankEnvironment> numbered(const char* rank_name, const char* world_name) {
  RUDDER_ASSIGN(const char* rank_text, wanted(rank_name, world_name));
  RUDDER_ASSIGN(const char* world_text, wanted(world_name, rank_name));
  RUDDER_ASSIGN(const std::int64_t world, integer_variable(world_name, world_text, 1, 65536));
  RUDDER_ASSIGN(const std::int64_t rank, integer_variable(rank_name, rank_text, 0, world - 1));
  RankEnvironment found;
  found.rank = narrow<Rank>(rank);
  found.world = narrow<Rank>(world);
  return found;
}

Status read_port(const char* text, RankEnvironment& found) {
  RUDDER_ASSIGN(const std::int64_t port, integer_variable("MASTER_PORT", text, 1, 65535));
  found.master_port = narrow<std::uint16_t>(port);
  return {};
}

Result<RankEnvironment> from_torchrun() {
  RUDDER_ASSIGN(RankEnvironment found, numbered("RANK", "WORLD_SIZE"));
  RUDDER_ASSIGN(found.master_address, wanted("MASTER_ADDR", "RANK"));
  RUDDER_ASSIGN(const char* port, wanted("MASTER_PORT", "RANK"));
  RUDDER_TRY(read_port(port, found));
  return found;
}

/// Where the user says that the store is; without a port, one derived from `job`.
Status read_master(RankEnvironment& found, std::uint64_t job) {
  if (const char* address = std::getenv("MASTER_ADDR")) {
    found.master_address = address;
  }
  if (const char* port = std::getenv("MASTER_PORT")) {
    return read_port(port, found);
  }
  // Below the ports that systems hand out by themselves (32768 and up on Linux).
  found.master_port = narrow<std::uint16_t>(10000 + mix64(job) % 20000);
  return {};
}

Result<RankEnvironment> from_open_mpi() {
  RUDDER_ASSIGN(RankEnvironment found, numbered("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"));
  const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  const bool one_node =
      found.world == 1 || (local != nullptr && parse_int(local) == std::int64_t{found.world});
  if (!one_node && std::getenv("MASTER_ADDR") == nullptr) {
    return Error{Errc::kInvalidArgument,
                 "Open MPI's ranks lie on several nodes: name rank 0's host, mpirun -x MASTER_ADDR=HOST"};
  }
  const char* name = std::getenv("PMIX_NAMESPACE");
  RUDDER_TRY(read_master(found, name == nullptr ? 0 : std::hash<std::string_view>()(name)));
  return found;
}

/// The host of rank 0.
Result<std::string> first_slurm_host() {
  const char* distribution = std::getenv("SLURM_DISTRIBUTION");
  const char* host_file = std::getenv("SLURM_HOSTFILE");
  if (host_file != nullptr && distribution != nullptr &&
      std::string_view(distribution).starts_with("arbitrary")) {
    RUDDER_ASSIGN(const std::string text, read_text(host_file));
    const std::string first = text.substr(0, text.find_first_of("\n \t,*"));
    if (first.empty()) {
      return Error{Errc::kInvalidArgument, fmt::format("{}: no host in line 1", host_file)};
    }
    return first;
  }
  RUDDER_ASSIGN(const char* list, wanted("SLURM_STEP_NODELIST", "SLURM_PROCID"));
  RUDDER_ASSIGN(const std::vector<std::string> hosts, place::expand_hostlist(list));
  return hosts.front();
}

Result<RankEnvironment> from_slurm() {
  RUDDER_ASSIGN(RankEnvironment found, numbered("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"));
  const char* nodes = std::getenv("SLURM_STEP_NUM_NODES");
  const bool one_node = nodes != nullptr && std::string_view(nodes) == "1";
  if (!one_node && std::getenv("MASTER_ADDR") == nullptr) {
    RUDDER_ASSIGN(found.master_address, first_slurm_host());
  }
  std::uint64_t job = 0;
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    const char* text = std::getenv(name);
    const auto number = text == nullptr ? std::nullopt : parse_int(text);
    job = mix64(job + static_cast<std::uint64_t>(number.value_or(0)));
  }
  RUDDER_TRY(read_master(found, job));
  return found;
}

// Linux gives ports from 32768 on to whoever asks for any (ip_local_port_range). One below them is not taken
// by chance between the look and its use.
constexpr int kLowestPort = 15000;
constexpr int kHighestPort = 32767;
constexpr int kPortTries = 32;

/// `port`, or any for 0, if it can be bound now.
Result<std::uint16_t> bindable_port(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return Error{Errc::kIo, "cannot create a socket: " + std::generic_category().message(errno)};
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
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

}  // namespace

Result<RankEnvironment> rank_from_environment() {
  const auto there = [](const char* name) { return std::getenv(name) != nullptr; };
  if (there("RANK") || there("WORLD_SIZE")) {
    return from_torchrun();
  }
  if (there("OMPI_COMM_WORLD_RANK")) {
    return from_open_mpi();
  }
  if (there("SLURM_STEP_NUM_TASKS")) {
    return from_slurm();
  }
  return RankEnvironment{};
}

Result<std::uint32_t> local_rank(const RankEnvironment& environment) {
  // The launcher whose variables rank_from_environment() took.
  const char* name = std::getenv("RANK") != nullptr                   ? "LOCAL_RANK"
                     : std::getenv("OMPI_COMM_WORLD_RANK") != nullptr ? "OMPI_COMM_WORLD_LOCAL_RANK"
                                                                      : "SLURM_LOCALID";
  const char* text = std::getenv(name);
  if (text == nullptr) {
    return std::uint32_t{environment.rank};
  }
  RUDDER_ASSIGN(const std::int64_t number, integer_variable(name, text, 0, 65535));
  return narrow<std::uint32_t>(number);
}

Result<std::uint16_t> free_port() {
  std::random_device entropy;
  std::uniform_int_distribution<int> ports(kLowestPort, kHighestPort);
  for (int tries = 0; tries < kPortTries; ++tries) {
    if (auto port = bindable_port(static_cast<std::uint16_t>(ports(entropy))); port.ok()) {
      return port;
    }
  }
  return bindable_port(0);
}

}  // namespace rudder::launch
