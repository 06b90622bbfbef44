// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/core/log.h"
#include "rudder/core/machine.h"
#include "rudder/core/sha256.h"
#include "rudder/train/result_fields.h"

namespace rudder::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "RUDDERCK";
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kFixed = 16;  // magic, version, header's length
constexpr std::size_t kDigest = 32;
constexpr std::size_t kMostHeader = std::size_t{64} << 20;
constexpr int kMostDepth = 8;
constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kSuffix = ".rck";

Error invalid(const std::string& where, std::string_view what) {
  return {Errc::kInvalidData, fmt::format("{}: {}", where, what)};
}

/// The arrays of a file, in order.
template <class Kind>
auto arrays_of(Kind& checkpoint) {
  std::vector arrays = {&checkpoint.learner.parameters, &checkpoint.learner.mean, &checkpoint.learner.square};
  if (checkpoint.best) {
    arrays.push_back(&checkpoint.best->parameters);
  }
  arrays.push_back(&checkpoint.losses);
  return arrays;
}

std::string header_text(const Checkpoint& checkpoint) {
  Json epochs = Json::array();
  for (const EpochResult& epoch : checkpoint.epochs) {
    Json& object = epochs.emplace_back();
    for_each_field(epoch, [&](const char* name, const auto& field) { put_field(object[name], field); });
  }
  Json best;
  if (checkpoint.best) {
    best = {{"epoch", checkpoint.best->epoch}, {"accuracy", checkpoint.best->accuracy}};
  }
  const Json header = {{"identity", checkpoint.identity},
                       {"next_step", checkpoint.next_step},
                       {"updates", checkpoint.learner.updates},
                       {"epoch_loss", checkpoint.epoch_loss},
                       {"parameters", checkpoint.learner.parameters.size()},
                       {"losses", checkpoint.losses.size()},
                       {"best", std::move(best)},
                       {"epochs", std::move(epochs)}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

/// A callback of the parser that drops deeper values, so that a hostile nesting cannot exhaust the stack.
bool is_shallow(int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
  return depth < kMostDepth;
}

/// Fills all but the arrays, whose lengths it sets.
Status read_header(std::string_view text, std::size_t array_bytes, Checkpoint& out,
                   const std::string& where) {
  try {
    const Json header = Json::parse(text, is_shallow);
    header.at("identity").get_to(out.identity);
    header.at("next_step").get_to(out.next_step);
    header.at("updates").get_to(out.learner.updates);
    header.at("epoch_loss").get_to(out.epoch_loss);
    const auto parameters = header.at("parameters").get<std::uint64_t>();
    const auto losses = header.at("losses").get<std::uint64_t>();
    if (const Json& best = header.at("best"); !best.is_null()) {
      out.best = BestEpoch{.epoch = best.at("epoch").get<std::uint32_t>(),
                           .accuracy = best.at("accuracy").get<double>()};
    }
    const std::uint64_t room = array_bytes / sizeof(float);
    const std::uint64_t models = out.best ? 4 : 3;
    if (parameters > room || losses > room || models * parameters + losses != room ||
        array_bytes % sizeof(float) != 0) {
      return invalid(where, fmt::format("{} bytes of arrays for {} parameters and {} losses", array_bytes,
                                        parameters, losses));
    }
    for (std::vector<float>* array : arrays_of(out)) {
      array->resize(array == &out.losses ? losses : parameters);
    }
    for (const Json& object : header.at("epochs")) {
      EpochResult epoch;
      for_each_field(epoch, [&](const char* name, auto& field) { get_field(object.at(name), field); });
      out.epochs.push_back(epoch);
    }
  } catch (const Json::exception& error) {
    return invalid(where, fmt::format("header: {}", error.what()));
  }
  return {};
}

std::filesystem::path path_of(const std::filesystem::path& folder, std::uint64_t step) {
  return folder / fmt::format("{}{:012}{}", kPrefix, step, kSuffix);
}

std::vector<std::filesystem::path> list_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code failed;
  for (auto entry = std::filesystem::directory_iterator(folder, failed);
       !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    found.push_back(entry->path());
  }
  return found;
}

/// Checkpoints of a folder, newest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found = list_files(folder);
  std::erase_if(found, [](const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return !name.starts_with(kPrefix) || !name.ends_with(kSuffix);
  });
  // Steps have a fixed width: names sort as they do.
  std::ranges::sort(found, std::greater<>());
  return found;
}

}  // namespace

std::vector<std::byte> encode_checkpoint(const Checkpoint& checkpoint) {
  const std::string header = header_text(checkpoint);
  std::vector<std::byte> out;
  const auto put = [&](const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    out.insert(out.end(), first, first + bytes);
  };
  const auto header_bytes = static_cast<std::uint32_t>(header.size());
  put(kMagic.data(), kMagic.size());
  put(&kVersion, sizeof kVersion);
  put(&header_bytes, sizeof header_bytes);
  put(header.data(), header.size());
  for (const std::vector<float>* array : arrays_of(checkpoint)) {
    put(array->data(), array->size() * sizeof(float));
  }
  Sha256 sha;
  sha.update(out);
  const Sha256::Digest digest = sha.digest();
  put(digest.data(), digest.size());
  return out;
}

Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < kFixed + kDigest || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return invalid(where, "not a checkpoint");
  }
  std::uint32_t version = 0;
  std::uint32_t header_bytes = 0;
  std::memcpy(&version, bytes.data() + kMagic.size(), sizeof version);
  std::memcpy(&header_bytes, bytes.data() + kMagic.size() + sizeof version, sizeof header_bytes);
  if (version != kVersion) {
    return invalid(where, fmt::format("version {}; this program reads {}", version, kVersion));
  }
  const std::size_t content = bytes.size() - kFixed - kDigest;
  if (header_bytes > content || header_bytes > kMostHeader) {
    return invalid(where, fmt::format("a header of {} bytes in a file of {}", header_bytes, bytes.size()));
  }
  Sha256 sha;
  sha.update(bytes.first(bytes.size() - kDigest));
  const Sha256::Digest digest = sha.digest();
  if (std::memcmp(digest.data(), bytes.data() + bytes.size() - kDigest, kDigest) != 0) {
    return invalid(where, "the checksum differs: the file is damaged");
  }
  Checkpoint out;
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kFixed, header_bytes);
  RUDDER_TRY(read_header(header, content - header_bytes, out, where));
  const std::byte* next = bytes.data() + kFixed + header_bytes;
  for (std::vector<float>* array : arrays_of(out)) {
    if (!array->empty()) {
      std::memcpy(array->data(), next, array->size() * sizeof(float));
    }
    next += array->size() * sizeof(float);
  }
  return out;
}

std::string identity_difference(const std::string& saved, const std::string& now) {
  const Json before = Json::parse(saved, is_shallow, false);
  const Json after = Json::parse(now, is_shallow, false);
  if (!before.is_object() || !after.is_object()) {
    return saved == now ? "" : "the checkpoint does not say what it was made with";
  }
  std::string text;
  for (const auto& [name, value] : after.items()) {
    const auto found = before.find(name);
    const std::string old = found == before.end() ? "nothing" : found->dump();
    if (old != value.dump()) {
      text += fmt::format("{}{} was {}, is {}", text.empty() ? "" : "; ", name, old, value.dump());
    }
  }
  return text;
}

Status save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint, std::size_t keep) {
  RUDDER_TRY(make_directories(folder));
  RUDDER_ASSIGN(AtomicFile file, AtomicFile::create(path_of(folder, checkpoint.next_step)));
  RUDDER_TRY(file.write(encode_checkpoint(checkpoint)));
  RUDDER_TRY(file.commit());
  std::vector<std::filesystem::path> all = list_checkpoints(folder);
  std::erase_if(
      all, [&](const std::filesystem::path& path) { return path > path_of(folder, checkpoint.next_step); });
  for (std::size_t i = std::max<std::size_t>(keep, 1); i < all.size(); ++i) {
    std::error_code ignored;  // one too many does no harm
    std::filesystem::remove(all[i], ignored);
  }
  return {};
}

Result<std::optional<Checkpoint>> load_checkpoint(const std::filesystem::path& folder) {
  std::optional<Error> newest_error;
  for (const std::filesystem::path& path : list_checkpoints(folder)) {
    auto read = [&]() -> Result<Checkpoint> {
      RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
      return decode_checkpoint(file.bytes(), path.string());
    }();
    if (read.ok()) {
      return std::optional<Checkpoint>(std::move(*read));
    }
    log_warning(fmt::format("passed over: {}", read.error().message));
    if (!newest_error) {
      newest_error = read.error();
    }
  }
  if (newest_error) {
    return *newest_error;
  }
  return std::optional<Checkpoint>();
}

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::open(const std::filesystem::path& folder,
                                                                 std::size_t keep, bool fresh) {
  RUDDER_TRY(make_directories(folder));
  const int lock = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<CheckpointWriter> writer(lock < 0 ? nullptr : new CheckpointWriter(folder, keep, lock));
  if (!writer || ::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{}: {}", folder.string(),
                             lock >= 0 && errno == EWOULDBLOCK ? "another run keeps its checkpoints here"
                                                               : std::generic_category().message(errno))};
  }
  if (fresh && !list_checkpoints(folder).empty()) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("{}: has checkpoints of an earlier run; give --resume to go on from them, or another "
                    "folder",
                    folder.string())};
  }
  for (const std::filesystem::path& path : list_files(folder)) {
    if (path.filename().string().find(fmt::format("{}.tmp.", kSuffix)) != std::string::npos) {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    }
  }
  RUDDER_TRY(AtomicFile::create(folder / "probe"));  // says now when nothing could be written later
  return writer;
}

CheckpointWriter::CheckpointWriter(std::filesystem::path folder, std::size_t keep, int lock)
    : lock_(lock), folder_(std::move(folder)), keep_(keep), thread_([this] { run(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  ::close(lock_);
}

void CheckpointWriter::submit(Checkpoint checkpoint) {
  {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(checkpoint);
  }
  changed_.notify_all();
}

Status CheckpointWriter::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !waiting_ && !writing_; });
  return last_;
}

void CheckpointWriter::run() {
  name_this_thread("checkpoint");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || waiting_; });
    if (!waiting_) {
      return;
    }
    const Checkpoint checkpoint = std::move(*waiting_);
    waiting_.reset();
    writing_ = true;
    lock.unlock();
    Status written = save_checkpoint(folder_, checkpoint, keep_);
    if (!written.ok()) {
      log_warning(fmt::format("checkpoint of step {} not written: {}", checkpoint.next_step,
                              written.error().message));
    }
    lock.lock();
    last_ = std::move(written);
    writing_ = false;
    changed_.notify_all();
  }
}

}  // namespace rudder::train
