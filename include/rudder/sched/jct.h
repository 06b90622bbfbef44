// SPDX-License-Identifier: Apache-2.0
// Predicts how long jobs run from what is known when they are submitted: gradient-boosted trees over classes
// of ten minutes, so that any quantile can be read from the classes' cumulative probabilities.
//
// A trace is split by time: only jobs that had ended before the split are learned from, only jobs submitted
// after it are predicted. Training is deterministic for a seed, on one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/sched/simulator.h"

namespace rudder::sched {

struct JctOptions {
  Time bin = 600;            ///< seconds a class
  std::int32_t bins = 48;    ///< the last holds everything longer
  std::int32_t bags = 3;     ///< forests on bootstrap samples whose probabilities are averaged
  std::int32_t rounds = 12;  ///< trees a class of each forest
  std::int32_t depth = 5;
  double rate = 0.25;
  double sample = 0.7;  ///< share of rows that each tree sees
  std::int32_t threads = 1;
  std::uint64_t seed = 1;
  bool drop_failed = false;  ///< leave out jobs that ended early (Arnold's appendix H does)
};

struct JctScores {
  std::int64_t train_jobs = 0;
  std::int64_t test_jobs = 0;
  double rmse_bins = 0;           ///< of the expected class
  double rmse_bins_constant = 0;  ///< the same of the training jobs' mean class
  double rmse_log2_minutes = 0;   ///< of a regression of the logarithm
  double rmse_log2_minutes_constant = 0;
  double quantile = 0;
  double coverage = 0;     ///< share of test jobs that ran no longer than their predicted quantile
  double limit_ratio = 0;  ///< predicted quantile as a share of the user's limit, mean
};

class JctModel {
 public:
  JctModel(JctModel&&) noexcept;
  JctModel& operator=(JctModel&&) noexcept;
  ~JctModel();

  /// Learns from jobs of the trace that ended before job `split` was submitted. Errors: kInvalidArgument for
  /// options out of range, a split outside the trace or fewer than 100 jobs to learn from; kInternal when
  /// XGBoost fails.
  [[nodiscard]] static Result<JctModel> train(const Trace& trace, std::size_t split,
                                              const JctOptions& options);
  /// JSON with plain trees, checked node by node: kInvalidData for anything else.
  [[nodiscard]] static Result<JctModel> load(const std::filesystem::path& path);
  [[nodiscard]] Status save(const std::filesystem::path& path) const;

  /// Upper edge of the class in which the cumulative probability reaches `quantile`, never above the user's
  /// limit; the limit itself for jobs before `from` and for the last class. History is taken from the jobs
  /// before each job in the trace that had ended when it was submitted (had none waited in a queue).
  [[nodiscard]] std::vector<Time> quantiles(const Trace& trace, std::size_t from, double quantile) const;
  [[nodiscard]] JctScores score(const Trace& trace, std::size_t from, double quantile) const;

 private:
  struct Impl;
  explicit JctModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rudder::sched
