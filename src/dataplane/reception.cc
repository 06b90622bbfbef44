// SPDX-License-Identifier: Apache-2.0
#include "dataplane/reception.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rudder/core/machine.h"

#include "dataplane/service_wire.h"

namespace rudder::dataplane {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(100);  // when descriptors have run out

std::uint32_t number(ServiceFrame frame) {
  return static_cast<std::uint32_t>(frame);
}

}  // namespace

Result<std::unique_ptr<Reception>> Reception::open(LocalListener listener, const metrics::Registry* figures,
                                                   std::function<void()> arrived) {
  Descriptor end(::eventfd(0, EFD_CLOEXEC));
  if (!end.valid()) {
    return Error{Errc::kResource, "no event descriptor: " + std::generic_category().message(errno)};
  }
  return std::unique_ptr<Reception>(
      new Reception(std::move(listener), figures, std::move(arrived), std::move(end)));
}

Reception::Reception(LocalListener listener, const metrics::Registry* figures, std::function<void()> arrived,
                     Descriptor end)
    : listener_(std::move(listener)),
      figures_(figures),
      arrived_(std::move(arrived)),
      end_(std::move(end)),
      thread_([this] { run(); }) {}

Reception::~Reception() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(end_.get(), &one, sizeof(one)));
  thread_.join();
}

std::optional<Result<Applicant>> Reception::take() {
  const std::lock_guard lock(mutex_);
  if (arrivals_.empty()) {
    return std::nullopt;
  }
  std::optional<Result<Applicant>> first(std::move(arrivals_.front()));
  arrivals_.pop_front();
  return first;
}

void Reception::put(Result<Applicant> arrival) {
  {
    const std::lock_guard lock(mutex_);
    if (arrivals_.size() >= kMostWaiting) {
      if (arrival.ok()) {
        arrival.value().refuse(Error{Errc::kResource, fmt::format("{} wait already", kMostWaiting)});
      }
      return;
    }
    arrivals_.push_back(std::move(arrival));
  }
  arrived_();
}

std::size_t Reception::watchers() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(visitors_, [](const Visitor& v) { return v.watches; }));
}

/// What to wait for: the end, new connections, and each visitor in turn.
std::vector<pollfd> Reception::wishes(TimePoint now) const {
  std::vector<pollfd> wishes = {{end_.get(), POLLIN, 0}, {closed_until_ ? -1 : listener_.get(), POLLIN, 0}};
  for (const Visitor& visitor : visitors_) {
    const bool paused = visitor.pause && *visitor.pause > now;
    const bool speaks = visitor.sent < visitor.answer.size();
    wishes.push_back({visitor.socket.get(), static_cast<short>(speaks ? POLLOUT : paused ? 0 : POLLIN), 0});
  }
  return wishes;
}

/// Milliseconds until something ends by itself; -1: nothing does.
int Reception::timeout(TimePoint now) const {
  std::optional<TimePoint> next = closed_until_;
  const auto earlier = [&](TimePoint at) { next = next ? std::min(*next, at) : at; };
  for (const Visitor& visitor : visitors_) {
    if (!visitor.watches || visitor.sent < visitor.answer.size()) {
      earlier(visitor.until);
    } else if (visitor.pause && *visitor.pause > now) {
      earlier(*visitor.pause);
    }
  }
  if (!next) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

void Reception::run() {
  name_this_thread("rudder-recept");
  for (;;) {
    TimePoint now = steady_clock().now();
    std::vector<pollfd> events = wishes(now);
    const int ready = ::poll(events.data(), events.size(), timeout(now));
    if (ready < 0) {
      continue;
    }
    if (events[0].revents != 0) {
      return;
    }
    now = steady_clock().now();
    if (closed_until_ && *closed_until_ <= now) {
      closed_until_.reset();
    }
    for (std::size_t i = 0; i < visitors_.size(); ++i) {
      visitors_[i].gone = !attend(visitors_[i], events[i + 2].revents, now);
    }
    std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.gone; });
    if (events[1].revents != 0) {
      let_in(now);
    }
  }
}

void Reception::let_in(TimePoint now) {
  auto socket = listener_.accept();
  if (!socket.ok()) {
    if (socket.error().code == Errc::kResource) {
      closed_until_ = now + kRetry;
    }
    put(socket.error());
    return;
  }
  if (visitors_.size() - watchers() >= kMostSilent) {
    visitors_.erase(std::ranges::find_if(visitors_, [](const Visitor& v) { return !v.watches; }));
  }
  Visitor& visitor = visitors_.emplace_back();
  visitor.socket = std::move(socket).value();
  visitor.until = now + kPatience;
}

bool Reception::attend(Visitor& visitor, short events, TimePoint now) {
  const bool speaks = visitor.sent < visitor.answer.size();
  if ((events & POLLOUT) != 0) {
    return speak(visitor, now);
  }
  if ((events & POLLIN) != 0) {
    return hear(visitor, now);
  }
  if (events != 0) {
    return false;  // it has gone
  }
  if ((!visitor.watches || speaks) && visitor.until <= now) {
    if (!visitor.watches) {
      put(Error{Errc::kTimeout, "somebody connected and did not say what for"});
    }
    return false;
  }
  return true;
}

bool Reception::hear(Visitor& visitor, TimePoint now) {
  const auto whole = visitor.socket.receive_some(visitor.partial, kMaxControlBytes);
  if (!whole.ok()) {
    if (!visitor.watches) {
      put(whole.error());
    }
    return false;
  }
  if (!whole.value()) {
    return true;
  }
  LocalFrame frame = visitor.partial.take();
  if (frame.type == number(ServiceFrame::kWatch)) {
    return show(visitor, now);
  }
  if (!visitor.watches) {
    hand_on(visitor, std::move(frame));
  }
  return false;
}

void Reception::hand_on(Visitor& visitor, LocalFrame frame) {
  if (frame.type != number(ServiceFrame::kAttach) || !frame.descriptor.valid()) {
    put(Error{Errc::kInvalidData, fmt::format("a frame of type {} instead of an application", frame.type)});
    return;
  }
  Applicant applicant;
  applicant.control = std::move(visitor.socket);
  auto request = decode_attach(frame.body);
  if (!request.ok()) {
    applicant.refuse(request.error());
    put(request.error());
    return;
  }
  applicant.request = std::move(request).value();
  applicant.rows = LocalSocket(std::move(frame.descriptor));
  applicant.arm_last_words();
  put(std::move(applicant));
}

/// Begins to answer a watcher.
bool Reception::show(Visitor& visitor, TimePoint now) {
  const bool full = !visitor.watches && watchers() >= kMostWatchers;
  visitor.watches = true;
  visitor.leaves = full || figures_ == nullptr;
  if (visitor.leaves) {
    const Error why = full ? Error{Errc::kResource, fmt::format("{} watch it already", kMostWatchers)}
                           : Error{Errc::kUnsupported, "it keeps no figures"};
    visitor.answer = encode_frame(number(ServiceFrame::kFailed), encode_failure(why));
  } else {
    visitor.answer = encode_frame(number(ServiceFrame::kFigures),
                                  encode_figures({now.time_since_epoch(), figures_->text()}));
  }
  visitor.sent = 0;
  visitor.until = now + kPatience;
  return speak(visitor, now);
}

bool Reception::speak(Visitor& visitor, TimePoint now) {
  const auto sent = visitor.socket.send_some(std::span(visitor.answer).subspan(visitor.sent));
  if (!sent.ok()) {
    return false;
  }
  visitor.sent += sent.value();
  if (sent.value() > 0) {
    visitor.until = now + kPatience;
  }
  if (visitor.sent == visitor.answer.size()) {
    visitor.pause = now + kPause;
    return !visitor.leaves;
  }
  return true;
}

}  // namespace rudder::dataplane
