// SPDX-License-Identifier: Apache-2.0
#include "dataplane/row_memory.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rudder/core/aligned.h"
#include "rudder/core/machine.h"
#include "rudder/core/text.h"

namespace rudder::dataplane {
namespace {

Error out_of_memory(std::size_t size, const std::string& reason) {
  return Error{Errc::kResource,
               fmt::format("{} of memory for rows: {}", human_bytes(static_cast<double>(size)), reason)};
}

Status check_available(std::size_t size) {
  const std::size_t available = available_memory_bytes();
  if (size <= available) {
    return {};
  }
  return Error{Errc::kResource, fmt::format("a buffer of {} does not fit, {} are available",
                                            human_bytes(static_cast<double>(size)),
                                            human_bytes(static_cast<double>(available)))};
}

class PrivateBlock final : public RowBlock {
 public:
  PrivateBlock(std::size_t size, std::uint64_t id) : bytes_(size), id_(id) {}
  [[nodiscard]] std::byte* data() noexcept override { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept override { return bytes_.size(); }
  [[nodiscard]] std::uint64_t id() const noexcept override { return id_; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }

 private:
  AlignedBytes bytes_;
  std::uint64_t id_;
};

class PrivateMemory final : public RowMemory {
 public:
  [[nodiscard]] Result<std::shared_ptr<RowBlock>> allocate(std::size_t size) override {
    RUDDER_TRY(check_available(size));
    return std::shared_ptr<RowBlock>(std::make_shared<PrivateBlock>(size, next_id_.fetch_add(1)));
  }

 private:
  std::atomic<std::uint64_t> next_id_{0};
};

class SharedBlock final : public RowBlock {
 public:
  SharedBlock(int descriptor, std::byte* data, std::size_t size, std::uint64_t id)
      : descriptor_(descriptor), data_(data), size_(size), id_(id) {}
  ~SharedBlock() override {
    ::munmap(data_, size_);
    ::close(descriptor_);
  }
  [[nodiscard]] std::byte* data() noexcept override { return data_; }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] std::uint64_t id() const noexcept override { return id_; }
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_; }

 private:
  int descriptor_;
  std::byte* data_;
  std::size_t size_;
  std::uint64_t id_;
};

class SharedMemory final : public RowMemory {
 public:
  [[nodiscard]] Result<std::shared_ptr<RowBlock>> allocate(std::size_t size) override {
    RUDDER_TRY(check_available(size));
    size = std::max<std::size_t>(size, 1);  // an empty mapping is no mapping
    const int descriptor = ::memfd_create("rudder-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) {
      return out_of_memory(size, std::generic_category().message(errno));
    }
    const auto failed = [&](int error) {
      ::close(descriptor);
      return out_of_memory(size, std::generic_category().message(error));
    };
    const int reserved = ::posix_fallocate(descriptor, 0, static_cast<off_t>(size));
    if (reserved != 0) {
      return failed(reserved);
    }
    void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) {
      return failed(errno);
    }
    ::madvise(data, size, MADV_HUGEPAGE);  // a hint; systems without huge pages for shared memory refuse it
    constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    if (::fcntl(descriptor, F_ADD_SEALS, kSeals) != 0) {
      const int error = errno;
      ::munmap(data, size);
      return failed(error);
    }
    return std::shared_ptr<RowBlock>(std::make_shared<SharedBlock>(descriptor, static_cast<std::byte*>(data),
                                                                   size, next_id_.fetch_add(1)));
  }

 private:
  std::atomic<std::uint64_t> next_id_{0};
};

}  // namespace

std::unique_ptr<RowMemory> private_row_memory() {
  return std::make_unique<PrivateMemory>();
}

std::unique_ptr<RowMemory> shared_row_memory() {
  return std::make_unique<SharedMemory>();
}

Result<std::unique_ptr<MappedRows>> MappedRows::map(int descriptor, std::size_t size) {
  struct stat file {};
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (::fstat(descriptor, &file) != 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || size == 0 ||
      static_cast<std::uint64_t>(file.st_size) < size) {
    return Error{
        Errc::kInvalidData,
        fmt::format("shared memory of {} bytes, sealed {:#x}, instead of {} bytes that cannot shrink",
                    file.st_size, seals, size)};
  }
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    return out_of_memory(size, std::generic_category().message(errno));
  }
  return std::unique_ptr<MappedRows>(new MappedRows(static_cast<const std::byte*>(data), size));
}

MappedRows::~MappedRows() {
  ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace rudder::dataplane
