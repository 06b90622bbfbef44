// SPDX-License-Identifier: Apache-2.0
// Who comes to a service's socket: trainers that apply, watchers that are shown figures, and strangers.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <poll.h>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/metrics/registry.h"

#include "dataplane/local_socket.h"
#include "dataplane/served_trainer.h"

namespace rudder::dataplane {

/// Hears what each connection wants, all at the same time and without waiting for any. Trainers' applications
/// are handed on in the order in which they were complete; watchers are answered here. Nobody who connects
/// can hold up another, the service or its trainers: silence ends after kPatience, the number of connections
/// is bounded (the longest silent gives way to a new one), watchers are answered at most every kPause, and
/// one that does not read its answers is let go. Owns a thread.
class Reception {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(2);
  static constexpr Duration kPause = std::chrono::milliseconds(50);
  static constexpr std::size_t kMostSilent = 64;    ///< connections that have not said what they want
  static constexpr std::size_t kMostWatchers = 16;  ///< one more is refused
  static constexpr std::size_t kMostWaiting = 64;   ///< applications not taken; one more is refused

  /// `figures` outlives the reception; null: watchers are refused. `arrived` is called on the reception's
  /// thread when there is something to take(). An error when no event descriptor is to be had.
  [[nodiscard]] static Result<std::unique_ptr<Reception>> open(LocalListener listener,
                                                               const metrics::Registry* figures,
                                                               std::function<void()> arrived);
  /// Closes all connections that have not been taken.
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  /// The next application, or why somebody's was none. Any thread.
  [[nodiscard]] std::optional<Result<Applicant>> take();

 private:
  struct Visitor {
    LocalSocket socket;
    PartialFrame partial;
    TimePoint until;  ///< when patience ends; not a watcher's that is not being answered
    bool watches = false;
    bool leaves = false;               ///< once `answer` is sent
    std::vector<std::byte> answer;     ///< being sent
    std::size_t sent = 0;              ///< of the answer
    std::optional<TimePoint> pause{};  ///< nothing is heard before
    bool gone = false;
  };

  Reception(LocalListener listener, const metrics::Registry* figures, std::function<void()> arrived,
            Descriptor end);
  void run();
  [[nodiscard]] std::vector<pollfd> wishes(TimePoint now) const;
  [[nodiscard]] int timeout(TimePoint now) const;
  void let_in(TimePoint now);
  /// False when the visitor is to be let go.
  [[nodiscard]] bool attend(Visitor& visitor, short events, TimePoint now);
  [[nodiscard]] bool hear(Visitor& visitor, TimePoint now);
  [[nodiscard]] bool speak(Visitor& visitor, TimePoint now);
  [[nodiscard]] bool show(Visitor& visitor, TimePoint now);
  void hand_on(Visitor& visitor, LocalFrame frame);
  void put(Result<Applicant> arrival);
  [[nodiscard]] std::size_t watchers() const;

  LocalListener listener_;
  const metrics::Registry* const figures_;
  const std::function<void()> arrived_;
  const Descriptor end_;
  std::vector<Visitor> visitors_;          ///< the thread's, as is the next one; longest there first
  std::optional<TimePoint> closed_until_;  ///< descriptors have run out
  std::mutex mutex_;
  std::deque<Result<Applicant>> arrivals_;
  std::thread thread_;
};

}  // namespace rudder::dataplane
