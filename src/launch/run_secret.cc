// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/run_secret.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rudder/core/interrupt.h"

#include "launch/signals.h"

namespace rudder::launch {
namespace {

constexpr std::size_t kFileBytes = 2 * Secret::kBytes + 1;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

Error bad_file(const std::filesystem::path& path, std::string_view what) {
  return {Errc::kInvalidData,
          fmt::format("{}: {}; remove it and a new one is made, the same on all hosts that share it",
                      path.string(), what)};
}

/// Nobody else may have read the file or been able to put another one into its place.
Status check_folder(const std::filesystem::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) {
    return errno_error("cannot look at " + folder.string());
  }
  if (info.st_uid != ::geteuid()) {
    return Error{Errc::kInvalidData, fmt::format("{} belongs to user {}, not to this one ({})",
                                                 folder.string(), info.st_uid, ::geteuid())};
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{Errc::kInvalidData,
                 fmt::format("others may write to {} (mode {:04o}), where the secret is; chmod 700 it",
                             folder.string(), info.st_mode & 07777U)};
  }
  return {};
}

Status check_file(const std::filesystem::path& path, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return errno_error("cannot look at " + path.string());
  }
  if (!S_ISREG(info.st_mode)) {
    return bad_file(path, "not a regular file");
  }
  if (info.st_uid != ::geteuid()) {
    return bad_file(path, fmt::format("belongs to user {}, not to this one ({})", info.st_uid, ::geteuid()));
  }
  if ((info.st_mode & kOthers) != 0) {
    return bad_file(path, fmt::format("others may read or write it (mode {:04o}), so they may know it",
                                      info.st_mode & 07777U));
  }
  if (info.st_size != off_t{kFileBytes}) {
    return bad_file(path, fmt::format("{} bytes instead of {}", info.st_size, kFileBytes));
  }
  return {};
}

/// kNotFound when there is no file.
Result<Secret> read_secret(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd.open()) {
    if (errno == ENOENT) {
      return Error{Errc::kNotFound, path.string()};
    }
    return errno == ELOOP ? bad_file(path, "a symbolic link") : errno_error("cannot open " + path.string());
  }
  RUDDER_TRY(check_folder(path.parent_path()));
  RUDDER_TRY(check_file(path, fd.get()));
  std::array<char, kFileBytes> text{};
  if (::read(fd.get(), text.data(), text.size()) != ssize_t{kFileBytes} || text.back() != '\n') {
    return bad_file(path, "not one line of 64 digits");
  }
  auto secret = Secret::parse({text.data(), text.size() - 1});
  if (!secret.ok()) {
    return bad_file(path, secret.error().message);
  }
  return secret;
}

/// Writes a new secret beside `path` and gives it that name, unless another process was first.
Status make_secret(const std::filesystem::path& path) {
  if (::mkdir(path.parent_path().c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return errno_error("cannot make " + path.parent_path().string());
  }
  const std::string name = path.string() + ".tmp." + Secret().hex().substr(0, 16);
  const PendingPath temporary(name);
  const Fd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd.open()) {
    return errno_error("cannot write into " + path.parent_path().string());
  }
  const std::string text = Secret().hex() + "\n";
  const bool written =
      ::write(fd.get(), text.data(), text.size()) == ssize_t{kFileBytes} && ::fsync(fd.get()) == 0;
  // Unlike rename(), link() never replaces what another process has made meanwhile.
  const bool named = written && (::link(name.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const Status status = named ? Status() : Status(errno_error("cannot write " + path.string()));
  ::unlink(name.c_str());
  return status;
}

}  // namespace

Result<Secret> secret_from_file(const std::filesystem::path& path) {
  auto found = read_secret(path);
  if (found.ok() || found.error().code != Errc::kNotFound) {
    return found;
  }
  RUDDER_TRY(make_secret(path));
  return read_secret(path);
}

Result<Secret> run_secret_from_environment() {
  if (const char* text = std::getenv(kSecretVariable)) {
    auto secret = Secret::parse(text);
    if (!secret.ok()) {
      return secret.error().in(fmt::format("environment variable {}", kSecretVariable));
    }
    return secret;
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("ranks need a secret in common: set {} to the same 64 hexadecimal digits on all, "
                    "or HOME to the user's folder for .rudder/secret",
                    kSecretVariable)};
  }
  return secret_from_file(std::filesystem::path(home) / ".rudder" / "secret");
}

}  // namespace rudder::launch
