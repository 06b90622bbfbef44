// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "rudder/core/clock.h"

namespace rudder::report {

/// One line on stderr that is rewritten while work goes on; silent unless stderr is a terminal. Not
/// thread-safe.
class Progress {
 public:
  explicit Progress(std::string title);
  /// Erases the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `share` of the work in [0, 1]; redrawn at most ten times a second.
  void update(double share, std::string_view what);
  /// Prints a line above the progress line (also when stderr is not a terminal).
  void note(std::string_view line);

 private:
  void erase();

  std::string title_;
  bool terminal_;
  bool drawn_ = false;
  TimePoint last_{};
};

}  // namespace rudder::report
