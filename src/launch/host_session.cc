// SPDX-License-Identifier: Apache-2.0
#include "launch/host_session.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "rudder/core/interrupt.h"
#include "rudder/core/text.h"

namespace rudder::launch {
namespace {

/// A warden's lines hold those of ranks, with a few words in front.
constexpr std::size_t kLongestEvent = kLongestLine + (std::size_t{1} << 20);

/// A word as every login shell reads it.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("/._+-").find(c) != std::string_view::npos;
  });
  if (plain) {
    return word;
  }
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

}  // namespace

void LineWriter::send(std::string_view line) {
  const std::lock_guard lock(mutex_);
  pending_.append(line).push_back('\n');
  write();
}

void LineWriter::send_if_idle(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (pending_.empty()) {
    pending_.append(line).push_back('\n');
  }
  write();
}

void LineWriter::flush() {
  const std::lock_guard lock(mutex_);
  write();
}

void LineWriter::close() {
  const std::lock_guard lock(mutex_);
  fd_.reset();
}

void LineWriter::write() {
  while (fd_.open() && !pending_.empty()) {
    const ssize_t n = ::write(fd_.get(), pending_.data(), pending_.size());
    if (n >= 0) {
      pending_.erase(0, static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return;  // full, or ssh has gone: its end will say why
    }
  }
}

HostSession::HostSession(HostEntry host, RankRange ranks, const RemoteOptions& options,
                         const RunListener& listener, Child child)
    : host_(std::move(host)),
      ranks_(ranks),
      options_(options),
      listener_(listener),
      child_(std::move(child)),
      input_(child_.take_input()),
      heard_(steady_clock().now()),
      ended_(ranks.count) {}

Result<std::unique_ptr<HostSession>> HostSession::open(HostEntry host, RankRange ranks,
                                                       const RemoteOptions& options,
                                                       const RunListener& listener, std::string_view hello) {
  Command command;
  command.name = "ssh to host " + host.name;
  command.arguments = options.ssh;
  command.arguments.push_back(host.name);
  command.arguments.push_back(fmt::format("exec {} warden", quoted(options.program)));
  command.input_from_pipe = true;
  RUDDER_ASSIGN(Child child, Child::start(command, kLongestEvent));
  std::unique_ptr<HostSession> session(
      new HostSession(std::move(host), ranks, options, listener, std::move(child)));
  session->input_.send(hello);
  return session;
}

void HostSession::turn() {
  input_.flush();
  const auto sink = [this](Stream stream, std::string_view line) { on_line(stream, line); };
  child_.drain(sink);
  if (child_.reap()) {
    child_.drain(sink);
    child_.flush(sink);
    on_ssh_exit();
    state_ = State::kEnded;
  } else if (steady_clock().now() > next_turn()) {
    const double seconds = to_seconds(options_.deadline);
    lose(state_ == State::kConnecting ? fmt::format("no answer within {:.1f} s", seconds)
                                      : fmt::format("nothing was heard of it for {:.1f} s", seconds));
  }
}

TimePoint HostSession::next_turn() const noexcept {
  const bool judged = !lost_ && !hung_up_ && state_ != State::kEnded;
  return judged ? heard_ + options_.deadline : TimePoint::max();
}

void HostSession::start(std::string_view order) {
  state_ = State::kRunning;
  was_started_ = true;
  input_.send(order);
}

void HostSession::signal(int number) {
  if (state_ == State::kRunning) {
    input_.send(fmt::format("{}{}", kSignal, number));
  } else {
    hang_up();
  }
}

void HostSession::hang_up() {
  hung_up_ = true;
  input_.close();
  if (state_ == State::kConnecting) {
    kill();
  }
}

void HostSession::lose(std::string_view why) {
  if (lost_ || state_ == State::kEnded) {
    return;
  }
  const bool reached = state_ != State::kConnecting;
  lost_ = true;
  fail({fmt::format("host {} {}: {}", host_.name, reached ? "was lost" : "cannot be reached", why), 1, true});
  hang_up();
  kill();
}

void HostSession::kill() {
  child_.signal(SIGKILL);
}

void HostSession::on_line(Stream stream, std::string_view line) {
  if (lost_) {
    return;
  }
  if (stream == Stream::kErr) {
    line = line.substr(0, line.find_last_not_of('\r') + 1);  // ssh ends its own lines for terminals
    last_error_ = line.empty() ? last_error_ : line;
    on_chatter(line);
    return;
  }
  if (state_ == State::kConnecting) {
    if (line.starts_with(kGreeting)) {
      heard_ = steady_clock().now();
      on_greeting(line.substr(kGreeting.size()));
    } else {
      on_chatter(line);  // of a login shell, which may go on for ever: no sign of life
    }
    return;
  }
  heard_ = steady_clock().now();
  if (const auto event = parse_event(line); event.ok()) {
    on_event(*event);
  } else {
    lose(event.error().message);
  }
}

/// What the login shell, ssh or the warden itself has to say.
void HostSession::on_chatter(std::string_view line) {
  if (!hung_up_ && !line.empty()) {
    listener_.on_host_line(host_.name, line);
  }
}

void HostSession::on_greeting(std::string_view text) {
  auto ready = parse_ready(text);
  if (!ready.ok()) {
    lose(ready.error().message);
    return;
  }
  ready_ = std::move(ready).value();
  state_ = State::kReady;
  if (ready_.version != options_.version) {
    ready_.error = fmt::format("{} there is version {}, this one is {}", options_.program,
                               printable(ready_.version), options_.version);
  }
  if (!ready_.error.empty()) {
    give_up(printable(ready_.error));
  }
}

void HostSession::on_event(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kAlive:
      return;
    case Event::Kind::kError:
      give_up(printable(event.text));
      return;
    case Event::Kind::kEnded:
      gave_up_ = true;
      fail(
          {fmt::format("the warden of host {} was stopped by {}", host_.name, signal_text(event.exit.signal)),
           128 + event.exit.signal, true});
      return;
    case Event::Kind::kLine:
    case Event::Kind::kExit:
      break;
  }
  const bool ours = event.rank >= ranks_.first && event.rank - ranks_.first < ranks_.count;
  if (!was_started_ || !ours || (event.kind == Event::Kind::kExit && ended_[event.rank - ranks_.first])) {
    lose(fmt::format("it speaks of rank {}, which does not run there", event.rank));
  } else if (event.kind == Event::Kind::kLine) {
    listener_.on_line(event.rank, host_.name, event.stream, event.text);
  } else {
    on_rank_exit(event.rank, event.exit);
  }
}

void HostSession::give_up(std::string_view why) {
  gave_up_ = true;
  fail({fmt::format("host {}: {}", host_.name, why), 1, false});
  hang_up();
}

void HostSession::on_rank_exit(Rank rank, Exit exit) {
  ended_[rank - ranks_.first] = true;
  ++exits_;
  any_rank_failed_ = any_rank_failed_ || exit.failed();
  if (exit.failed() && !exit.stopped) {
    exit.name = fmt::format("rank {} on host {}", rank, host_.name);
    fail({exit.describe(), exit.code, exit.signal != 0});
  }
}

void HostSession::on_ssh_exit() {
  if (lost_ || hung_up_ || gave_up_ || all_exits_known()) {
    return;
  }
  std::string why =
      fmt::format("{} {}", options_.ssh.front(),
                  child_.exit().signal != 0 ? "was killed by " + signal_text(child_.exit().signal)
                                            : fmt::format("exited with code {}", child_.exit().code));
  if (!last_error_.empty()) {
    why += fmt::format(" ({})", printable(last_error_));
  }
  lose(why);
}

/// The first one stays, unless a later one is what made ranks fail.
void HostSession::fail(Failure failure) {
  if (!failure_ || (failure.restart_helps && !failure_->restart_helps)) {
    failure_ = std::move(failure);
  }
}

}  // namespace rudder::launch
