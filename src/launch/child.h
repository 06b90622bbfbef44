// SPDX-License-Identifier: Apache-2.0
// One child process with its outputs cut into lines.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/types.h>

#include "rudder/core/result.h"
#include "rudder/launch/process.h"

#include "launch/signals.h"

namespace rudder::launch {

inline constexpr std::size_t kLongestLine = std::size_t{64} << 20;  ///< longer ones are cut

/// What can be read from a non-blocking descriptor, cut into lines.
class LineReader {
 public:
  using Sink = std::function<void(std::string_view line)>;

  LineReader() = default;
  explicit LineReader(Fd fd, std::size_t longest = kLongestLine) : fd_(std::move(fd)), longest_(longest) {}

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] bool open() const noexcept { return fd_.open(); }
  /// Reads what is there and hands over complete lines; closes at the end, handing over the rest.
  void drain(const Sink& sink);
  /// Hands over an unfinished line.
  void flush(const Sink& sink);

 private:
  Fd fd_;
  std::size_t longest_ = kLongestLine;
  std::string pending_;
};

/// A process of this one, in a group of its own that dies with this process.
class Child {
 public:
  [[nodiscard]] static Result<Child> start(const Command& command, std::size_t longest_line = kLongestLine);

  using LineSink = std::function<void(Stream stream, std::string_view line)>;

  [[nodiscard]] bool running() const noexcept { return running_; }
  [[nodiscard]] const Exit& exit() const noexcept { return exit_; }
  /// The write end of its standard input, non-blocking, when that is a pipe; the caller's once taken.
  [[nodiscard]] Fd take_input() { return std::move(input_); }
  /// To the whole group; nothing once it has been reaped.
  void signal(int number) const;
  /// Notes the end if it has come, and kills what the child left behind in its group. True once.
  [[nodiscard]] bool reap();
  void drain(const LineSink& sink);
  /// Hands over unfinished lines. Somebody who left the child's group may still hold a pipe: what it was
  /// about to say is not waited for.
  void flush(const LineSink& sink);
  void add_to(std::vector<pollfd>& events) const;

 private:
  Child() = default;

  pid_t pid_ = -1;
  bool running_ = false;
  Fd input_;
  std::array<LineReader, 2> outputs_;  ///< by Stream
  Exit exit_;
};

}  // namespace rudder::launch
