// SPDX-License-Identifier: Apache-2.0
// The text of a registry read back, by who watches another process.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/metrics/registry.h"

namespace rudder::metrics {

/// One line of a page. Histograms have several: name_bucket with a label le, name_sum, name_count.
struct Sample {
  std::string name;
  Labels labels;  ///< in the order of the line; values unescaped
  double value = 0;

  /// Of that label; empty when there is none.
  [[nodiscard]] std::string_view label(std::string_view key) const noexcept;
};

class Page {
 public:
  Page() = default;
  /// Reads what Registry::text() writes, and takes hostile bytes: a line that is not of the format, a label
  /// or a series that comes twice are errors, which name the line or the series. Comments are skipped.
  /// O(bytes log lines), in time and but for the logarithm in memory.
  [[nodiscard]] static Result<Page> parse(std::string_view text);

  /// By name, then labels.
  [[nodiscard]] std::span<const Sample> samples() const noexcept { return samples_; }
  /// All of that name.
  [[nodiscard]] std::span<const Sample> of(std::string_view name) const noexcept;
  /// Of all of that name that have these labels, among others; 0 when there are none.
  [[nodiscard]] double sum(std::string_view name, const Labels& labels = {}) const noexcept;

 private:
  std::vector<Sample> samples_;
};

}  // namespace rudder::metrics
