// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "rudder/core/clock.h"
#include "rudder/dataplane/watch.h"
#include "rudder/report/service_view.h"

#include "cli/command.h"
#include "cli/terminal_screen.h"

namespace rudder::cli {
namespace {

using dataplane::ServiceSnapshot;
using report::ServiceView;

// Signal handlers reach nothing but globals.
std::atomic<int> signal_end{-1};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void tell_top(int signal) {
  const int saved = errno;
  const auto number = static_cast<unsigned char>(signal);
  static_cast<void>(!::write(signal_end.load(std::memory_order_relaxed), &number, 1));
  errno = saved;
}

/// Signals as bytes to read, while it lives.
class SignalPipe {
 public:
  [[nodiscard]] Status open() {
    if (::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      return Error{Errc::kResource, "no pipe for signals: " + std::generic_category().message(errno)};
    }
    signal_end.store(ends_[1], std::memory_order_relaxed);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      before_[i] = std::signal(kSignals[i], tell_top);
      if (before_[i] == SIG_IGN) {
        std::signal(kSignals[i], SIG_IGN);
      }
    }
    return {};
  }
  SignalPipe() = default;
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;
  ~SignalPipe() {
    if (ends_[0] < 0) {
      return;
    }
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      std::signal(kSignals[i], before_[i]);
    }
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  [[nodiscard]] int descriptor() const noexcept { return ends_[0]; }
  /// The next signal; 0 when there is none.
  [[nodiscard]] int next() const {
    unsigned char number = 0;
    return ::read(ends_[0], &number, 1) == 1 ? number : 0;
  }

 private:
  static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};
  using Handler = void (*)(int);
  std::array<int, 2> ends_ = {-1, -1};
  std::array<Handler, kSignals.size()> before_{};
};

/// Counts as whole numbers.
Json number_json(double value) {
  constexpr double kExact = 1LL << 53;
  return std::abs(value) < kExact && value == std::floor(value) ? Json(static_cast<std::int64_t>(value))
                                                                : Json(value);
}
Json rate_json(const report::Rate& rate) {
  return {{"total", number_json(rate.total)}, {"per_second", rate.per_second}};
}
Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json view_json(const ServiceView& view) {
  Json trainers = Json::array();
  for (const report::TrainerView& trainer : view.trainers) {
    trainers.push_back({{"trainer", trainer.trainer},
                        {"attached", trainer.attached},
                        {"waiting", trainer.waiting},
                        {"batches", rate_json(trainer.batches)},
                        {"rows", rate_json(trainer.rows)},
                        {"wait_share", trainer.wait_share},
                        {"ahead", number_json(trainer.ahead)}});
  }
  Json peers = Json::array();
  for (const report::PeerView& peer : view.peers) {
    peers.push_back({{"peer", peer.peer},
                     {"requests", rate_json(peer.requests)},
                     {"rows", rate_json(peer.rows)},
                     {"payload_bytes", rate_json(peer.payload_bytes)},
                     {"latency_p50", optional_json(peer.latency_p50)},
                     {"latency_p95", optional_json(peer.latency_p95)},
                     {"in_flight", number_json(peer.in_flight)},
                     {"queued", number_json(peer.queued)}});
  }
  return {{"seconds", view.seconds},
          {"host", view.host ? Json(*view.host) : Json(nullptr)},
          {"policy", view.policy},
          {"runs", number_json(view.runs)},
          {"slots", number_json(view.slots)},
          {"occupied", number_json(view.occupied)},
          {"plans_in_flight", number_json(view.plans_in_flight)},
          {"credits", number_json(view.credits)},
          {"hit_share", optional_json(view.hit_share())},
          {"requests", rate_json(view.requested)},
          {"hits", rate_json(view.hit)},
          {"fetched", rate_json(view.fetched)},
          {"bypassed", rate_json(view.bypassed)},
          {"payload_bytes", rate_json(view.payload_bytes)},
          {"wire_bytes", rate_json(view.wire_bytes)},
          {"messages", rate_json(view.messages)},
          {"trainers", std::move(trainers)},
          {"peers", std::move(peers)}};
}

class Top final : public Command {
 public:
  Top() {
    options().real("interval", interval_, 0.1, 3600, "Seconds between two looks; rates are means over them");
    options().toggle("once", once_, "Look for one interval, print the screen, and end");
    options().real("deadline", deadline_, 0.1, 86400, "Seconds that the service may take to answer");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.one("SOCKET", socket_, "Socket of the service (rudder serve --socket)");
    arguments.footer(
        "On a terminal it draws until q or Ctrl-C; elsewhere it prints a line an interval. With --json or "
        "--once it\nlooks for one interval and ends.");
  }

  Result<int> run(const Program&) override {
    RUDDER_ASSIGN(dataplane::ServiceWatch watch, dataplane::ServiceWatch::open(socket_));
    RUDDER_TRY(signals_.open());
    if (!json() && !once_ && TerminalScreen::possible()) {
      screen_.emplace();
      screen_->draw(fmt::format("{}: looking for {} s; q ends\n", socket_.filename().string(), interval_));
    }
    const auto ended = look(watch);
    screen_.reset();
    return ended;
  }

 private:
  /// Until the user has seen enough.
  Result<int> look(dataplane::ServiceWatch& watch) {
    RUDDER_ASSIGN(std::optional<ServiceSnapshot> before, ask(watch));
    while (before && wait(-1, Deadline::in(from_seconds(interval_)))) {
      RUDDER_ASSIGN(std::optional<ServiceSnapshot> now, ask(watch));
      if (!now) {
        break;
      }
      if (now->at <= before->at) {
        return Error{Errc::kInvalidData,
                     fmt::format("the clock of the service at {} stands still", socket_.string())};
      }
      view_ = report::view_service({before->at, before->page}, {now->at, now->page});
      RUDDER_TRY(show());
      if (json() || once_) {
        break;
      }
      before = std::move(now);
    }
    return 0;
  }

  /// Nothing when the user has seen enough.
  Result<std::optional<ServiceSnapshot>> ask(dataplane::ServiceWatch& watch) {
    watch.ask();
    const Deadline deadline = Deadline::in(from_seconds(deadline_));
    if (!wait(watch.descriptor(), deadline)) {
      return std::optional<ServiceSnapshot>();
    }
    RUDDER_ASSIGN(ServiceSnapshot snapshot, watch.answer(deadline));
    return std::optional(std::move(snapshot));
  }

  /// Until `descriptor` is readable or the deadline, serving the terminal meanwhile. False when the user has
  /// seen enough.
  [[nodiscard]] bool wait(int descriptor, Deadline deadline) {
    for (;;) {
      const Duration left = deadline.at() - steady_clock().now();
      if (left <= Duration::zero()) {
        return true;
      }
      std::array<pollfd, 3> events = {pollfd{descriptor, POLLIN, 0}, pollfd{signals_.descriptor(), POLLIN, 0},
                                      pollfd{screen_ ? screen_->keys() : -1, POLLIN, 0}};
      const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      static_cast<void>(::poll(events.data(), events.size(), static_cast<int>(milliseconds)));
      for (int signal = signals_.next(); signal != 0; signal = signals_.next()) {
        if (!heed(signal)) {
          return false;
        }
      }
      if (events[2].revents != 0 && screen_->read_key() == 'q') {
        return false;
      }
      if (events[0].revents != 0) {
        return true;
      }
    }
  }

  /// False at a signal that ends the command.
  [[nodiscard]] bool heed(int signal) {
    if (signal == SIGWINCH) {
      redraw();
      return true;
    }
    if (signal != SIGTSTP) {
      return false;
    }
    if (screen_) {
      screen_->leave();
    }
    ::raise(SIGSTOP);  // goes on here when the shell says so
    if (screen_) {
      screen_->enter();
      redraw();
    }
    return true;
  }

  void redraw() {
    if (screen_ && view_) {
      const TerminalScreen::Size size = TerminalScreen::size();
      screen_->draw(report::service_screen(*view_, size.columns, size.lines));
    }
  }

  [[nodiscard]] Status show() {
    if (json()) {
      print_json(view_json(*view_));
    } else if (screen_) {
      redraw();
    } else {
      const std::string text = once_ ? report::service_screen(*view_, std::string::npos, std::string::npos)
                                     : report::service_line(*view_) + "\n";
      if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        return Error{Errc::kIo, "standard output: " + std::generic_category().message(errno)};
      }
    }
    return {};
  }

  std::filesystem::path socket_;
  double interval_ = 1;
  double deadline_ = 10;
  bool once_ = false;
  SignalPipe signals_;
  std::optional<TerminalScreen> screen_;
  std::optional<ServiceView> view_;  ///< what is shown
};

}  // namespace

std::unique_ptr<Command> make_top() {
  return std::make_unique<Top>();
}

}  // namespace rudder::cli
