// SPDX-License-Identifier: Apache-2.0
// Frames and descriptors between processes of one user on one machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"

namespace rudder::dataplane {

/// A descriptor that is closed on destruction.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool valid() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// One message: what it is, its bytes, and at most one descriptor.
struct LocalFrame {
  std::uint32_t type = 0;
  std::vector<std::byte> body;
  Descriptor descriptor;
};

/// Bytes before the body of a frame.
inline constexpr std::size_t kLocalHeaderBytes = 16;

/// A frame of which some bytes have arrived.
class PartialFrame {
 public:
  /// The whole frame; the next one begins.
  [[nodiscard]] LocalFrame take();

 private:
  friend class LocalSocket;
  std::array<std::byte, kLocalHeaderBytes> header_{};
  std::size_t have_ = 0;  ///< bytes, of the header and then of the body
  std::size_t size_ = 0;  ///< of the body, once the header is there
  LocalFrame frame_;
};

/// A frame as it is sent.
[[nodiscard]] std::vector<std::byte> encode_frame(std::uint32_t type, std::span<const std::byte> body);

/// A connected stream socket. One thread may send while another receives.
class LocalSocket {
 public:
  LocalSocket() = default;
  explicit LocalSocket(Descriptor socket) noexcept : socket_(std::move(socket)) {}

  /// Connects to the socket at `path`, tried again until the deadline while nobody listens there; an error
  /// says so. The other side must run as this user or as root.
  [[nodiscard]] static Result<LocalSocket> connect(const std::filesystem::path& path, Deadline deadline);
  /// Two ends.
  [[nodiscard]] static Result<std::pair<LocalSocket, LocalSocket>> pair();

  /// Sends all of it; the descriptor, if it is not -1, is copied to the other side. Waits while the other
  /// side does not read. kPeer when the other side is gone, kCancelled after shut_down().
  [[nodiscard]] Status send(std::uint32_t type, std::span<const std::byte> body, int descriptor = -1);
  /// The next frame, of at most `max_body` bytes. Waits without limit unless a deadline is given. kPeer when
  /// the other side is gone, kInvalidData when a frame is larger.
  [[nodiscard]] Result<LocalFrame> receive(std::size_t max_body);
  [[nodiscard]] Result<LocalFrame> receive(std::size_t max_body, Deadline deadline);
  /// Whether there is something to receive, or the end, before the deadline.
  [[nodiscard]] bool readable(Deadline deadline) const noexcept;
  /// What has arrived of the next frame, without waiting; true when that is all of it. Errors as receive().
  [[nodiscard]] Result<bool> receive_some(PartialFrame& partial, std::size_t max_body);
  /// Sends what the other side's buffer takes now; the number of bytes.
  [[nodiscard]] Result<std::size_t> send_some(std::span<const std::byte> bytes);
  /// From here on a send fails when the other side reads nothing for so long.
  void limit_sends(Duration patience) noexcept;
  /// Ends waits of both sides, now and later. Any thread.
  void shut_down() noexcept;
  [[nodiscard]] int get() const noexcept { return socket_.get(); }
  [[nodiscard]] Descriptor release() noexcept { return std::move(socket_); }

 private:
  [[nodiscard]] Status send_all(std::span<const std::byte> bytes, int descriptor);
  enum class Step : std::uint8_t { kWhole, kMore, kWouldWait };
  [[nodiscard]] Result<Step> receive_step(PartialFrame& partial, std::size_t max_body, int flags);

  Descriptor socket_;
};

/// A name in the file system under which processes of this user can connect, mode 0600.
class LocalListener {
 public:
  /// A lock beside it (`path`.lock) tells a socket whose process has died, which is replaced, from one that
  /// is in use, which is an error. So is anything at `path` that is no socket.
  [[nodiscard]] static Result<LocalListener> open(const std::filesystem::path& path);
  LocalListener(LocalListener&& other) noexcept = default;
  LocalListener& operator=(LocalListener&&) = delete;
  /// Removes the name and the lock.
  ~LocalListener();

  /// For poll(): readable when accept() will not wait.
  [[nodiscard]] int get() const noexcept { return socket_.get(); }
  /// The connection at the head of the queue. Those of other users, root apart, are an error and closed.
  [[nodiscard]] Result<LocalSocket> accept();

 private:
  LocalListener(std::filesystem::path path, Descriptor lock, Descriptor socket)
      : path_(std::move(path)), lock_(std::move(lock)), socket_(std::move(socket)) {}
  std::filesystem::path path_;
  Descriptor lock_;
  Descriptor socket_;
};

}  // namespace rudder::dataplane
