// SPDX-License-Identifier: Apache-2.0
// Options that describe a model and its links, and the weight of the data-parallel side that follows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/weights.h"

#include "cli/option_table.h"

namespace rudder::cli {

/// A transformer and the network that its groups use.
class ModelInput {
 public:
  void add_options(OptionTable& options);

  [[nodiscard]] const place::ModelShape& model() const noexcept { return model_; }
  /// Errors: kInvalidArgument naming the sizes that `what` needs and that were not given.
  [[nodiscard]] Status require_described(std::string_view what) const;
  /// Bandwidth, losses and exposed shares; volumes are zero.
  [[nodiscard]] place::PhysicalCost link() const;
  /// With the volumes of this shape. Context-parallel ranks share sequences, so they do not divide the batch.
  /// Errors: those of require_described() and place::volumes().
  [[nodiscard]] Result<place::PhysicalCost> cost(const place::JobShape& shape) const;

 private:
  place::ModelShape model_;
  double bandwidth_ = 400e9;  ///< bits per second
  place::PhysicalCost link_;
};

/// Where alpha comes from: a number, the model, measured times, or characterised jobs.
class AlphaInput {
 public:
  void add_options(OptionTable& options);
  [[nodiscard]] Result<double> alpha(const ModelInput& model, const place::JobShape& shape) const;

 private:
  [[nodiscard]] Result<double> from_times() const;
  [[nodiscard]] Result<double> from_database() const;

  std::string alpha_ = "0.5";
  std::string times_;
  std::filesystem::path database_;
  std::string gpu_;
  std::string ratios_;
};

/// "0.1,2" → numbers; another count than `count` or something that is no number is an error naming `option`.
[[nodiscard]] Result<std::vector<double>> parse_numbers(const std::string& text, std::size_t count,
                                                        const std::string& option);

}  // namespace rudder::cli
