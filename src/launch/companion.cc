// SPDX-License-Identifier: Apache-2.0
#include "rudder/launch/companion.h"

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>

#include "launch/child.h"

namespace rudder::launch {
namespace {

constexpr Duration kGrace = std::chrono::seconds(5);
constexpr int kLookMilliseconds = 50;

}  // namespace

class Companion::Impl {
 public:
  explicit Impl(Child child) : child_(std::move(child)) {}
  ~Impl() {
    child_.signal(SIGTERM);
    const Deadline grace = Deadline::in(kGrace);
    while (running() && !grace.passed()) {
      look();
      child_.drain([](Stream, std::string_view) {});
    }
    child_.signal(SIGKILL);
    while (running()) {
      look();
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status wait_until(const std::function<bool(std::string_view)>& ready, Duration patience) {
    const Deadline deadline = Deadline::in(patience);
    for (;;) {
      const bool runs = running();
      bool is_ready = false;
      const auto hear = [&](Stream stream, std::string_view line) {
        is_ready = is_ready || (stream == Stream::kErr && ready(line));
        last_line_ = line;
      };
      child_.drain(hear);
      if (is_ready) {
        return {};
      }
      if (!runs) {
        child_.flush(hear);
        return Error{Errc::kPeer, fmt::format("{}: {}", child_.exit().describe(), last_line_)};
      }
      if (deadline.passed()) {
        return Error{Errc::kTimeout, fmt::format("{} is not ready after {:.0f} s: {}", child_.exit().name,
                                                 to_seconds(patience), last_line_)};
      }
      look();
    }
  }

  [[nodiscard]] bool running() {
    static_cast<void>(child_.reap());
    return child_.running();
  }

 private:
  /// Until it says something or a little later.
  void look() const {
    std::vector<pollfd> outputs;
    child_.add_to(outputs);
    ::poll(outputs.data(), outputs.size(), kLookMilliseconds);
  }

  Child child_;
  std::string last_line_;
};

Result<std::unique_ptr<Companion>> Companion::start(const Command& command,
                                                    const std::function<bool(std::string_view)>& ready,
                                                    Duration patience) {
  RUDDER_ASSIGN(Child child, Child::start(command));
  auto impl = std::make_unique<Impl>(std::move(child));
  RUDDER_TRY(impl->wait_until(ready, patience));
  return std::unique_ptr<Companion>(new Companion(std::move(impl)));
}

Companion::Companion(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Companion::~Companion() = default;

bool Companion::running() {
  return impl_->running();
}

}  // namespace rudder::launch
