// SPDX-License-Identifier: Apache-2.0
// What is observed of a run: counters of a window of batches, as numbers, as levels, as text and as JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/cache/planner.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::steer {

/// Batches of a window. Every batch of the windows that wait for their replay is kept, in some KB.
inline constexpr std::uint32_t kMostWindow = 4096;
inline constexpr std::size_t kMaxOwners = 64;  ///< owners beyond are counted with the last

/// What one owner did in a window.
struct OwnerLoad {
  std::uint64_t rows = 0;
  double seconds = 0;  ///< from question to answer, summed over its answers
  std::uint64_t answers = 0;

  friend bool operator==(const OwnerLoad&, const OwnerLoad&) = default;
};

/// Sums over the batches [first, end), and states at its end. Plain data: no allocation in it, so that a
/// trainer can fill one in place. Names with a unit are seconds and bytes.
struct Window {
  std::uint64_t sequence = 0;  ///< windows count from 0
  StepId first = 0, end = 0;
  StepId steps_total = 0;  ///< of the run; 0: not known
  bool training = true;    ///< false: evaluation
  std::size_t action = 0;  ///< the setting that held, as an index of the action set
  // Trainer.
  double seconds = 0, compute_seconds = 0, all_reduce_seconds = 0, stall_seconds = 0;
  std::uint32_t ready = 0;    ///< batches gathered and not trained on
  std::uint32_t waiting = 0;  ///< batches planned and not gathered
  // Planner.
  cache::Counts counts;
  std::uint64_t slots = 0, resident = 0;
  std::uint64_t stale = 0;        ///< resident rows that no batch of this window asked for
  std::uint64_t fresh = 0;        ///< of counts.requests: for rows that the window before did not ask for
  std::uint64_t known_ahead = 0;  ///< batches known beyond the last one served
  // Fetcher and link.
  std::uint64_t wire_bytes = 0;
  double link_bytes_per_second = 0;  ///< as measured while something moved; 0: nothing did
  std::uint32_t owners = 0;          ///< this host is one of them
  std::uint32_t self = kMaxOwners;   ///< which; it has no remote rows. kMaxOwners: not known, or none of them
  std::array<OwnerLoad, kMaxOwners> owner{};
  // Host.
  double busy = 0;      ///< share of the processor's cores in use, or of the device where there is one
  bool device = false;  ///< what `busy` is of

  friend bool operator==(const Window&, const Window&) = default;
};

/// Places of the metrics in every feature vector.
enum Metric : std::size_t {
  kHitRate,
  kFetchedPerRequest,
  kExtraShare,
  kStallShare,
  kAllReduceShare,
  kLinkUse,
  kReadyShare,
  kStaleShare,
  kFreshShare,
  kOwnerSkew,
  kOwnerDelay,
  kRemaining,
};
inline constexpr std::size_t kMetrics = 12;

/// One figure of a window, derived so that graphs and clusters of any size compare.
struct MetricInfo {
  std::string_view name;     ///< JSON key and word in prompts: hit_rate
  std::string_view words;    ///< "share of remote rows found in the buffer"
  double low = 0, high = 0;  ///< below low: "low"; above high: "high"; between: "medium"
  double margin = 0;         ///< a level is left only when its bound is passed by more than this
  double (*value)(const Window&) = nullptr;  ///< finite and not negative, whatever the window holds
};
/// All metrics, in the order of every feature vector. Where a window says nothing of a metric it has the
/// value that calls for nothing: all rows hit, no stall, owners alike, all of the run to come.
[[nodiscard]] std::span<const MetricInfo> metric_table();
using Features = std::array<float, kMetrics>;
[[nodiscard]] Features features_of(const Window& window) noexcept;
/// Cosine of the angle between two vectors, each metric scaled so that low is -1 and high 1, and cut at -4
/// and 4, lest one that explodes hides the others. 1 for equal ones.
[[nodiscard]] double similarity(const Features& a, const Features& b) noexcept;

enum class Level : std::uint8_t { kLow, kMedium, kHigh };
[[nodiscard]] std::string_view name_of(Level level) noexcept;
using LevelVector = std::array<Level, kMetrics>;

/// A window as levels, with hysteresis against the window before.
class Levels {
 public:
  /// The levels after one more window.
  const LevelVector& update(const Features& features) noexcept;
  [[nodiscard]] const LevelVector& now() const noexcept { return levels_; }

 private:
  LevelVector levels_{};
  bool first_ = true;
};

/// What is said of a window: levels, which of them changed, graph words, events. Text and JSON carry the
/// same. Its texts are one line of valid UTF-8 each (core/text.h: one_line), within the bounds below; those
/// of report_of() are, and whatever others hold is made so when it is written.
struct Report {
  std::uint64_t sequence = 0;
  std::string action;  ///< that held
  LevelVector levels{};
  std::array<bool, kMetrics> changed{};  ///< against the report before; the first: all
  std::string busiest_owner;             ///< "owner 2 serves 71 % of the rows"; empty: no owner stands out
  std::vector<std::string> events;       ///< notes of operators and schedulers, a line each
  friend bool operator==(const Report& a, const Report& b) = default;
};
inline constexpr std::size_t kMaxEvents = 8;        ///< the newest of more
inline constexpr std::size_t kMaxReportLine = 200;  ///< bytes of each text

/// What there is to say of `window`, during which `action` held. `before`: the levels of the report before;
/// null: there was none.
[[nodiscard]] Report report_of(const Window& window, std::string_view action, const LevelVector& levels,
                               const LevelVector* before, std::span<const std::string> events = {});
/// `text`: only what changed; with the report before it, report_of_text() rebuilds the whole. For a text that
/// stands for itself, set all of `changed`.
[[nodiscard]] std::string text_of(const Report& report);
[[nodiscard]] Result<Report> report_of_text(std::string_view text, const Report& before);
[[nodiscard]] std::string json_of(const Report& report);
[[nodiscard]] Result<Report> report_of_json(std::string_view json);

}  // namespace rudder::steer
