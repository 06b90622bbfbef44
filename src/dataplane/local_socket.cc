// SPDX-License-Identifier: Apache-2.0
#include "dataplane/local_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "rudder/core/check.h"

namespace rudder::dataplane {
namespace {

/// A body's memory grows with what has arrived, so that a length alone takes none.
constexpr std::size_t kBodyStep = std::size_t{16} << 20;
constexpr Duration kRetry = std::chrono::milliseconds(20);
constexpr int kBacklog = 64;

std::string reason(int error) {
  return std::generic_category().message(error);
}

Result<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.empty() || text.size() >= sizeof(address.sun_path)) {
    return Error{Errc::kInvalidArgument, fmt::format("socket path '{}': 1 to {} characters are possible",
                                                     text, sizeof(address.sun_path) - 1)};
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// The other side runs as this user, or as root.
Status check_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return Error{Errc::kIo, "cannot tell who connects: " + reason(errno)};
  }
  if (peer.uid != ::geteuid() && peer.uid != 0) {
    return Error{Errc::kPeer, fmt::format("process {} of user {} connects; only user {} may", peer.pid,
                                          peer.uid, ::geteuid())};
  }
  return {};
}

Descriptor new_socket(int flags = 0) {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

int poll_timeout(const Deadline& deadline) {
  const Duration left = deadline.at() - steady_clock().now();
  return static_cast<int>(
      std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0, 1'000'000));
}

/// Keeps the first descriptor of a message, closes the others.
void take_descriptors(msghdr& message, Descriptor* descriptor) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      Descriptor received(number);
      if (descriptor != nullptr && !descriptor->valid()) {
        *descriptor = std::move(received);
      }
    }
  }
}

Status ensure_socket_or_nothing(const std::filesystem::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return Error{Errc::kIo, fmt::format("{} is there and is no socket", path.string())};
  }
  return {};
}

/// Type, a zero, bytes of the body.
std::array<std::byte, kLocalHeaderBytes> header_of(std::uint32_t type, std::span<const std::byte> body) {
  std::array<std::byte, kLocalHeaderBytes> header{};
  const std::uint64_t size = body.size();
  std::memcpy(header.data(), &type, sizeof(type));
  std::memcpy(header.data() + 8, &size, sizeof(size));
  return header;
}

}  // namespace

LocalFrame PartialFrame::take() {
  PartialFrame whole;
  std::swap(whole, *this);
  return std::move(whole.frame_);
}

std::vector<std::byte> encode_frame(std::uint32_t type, std::span<const std::byte> body) {
  const auto header = header_of(type, body);
  std::vector<std::byte> bytes(header.size() + body.size());
  std::copy(body.begin(), body.end(), std::copy(header.begin(), header.end(), bytes.begin()));
  return bytes;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) {
    ::close(number_);
  }
}

Result<LocalSocket> LocalSocket::connect(const std::filesystem::path& path, Deadline deadline) {
  RUDDER_ASSIGN(const sockaddr_un address, address_of(path));
  for (;;) {
    Descriptor socket = new_socket(SOCK_NONBLOCK);  // a queue that is full must not outlast the deadline
    if (!socket.valid()) {
      return Error{Errc::kResource, "no socket: " + reason(errno)};
    }
    if (::connect(socket.get(), generic(address), sizeof(address)) == 0) {
      ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
      RUDDER_TRY(check_user(socket.get()));
      return LocalSocket(std::move(socket));
    }
    const int error = errno;
    const bool may_come = error == ENOENT || error == ECONNREFUSED || error == EAGAIN || error == EINTR;
    if (!may_come || deadline.passed()) {
      return Error{may_come ? Errc::kTimeout : Errc::kIo,
                   fmt::format("nobody listens at {}: {}", path.string(), reason(error))};
    }
    steady_clock().sleep_until(std::min(deadline.at(), steady_clock().now() + kRetry));
  }
}

Result<std::pair<LocalSocket, LocalSocket>> LocalSocket::pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{Errc::kResource, "no socket: " + reason(errno)};
  }
  return std::pair{LocalSocket(Descriptor(ends[0])), LocalSocket(Descriptor(ends[1]))};
}

Status LocalSocket::send_all(std::span<const std::byte> bytes, int descriptor) {
  while (!bytes.empty()) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    if (descriptor >= 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
    }
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) {
        continue;
      }
      return Error{Errc::kPeer, "sending: " + reason(errno)};
    }
    descriptor = -1;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return {};
}

Status LocalSocket::send(std::uint32_t type, std::span<const std::byte> body, int descriptor) {
  RUDDER_TRY(send_all(header_of(type, body), descriptor));
  return send_all(body, -1);
}

/// One read, of the header or of the body.
Result<LocalSocket::Step> LocalSocket::receive_step(PartialFrame& partial, std::size_t max_body, int flags) {
  std::span<std::byte> room = std::span(partial.header_).subspan(std::min(partial.have_, kLocalHeaderBytes));
  const bool in_header = !room.empty();
  if (!in_header) {
    const std::size_t have = partial.have_ - kLocalHeaderBytes;
    std::vector<std::byte>& body = partial.frame_.body;
    if (have == body.size()) {
      body.resize(have + std::min(kBodyStep, partial.size_ - have));
    }
    room = std::span(body).subspan(have);
  }
  iovec part{room.data(), room.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(4 * sizeof(int))> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t received = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | flags);
  if (received < 0) {
    if (errno == EINTR) {
      return Step::kMore;
    }
    if (errno == EAGAIN && (flags & MSG_DONTWAIT) != 0) {
      return Step::kWouldWait;
    }
    return Error{Errc::kPeer, "receiving: " + reason(errno)};
  }
  take_descriptors(message, in_header ? &partial.frame_.descriptor : nullptr);
  if (received == 0) {
    return Error{Errc::kPeer, "the other side has closed the connection"};
  }
  partial.have_ += static_cast<std::size_t>(received);
  if (in_header && partial.have_ == kLocalHeaderBytes) {
    std::uint64_t size = 0;
    std::memcpy(&partial.frame_.type, partial.header_.data(), sizeof(partial.frame_.type));
    std::memcpy(&size, partial.header_.data() + 8, sizeof(size));
    if (size > max_body) {
      return Error{Errc::kInvalidData, fmt::format("a frame of type {} with {} bytes, at most {} are taken",
                                                   partial.frame_.type, size, max_body)};
    }
    partial.size_ = static_cast<std::size_t>(size);
  }
  const bool whole = partial.have_ >= kLocalHeaderBytes && partial.have_ - kLocalHeaderBytes == partial.size_;
  return whole ? Step::kWhole : Step::kMore;
}

Result<LocalFrame> LocalSocket::receive(std::size_t max_body) {
  return receive(max_body, Deadline(TimePoint::max()));
}

Result<LocalFrame> LocalSocket::receive(std::size_t max_body, Deadline deadline) {
  const bool limited = deadline.at() != TimePoint::max();
  PartialFrame partial;
  for (;;) {
    if (limited && !readable(deadline)) {
      return Error{Errc::kTimeout, "the other side says nothing"};
    }
    RUDDER_ASSIGN(const Step step, receive_step(partial, max_body, 0));
    if (step == Step::kWhole) {
      return partial.take();
    }
  }
}

bool LocalSocket::readable(Deadline deadline) const noexcept {
  for (;;) {
    pollfd wait{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, poll_timeout(deadline));
    if (ready > 0) {
      return true;
    }
    if (ready == 0 && deadline.passed()) {
      return false;
    }
  }
}

Result<bool> LocalSocket::receive_some(PartialFrame& partial, std::size_t max_body) {
  for (;;) {
    RUDDER_ASSIGN(const Step step, receive_step(partial, max_body, MSG_DONTWAIT));
    if (step != Step::kMore) {
      return step == Step::kWhole;
    }
  }
}

Result<std::size_t> LocalSocket::send_some(std::span<const std::byte> bytes) {
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno == EAGAIN || errno == EINTR) {
      return std::size_t{0};
    }
    return Error{Errc::kPeer, "sending: " + reason(errno)};
  }
  return static_cast<std::size_t>(sent);
}

void LocalSocket::limit_sends(Duration patience) noexcept {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  const timeval limit{microseconds / 1'000'000, microseconds % 1'000'000};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

void LocalSocket::shut_down() noexcept {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

Result<LocalListener> LocalListener::open(const std::filesystem::path& path) {
  RUDDER_ASSIGN(const sockaddr_un address, address_of(path));
  RUDDER_TRY(ensure_socket_or_nothing(path));
  const std::string lock_path = path.string() + ".lock";
  Descriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) {
    return Error{Errc::kIo, fmt::format("{}: no lock beside it: {}", path.string(), reason(errno))};
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{Errc::kIo, fmt::format("{} is in use by a running service", path.string())};
  }
  RUDDER_TRY(ensure_socket_or_nothing(path));
  ::unlink(path.c_str());  // of a process that has died, if anybody's: nobody held the lock
  Descriptor socket = new_socket();
  // The mode of a socket's name comes from the descriptor's mode, less the umask.
  if (!socket.valid() || ::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), generic(address), sizeof(address)) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return Error{Errc::kIo, fmt::format("{}: {}", path.string(), reason(errno))};
  }
  return LocalListener(path, std::move(lock), std::move(socket));
}

LocalListener::~LocalListener() {
  if (lock_.valid()) {
    ::unlink(path_.c_str());
    ::unlink((path_.string() + ".lock").c_str());
  }
}

Result<LocalSocket> LocalListener::accept() {
  for (;;) {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) {
        continue;
      }
      return Error{Errc::kResource, "accepting a connection: " + reason(errno)};
    }
    RUDDER_TRY(check_user(socket.get()));
    return LocalSocket(std::move(socket));
  }
}

}  // namespace rudder::dataplane
