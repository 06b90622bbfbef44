// SPDX-License-Identifier: Apache-2.0
#include "graph/npz.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zip.h>

#include "graph/import_common.h"

namespace rudder::graph {
namespace {

constexpr std::int64_t kMaxEntries = 4096;
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kChunk = std::size_t{1} << 20;

struct CloseEntry {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};

/// A name that may appear in messages and lookups: printable, no folder.
bool plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c <= '~' && c != '/' && c != '\\';
  });
}

}  // namespace

void NpzFile::Close::operator()(zip* archive) const noexcept {
  zip_discard(archive);
}

Result<NpzFile> NpzFile::open(const std::filesystem::path& path, std::size_t memory_limit) {
  NpzFile file;
  file.where_ = path.string();
  file.limit_ = memory_limit;
  file.left_ = memory_limit;
  int code = 0;
  file.archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!file.archive_) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (code == ZIP_ER_NOENT) {
      return Error{Errc::kNotFound, file.where_ + ": no such file"};
    }
    return invalid(file.where_, "not a readable zip: " + shown(text));
  }
  RUDDER_TRY(file.list_entries());
  return file;
}

Status NpzFile::list_entries() {
  const std::int64_t count = zip_get_num_entries(archive_.get(), 0);
  if (count < 0 || count > kMaxEntries) {
    return invalid(where_, fmt::format("{} entries, more than {} allowed", count, kMaxEntries));
  }
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const char* raw = zip_get_name(archive_.get(), i, ZIP_FL_ENC_RAW);
    const std::string_view name = raw == nullptr ? std::string_view() : raw;
    if (!plain_name(name)) {
      return invalid(where_, fmt::format("entry {} has the name '{}'", i, shown(name)));
    }
    const std::string_view stem = name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
    if (!entries_.emplace(stem, i).second) {
      return invalid(where_, fmt::format("two entries are named '{}'", stem));
    }
  }
  return {};
}

std::string NpzFile::names() const {
  if (entries_.empty()) {
    return "no entries";
  }
  std::string out;
  for (const auto& [name, index] : entries_) {
    out += (out.empty() ? "" : ", ") + name;
  }
  return shown(out, 400);
}

Result<NpyArray> NpzFile::read(std::string_view name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return invalid(where_, fmt::format("no entry '{}'; it has {}", name, names()));
  }
  const std::string where = fmt::format("{}: {}.npy", where_, name);
  zip_stat_t info;
  zip_stat_init(&info);
  constexpr std::uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(archive_.get(), found->second, 0, &info) != 0 || (info.valid & kNeeded) != kNeeded) {
    return invalid(where, "its directory entry is incomplete");
  }
  if (info.encryption_method != ZIP_EM_NONE) {
    return Error{Errc::kUnsupported, where + ": is encrypted"};
  }
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE) {
    return Error{Errc::kUnsupported, fmt::format("{}: compression method {}; stored and deflated are read",
                                                 where, info.comp_method)};
  }
  if (info.size > left_) {
    return over_limit(where, fmt::format("{} declared bytes", info.size), limit_);
  }
  const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen_index(archive_.get(), found->second, 0));
  if (!entry) {
    return invalid(where, fmt::format("cannot unpack: {}", shown(zip_strerror(archive_.get()))));
  }
  std::vector<std::byte> bytes;
  while (true) {
    // Grows with what arrives, so that a false declaration costs no memory.
    const std::size_t have = bytes.size();
    const std::size_t room = std::min<std::size_t>(std::max(kChunk, have), info.size - have + 1);
    bytes.resize(have + room);
    const std::int64_t got = zip_fread(entry.get(), bytes.data() + have, room);
    if (got < 0) {
      return invalid(where, fmt::format("cannot unpack: {}", shown(zip_file_strerror(entry.get()))));
    }
    bytes.resize(have + static_cast<std::size_t>(got));
    if (bytes.size() > info.size) {
      return invalid(where, fmt::format("unpacks to more than its declared {} bytes", info.size));
    }
    if (got == 0) {
      break;
    }
  }
  if (bytes.size() != info.size) {
    return invalid(where, fmt::format("unpacks to {} of its declared {} bytes", bytes.size(), info.size));
  }
  left_ -= bytes.size();
  return NpyArray::from_bytes(std::move(bytes), where);
}

}  // namespace rudder::graph
