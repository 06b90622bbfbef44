// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "rudder/core/machine.h"
#include "rudder/launch/run.h"

#include "launch/host_session.h"
#include "launch/signals.h"
#include "launch/warden_wire.h"

namespace rudder::launch {
namespace {

constexpr Duration kForEnding = std::chrono::seconds(5);  // what a host may need beyond its ranks' grace
constexpr int kBeats = 4;                                 // within a deadline

using Sessions = std::vector<std::unique_ptr<HostSession>>;

/// Shows wardens that their launcher lives, also while it waits for somebody to read its output.
class Pulse {
 public:
  Pulse(const Sessions& sessions, Duration period)
      : thread_([this, &sessions, period](const std::stop_token& stop) {
          name_this_thread("rudder-pulse");
          std::unique_lock lock(mutex_);
          while (!stopped_.wait_for(lock, stop, period, [] { return false; }) && !stop.stop_requested()) {
            for (const auto& session : sessions) {
              session->beat();
            }
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

class HostGroup {
 public:
  HostGroup(RunSpec spec, const RemoteOptions& options) : spec_(std::move(spec)), options_(options) {}

  Result<RunOutcome> run(std::span<const HostEntry> hosts, const RunListener& listener) {
    const SignalScope signals;
    RUDDER_TRY(wake_.open());
    RUDDER_TRY(encode(Start{spec_, {0, 1}}));  // what cannot be sent is said before anything is started
    if (const Status opened = open(hosts, listener); !opened.ok()) {
      end_all(SIGTERM);
      watch();
      return opened.error();
    }
    {
      const Pulse pulse(sessions_, options_.deadline / kBeats);
      watch();
    }
    if (error_) {
      return *error_;
    }
    return outcome();
  }

 private:
  Status open(std::span<const HostEntry> hosts, const RunListener& listener) {
    std::error_code unknown;
    const std::string directory = std::filesystem::current_path(unknown).string();
    if (unknown) {
      return Error{Errc::kIo, "cannot tell the working folder: " + unknown.message()};
    }
    RUDDER_ASSIGN(const std::string hello, encode(Hello{directory, std::string(bare_name(hosts.front().name)),
                                                        to_seconds(options_.deadline)}));
    const std::vector<RankRange> ranges = spread_ranks(hosts, spec_.world);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (ranges[i].count > 0) {
        RUDDER_ASSIGN(auto session, HostSession::open(hosts[i], ranges[i], options_, listener, hello));
        sessions_.push_back(std::move(session));
      }
    }
    return {};
  }

  void watch() {
    while (!std::all_of(sessions_.begin(), sessions_.end(), is_in(HostSession::State::kEnded))) {
      wait_for_event();
      for (const auto& session : sessions_) {
        session->turn();
        note_failure(*session);
        if (session->all_exits_known()) {
          session->hang_up();
        }
      }
      if (!failed_.empty() && !ending_) {
        end_all(SIGTERM);
      }
      if (const int signal = SignalScope::take(); signal != 0) {
        received_signal_ = signal;
        end_all(signal);
      }
      if (!started_ && !ending_ &&
          std::all_of(sessions_.begin(), sessions_.end(), is_in(HostSession::State::kReady))) {
        start();
      }
      end_late_ones();
    }
  }

  static std::function<bool(const std::unique_ptr<HostSession>&)> is_in(HostSession::State state) {
    return [state](const std::unique_ptr<HostSession>& session) { return session->state() == state; };
  }

  void wait_for_event() {
    TimePoint wake = steady_clock().now() + from_seconds(1);
    std::vector<pollfd> events = {{wake_.fd(), POLLIN, 0}};
    for (const auto& session : sessions_) {
      session->add_to(events);
      wake = std::min(wake, session->next_turn());
    }
    if (ending_) {
      wake = std::min(wake, kill_at_);
    }
    // A silent host is judged once its time is over, and not before.
    constexpr auto kShortest = std::chrono::milliseconds(1);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - steady_clock().now());
    ::poll(events.data(), events.size(), static_cast<int>(std::max(wait, kShortest).count()));
    wake_.drain();
  }

  void note_failure(const HostSession& session) {
    if (session.failure() && std::find(failed_.begin(), failed_.end(), &session) == failed_.end()) {
      failed_.push_back(&session);
    }
  }

  void start() {
    if (const Status found = find_master(); !found.ok()) {
      error_ = found.error();
      end_all(SIGTERM);
      return;
    }
    for (const auto& session : sessions_) {
      RunSpec spec = spec_;
      spec.environment.emplace_back("RUDDER_HOST", session->host().name);  // for messages
      const auto order = encode(Start{std::move(spec), session->ranks()});
      RUDDER_CHECK(order.ok(), "was encoded before");
      session->start(*order);
    }
    started_ = true;
  }

  /// Where the other hosts reach the first.
  Status find_master() {
    const HostEntry& first = sessions_.front()->host();
    if (spec_.master_port == 0) {
      spec_.master_port = sessions_.front()->ready().port;
    }
    if (sessions_.size() == 1) {
      spec_.master_address = "127.0.0.1";
      return {};
    }
    if (!first.address.empty()) {
      spec_.master_address = first.address;
      return {};
    }
    const HostSession& other = *sessions_[1];
    const Ready& seen = other.ready();
    if (seen.address.empty() || seen.loopback) {
      return Error{
          Errc::kInvalidArgument,
          fmt::format("host {} {}; give {} an address=... in the hosts file, by which the others reach it",
                      other.host().name,
                      seen.address.empty()
                          ? fmt::format("cannot resolve '{}'", bare_name(first.name))
                          : fmt::format("takes '{}' for itself ({})", bare_name(first.name), seen.address),
                      first.name)};
    }
    spec_.master_address = seen.address;
    return {};
  }

  void end_all(int signal) {
    for (const auto& session : sessions_) {
      session->signal(signal);
    }
    if (!ending_) {
      ending_ = true;
      kill_at_ = steady_clock().now() + spec_.grace + kForEnding;
    }
  }

  /// Hosts that have not ended in time, and ssh where nobody needs it any more.
  void end_late_ones() {
    const TimePoint now = steady_clock().now();
    if (!ending_ && std::all_of(sessions_.begin(), sessions_.end(),
                                [](const auto& session) { return session->all_exits_known(); })) {
      ending_ = true;
      kill_at_ = now + kForEnding;
    }
    if (ending_ && now >= kill_at_) {
      for (const auto& session : sessions_) {
        if (session->state() == HostSession::State::kRunning && !session->all_exits_known()) {
          session->lose(
              fmt::format("its ranks did not end within {:.1f} s", to_seconds(spec_.grace + kForEnding)));
        }
        session->kill();
        note_failure(*session);
      }
    }
  }

  RunOutcome outcome() {
    RunOutcome outcome;
    outcome.received_signal = received_signal_;
    outcome.started = started_;
    // A rank that is killed, or whose host is lost, makes others fail, and they may be heard of first.
    const auto cause = std::find_if(failed_.begin(), failed_.end(), [](const HostSession* session) {
      return session->failure()->restart_helps;
    });
    if (!failed_.empty()) {
      outcome.failure = (cause == failed_.end() ? failed_.front() : *cause)->failure();
    }
    for (const auto& session : sessions_) {
      outcome.all_succeeded =
          outcome.all_succeeded && session->all_exits_known() && !session->any_rank_failed();
      if (session->lost()) {
        outcome.lost.push_back(session->host().name);
      }
      if (session->lost_with_ranks()) {
        outcome.ranks_gone = steady_clock().now() + options_.deadline + spec_.grace + kForEnding;
      }
    }
    return outcome;
  }

  RunSpec spec_;
  const RemoteOptions& options_;
  WakePipe wake_;
  Sessions sessions_;
  std::vector<const HostSession*> failed_;  ///< in the order in which they were noticed
  std::optional<Error> error_;
  int received_signal_ = 0;
  bool started_ = false;
  bool ending_ = false;
  TimePoint kill_at_{};
};

}  // namespace

Result<RunOutcome> run_on_hosts(std::span<const HostEntry> hosts, RunSpec spec, const RemoteOptions& options,
                                const RunListener& listener) {
  if (hosts.empty() || options.ssh.empty() || spec.command.empty()) {
    return Error{Errc::kInvalidArgument, "no host, no command or no way to reach hosts"};
  }
  return HostGroup(std::move(spec), options).run(hosts, listener);
}

}  // namespace rudder::launch
