// SPDX-License-Identifier: Apache-2.0
#include "llm/gguf.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace rudder::llm {
namespace {

struct Head {
  std::array<char, 4> magic;
  std::uint32_t version;
  std::uint64_t tensors;
  std::uint64_t pairs;
};
static_assert(sizeof(Head) == 24);

// The smallest tensor record: an empty name, no dimensions, a type and an offset; the smallest pair: an empty
// key, a type and one byte.
constexpr std::uint64_t kTensorBytes = 8 + 4 + 4 + 8;
constexpr std::uint64_t kPairBytes = 8 + 4 + 1;

}  // namespace

Status check_gguf(const std::filesystem::path& file) {
  const auto bad = [&](std::string_view why) {
    return Error{Errc::kInvalidData, fmt::format("{}: {}", file.string(), why)};
  };
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(file, failed);
  if (!std::filesystem::exists(status)) {
    return Error{Errc::kNotFound, fmt::format("{}: there is no such file", file.string())};
  }
  if (!std::filesystem::is_regular_file(status)) {
    return bad("is no file");
  }
  const std::uint64_t size = std::filesystem::file_size(file, failed);
  std::ifstream stream(file, std::ios::binary);
  Head head{};
  if (failed || !stream) {
    return Error{Errc::kIo, fmt::format("{}: cannot be read", file.string())};
  }
  if (!stream.read(reinterpret_cast<char*>(&head), sizeof head)) {
    return bad(fmt::format("{} bytes are no GGUF model", size));
  }
  if (std::string_view(head.magic.data(), head.magic.size()) != "GGUF") {
    return bad("is no GGUF file");
  }
  if (head.version == 0 || (head.version & 0xFFFF) == 0) {
    return bad("its bytes are in another processor's order");
  }
  if (head.version == 1 || head.version > 3) {
    return bad(fmt::format("GGUF version {}; 2 and 3 can be read", head.version));
  }
  if (head.tensors == 0 || head.tensors > size / kTensorBytes || head.pairs > size / kPairBytes) {
    return bad(
        fmt::format("{} tensors and {} values do not fit into its {} bytes", head.tensors, head.pairs, size));
  }
  return {};
}

}  // namespace rudder::llm
