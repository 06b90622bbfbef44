// SPDX-License-Identifier: Apache-2.0
// One host of a run, as its launcher sees it: the ssh that reaches it, and the warden behind that.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/launch/run.h"

#include "launch/child.h"
#include "launch/signals.h"
#include "launch/warden_wire.h"

namespace rudder::launch {

/// Lines to a process that may be slow to read them. Thread-safe.
class LineWriter {
 public:
  explicit LineWriter(Fd fd) : fd_(std::move(fd)) {}
  void send(std::string_view line);
  /// Sends it unless something else waits to be taken, which shows life as well.
  void send_if_idle(std::string_view line);
  /// Goes on with what was not taken.
  void flush();
  void close();

 private:
  void write();

  std::mutex mutex_;
  Fd fd_;
  std::string pending_;
};

/// For the launcher's thread, but for beat().
class HostSession {
 public:
  enum class State : unsigned char { kConnecting, kReady, kRunning, kEnded };

  /// Starts ssh and says hello. `options` and `listener` outlive the session.
  [[nodiscard]] static Result<std::unique_ptr<HostSession>> open(HostEntry host, RankRange ranks,
                                                                 const RemoteOptions& options,
                                                                 const RunListener& listener,
                                                                 std::string_view hello);

  [[nodiscard]] const HostEntry& host() const noexcept { return host_; }
  [[nodiscard]] RankRange ranks() const noexcept { return ranks_; }
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const Ready& ready() const noexcept { return ready_; }
  /// All ranks have ended, as the warden says.
  [[nodiscard]] bool all_exits_known() const noexcept { return exits_ == ranks_.count; }
  [[nodiscard]] bool any_rank_failed() const noexcept { return any_rank_failed_; }
  /// What went wrong here first, but for what followed from being stopped.
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }
  /// Ranks may still run where nobody hears of them.
  [[nodiscard]] bool lost_with_ranks() const noexcept { return lost_ && was_started_; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }

  void add_to(std::vector<pollfd>& events) const { child_.add_to(events); }
  /// Reads what has come and judges how long nothing has.
  void turn();
  /// When turn() has silence to judge.
  [[nodiscard]] TimePoint next_turn() const noexcept;

  void start(std::string_view order);
  void signal(int number);
  /// The warden ends, and with it what it started; so does ssh when it has not reached one.
  void hang_up();
  /// Gives the host up.
  void lose(std::string_view why);
  /// Ends ssh, whatever it does.
  void kill();
  /// Shows the warden that its launcher lives.
  void beat() { input_.send_if_idle(kAlive); }

 private:
  HostSession(HostEntry host, RankRange ranks, const RemoteOptions& options, const RunListener& listener,
              Child child);

  void on_line(Stream stream, std::string_view line);
  void on_chatter(std::string_view line);
  void on_greeting(std::string_view text);
  void on_event(const Event& event);
  void on_rank_exit(Rank rank, Exit exit);
  void on_ssh_exit();
  void give_up(std::string_view why);
  void fail(Failure failure);

  const HostEntry host_;
  const RankRange ranks_;
  const RemoteOptions& options_;
  const RunListener& listener_;
  Child child_;
  LineWriter input_;
  State state_ = State::kConnecting;
  Ready ready_;
  TimePoint heard_;
  Rank exits_ = 0;
  std::vector<bool> ended_;  ///< by rank of this host
  bool any_rank_failed_ = false;
  bool was_started_ = false;
  bool hung_up_ = false;
  bool gave_up_ = false;  ///< the warden did
  bool lost_ = false;
  std::string last_error_;  ///< line that ssh or the host wrote
  std::optional<Failure> failure_;
};

}  // namespace rudder::launch
