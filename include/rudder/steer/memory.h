// SPDX-License-Identifier: Apache-2.0
// What earlier windows taught: state, decision, effect, and the cost of every action.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"
#include "rudder/steer/action.h"
#include "rudder/steer/decision.h"
#include "rudder/steer/window.h"

namespace rudder::steer {

/// One remembered window.
struct Experience {
  std::string run;         ///< which run it is of
  std::string graph;       ///< which graph
  std::string action_set;  ///< ActionSet::key(): experiences of another set are not comparable
  std::uint64_t sequence = 0;
  Features features{};
  Report report;
  std::vector<double> costs;  ///< parallel to the action set
  std::size_t best = 0;
  std::optional<Decision> decision = std::nullopt;  ///< what was decided on this window
  std::optional<Expected> observed = std::nullopt;  ///< what then happened
};

/// An append-only store, in SQLite (WAL) when it has a file, so that several runs may share it; else in this
/// process's memory. A process that is killed loses only what it had not finished adding; a machine that
/// loses power may lose the newest windows, never the file. Keeps the newest `limit` experiences of each
/// action set. Thread-safe. A store that others keep locked for kBusyTimeout is an error (kTimeout).
class Memory {
 public:
  static constexpr Duration kBusyTimeout = std::chrono::seconds(5);

  /// An empty path: not durable. A file that is not such a store, or of another version, or damaged, is an
  /// error (kInvalidData) that names it and leaves it as it is. O(stored): the store is checked.
  [[nodiscard]] static Result<std::unique_ptr<Memory>> open(const std::filesystem::path& path,
                                                            std::size_t limit = 100'000);
  virtual ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// kInvalidArgument, and nothing is added: numbers that are not finite, no or more than kMaxActions costs,
  /// a best one that is not among them, names longer than 256 bytes, an action set that is not called by its
  /// key. O(log stored).
  [[nodiscard]] virtual Status add(const Experience& experience) = 0;
  /// The k of the action set that are most similar to `features`, the nearest first; equal ones newest first.
  /// O(stored), of features alone. `except_run`: leaves that run's out (held-out scores); empty: none.
  [[nodiscard]] virtual Result<std::vector<Experience>> nearest(const ActionSet& actions,
                                                                const Features& features, std::size_t k,
                                                                const std::string& except_run = {}) const = 0;
  /// All of an action set, oldest first; `graph` empty: of all graphs.
  [[nodiscard]] virtual Result<std::vector<Experience>> all(const ActionSet& actions,
                                                            const std::string& graph = {}) const = 0;

 protected:
  Memory() = default;
};

}  // namespace rudder::steer
