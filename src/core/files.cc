// SPDX-License-Identifier: Apache-2.0
#include "rudder/core/files.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rudder {
namespace {

constexpr std::size_t kWriteBuffer = std::size_t{1} << 20;

Error system_error(const std::filesystem::path& path, std::string_view what) {
  const int saved = errno;
  const Errc code = saved == ENOENT ? Errc::kNotFound
                    : saved == ENOSPC || saved == ENOMEM || saved == EMFILE || saved == EDQUOT
                        ? Errc::kResource
                        : Errc::kIo;
  return {code, fmt::format("{}: {}: {}", path.string(), what, std::generic_category().message(saved))};
}

Status write_fully(int fd, const std::filesystem::path& path, std::span<const std::byte> bytes,
                   off_t offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = offset < 0 ? ::write(fd, bytes.data() + done, bytes.size() - done)
                                 : ::pwrite(fd, bytes.data() + done, bytes.size() - done,
                                            offset + static_cast<off_t>(done));
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      return system_error(path, "cannot write");
    }
    done += static_cast<std::size_t>(n);
  }
  return {};
}

/// Makes a rename in `directory` durable.
Status sync_directory(const std::filesystem::path& directory) {
  const std::filesystem::path where = directory.empty() ? std::filesystem::path(".") : directory;
  const int fd = ::open(where.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return system_error(where, "cannot open the directory");
  }
  const int result = ::fsync(fd);
  ::close(fd);
  // Some file systems do not sync directories; that is not an error of ours.
  if (result != 0 && errno != EINVAL && errno != EROFS) {
    return system_error(where, "cannot sync the directory");
  }
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block
  if (fd < 0) {
    return system_error(path, "cannot open");
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const Error error = system_error(path, "cannot stat");
    ::close(fd);
    return error;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return Error{Errc::kInvalidData, fmt::format("{}: not a regular file", path.string())};
  }
  MappedFile file;
  file.size_ = static_cast<std::size_t>(info.st_size);
  if (file.size_ > 0) {
    void* address = ::mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) {
      const Error error = system_error(path, "cannot map");
      ::close(fd);
      file.size_ = 0;
      return error;
    }
    file.data_ = static_cast<const std::byte*>(address);
  }
  ::close(fd);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MappedFile::advise_random() const noexcept {
  if (data_ != nullptr) {
    ::madvise(const_cast<std::byte*>(data_), size_, MADV_RANDOM);  // a hint
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: exists and is not a regular file", path.string())};
  }
  AtomicFile file;
  // The file behind a symbolic link is replaced, not the link.
  file.path_ =
      std::filesystem::is_symlink(path, ignored) ? std::filesystem::weakly_canonical(path, ignored) : path;
  // relaxed: only uniqueness within the process matters.
  const std::string suffix =
      fmt::format(".tmp.{}.{}", ::getpid(), counter.fetch_add(1, std::memory_order_relaxed));
  file.temporary_ = PendingPath(std::filesystem::path(file.path_) += suffix);
  file.fd_ = ::open(file.temporary_.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file.fd_ < 0) {
    return system_error(file.temporary_.path(), "cannot create");
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      buffer_(std::move(other.buffer_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(temporary_.path().c_str());
  }
}

Status AtomicFile::flush() {
  RUDDER_TRY(write_fully(fd_, temporary_.path(), std::as_bytes(std::span(buffer_)), -1));
  buffer_.clear();
  return {};
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kWriteBuffer) {
    RUDDER_TRY(flush());
    if (bytes.size() > kWriteBuffer) {
      return write_fully(fd_, temporary_.path(), bytes, -1);
    }
  }
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Status AtomicFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text)));
}

Status AtomicFile::write_at(std::size_t offset, std::span<const std::byte> bytes) {
  RUDDER_TRY(flush());
  return write_fully(fd_, temporary_.path(), bytes, static_cast<off_t>(offset));
}

Status AtomicFile::commit() {
  RUDDER_TRY(flush());
  if (::fsync(fd_) != 0) {
    return system_error(temporary_.path(), "cannot sync");
  }
  if (::close(std::exchange(fd_, -1)) != 0) {
    const Error error = system_error(temporary_.path(), "cannot close");
    ::unlink(temporary_.path().c_str());
    return error;
  }
  if (::rename(temporary_.path().c_str(), path_.c_str()) != 0) {
    const Error error = system_error(path_, "cannot rename into place");
    ::unlink(temporary_.path().c_str());
    return error;
  }
  return sync_directory(path_.parent_path());
}

Result<std::string> read_text(const std::filesystem::path& path, std::size_t limit) {
  RUDDER_ASSIGN(const MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > limit) {
    return Error{Errc::kInvalidData, fmt::format("{}: {} bytes, more than the {} allowed here", path.string(),
                                                 file.bytes().size(), limit)};
  }
  if (file.bytes().empty()) {
    return std::string();
  }
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

Status write_text(const std::filesystem::path& path, std::string_view text) {
  RUDDER_ASSIGN(AtomicFile file, AtomicFile::create(path));
  RUDDER_TRY(file.write(text));
  return file.commit();
}

Status make_directories(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return Error{Errc::kIo,
                 fmt::format("{}: cannot create the directory: {}", path.string(), error.message())};
  }
  return {};
}

Result<TemporaryDirectory> TemporaryDirectory::create(std::string_view prefix) {
  std::error_code error;
  const std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) {
    return Error{Errc::kIo, "no temporary directory: " + error.message()};
  }
  std::string pattern = (base / fmt::format("{}.XXXXXX", prefix)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return system_error(pattern, "cannot create a temporary directory");
  }
  return TemporaryDirectory(pattern);
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!pending_.path().empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(pending_.path(), ignored);
  }
}

}  // namespace rudder
