// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/jct.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/learn/boost.h"
#include "rudder/learn/forest.h"

#include "sched/jct_features.h"

namespace rudder::sched {
namespace {

using Json = nlohmann::json;
using Parameters = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kLeastJobs = 100;
constexpr std::string_view kFormat = "rudder-jct";
constexpr int kVersion = 1;
constexpr std::int32_t kMostBins = 1000;

double log2_minutes(Time seconds) {
  return std::log2(static_cast<double>(std::max<Time>(seconds, 1)) / 60.0);
}

Status check_options(const JctOptions& options) {
  if (options.bin < 1 || options.bins < 2 || options.bins > kMostBins || options.bags < 1 ||
      options.bags > 100 || options.rounds < 1 || options.depth < 1 || options.depth > 16 ||
      !(options.rate > 0) || !(options.sample > 0 && options.sample <= 1) || options.threads < 1) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("predictor: {} classes of {} s, {} bags, {} rounds, depth {}, rate {}, sample {}, {} "
                    "threads",
                    options.bins, options.bin, options.bags, options.rounds, options.depth, options.rate,
                    options.sample, options.threads)};
  }
  return {};
}

Parameters common(const JctOptions& options, std::uint64_t seed) {
  return {{"tree_method", "hist"},
          {"verbosity", "0"},
          {"nthread", std::to_string(options.threads)},
          {"seed", std::to_string(seed % 2'000'000'000)},
          {"max_depth", std::to_string(options.depth)},
          {"eta", fmt::format("{}", options.rate)},
          {"subsample", fmt::format("{}", options.sample)}};
}

}  // namespace

struct JctModel::Impl {
  Time bin = 600;
  std::int32_t bins = 0;
  double mean_bin = 0;           ///< of the training jobs
  double mean_log2_minutes = 0;  ///< of the training jobs, and the regression's base
  std::int64_t train_jobs = 0;
  std::vector<learn::Forest> bags;
  learn::Forest logarithm;

  [[nodiscard]] std::int32_t bin_of(Time duration) const {
    return static_cast<std::int32_t>(std::min<Time>(std::max<Time>(duration - 1, 0) / bin, bins - 1));
  }

  /// Mean over the bags of the classes' probabilities.
  void probabilities(std::span<const float> row, std::vector<double>& mean) const {
    mean.assign(static_cast<std::size_t>(bins), 0.0);
    std::vector<double> sums(static_cast<std::size_t>(bins));
    for (const learn::Forest& bag : bags) {
      std::fill(sums.begin(), sums.end(), 0.0);
      bag.add(row, sums);
      const double top = *std::max_element(sums.begin(), sums.end());
      double whole = 0;
      for (double& sum : sums) {
        sum = std::exp(sum - top);
        whole += sum;
      }
      for (std::size_t k = 0; k < sums.size(); ++k) {
        mean[k] += sums[k] / whole / static_cast<double>(bags.size());
      }
    }
  }

  [[nodiscard]] Time quantile_of(const std::vector<double>& shares, double quantile, Time limit) const {
    double sum = 0;
    for (std::size_t k = 0; k + 1 < shares.size(); ++k) {
      sum += shares[k];
      if (sum >= quantile) {
        return std::min(limit, static_cast<Time>(k + 1) * bin);
      }
    }
    return limit;
  }
};

JctModel::JctModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JctModel::JctModel(JctModel&&) noexcept = default;
JctModel& JctModel::operator=(JctModel&&) noexcept = default;
JctModel::~JctModel() = default;

Result<JctModel> JctModel::train(const Trace& trace, std::size_t split, const JctOptions& options) {
  RUDDER_TRY(check_options(options));
  if (split > trace.jobs.size()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("predictor: split {} of {} jobs", split, trace.jobs.size())};
  }
  const Time known = split < trace.jobs.size() ? trace.jobs[split].spec.submit : kNever;
  const std::vector<float> all = jct_features(trace);
  auto impl = std::make_unique<Impl>();
  impl->bin = options.bin;
  impl->bins = options.bins;
  std::vector<float> rows;
  std::vector<float> classes;
  std::vector<float> logarithms;
  for (std::size_t i = 0; i < split; ++i) {
    const TraceJob& job = trace.jobs[i];
    if (job.spec.planned() || job.spec.submit + job.duration > known || (options.drop_failed && job.failed)) {
      continue;
    }
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(i * kFeatures);
    rows.insert(rows.end(), from, from + kFeatures);
    classes.push_back(static_cast<float>(impl->bin_of(job.duration)));
    logarithms.push_back(static_cast<float>(log2_minutes(job.duration)));
    impl->mean_bin += static_cast<double>(classes.back());
    impl->mean_log2_minutes += static_cast<double>(logarithms.back());
  }
  if (classes.size() < kLeastJobs) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("predictor: {} jobs had ended before the split, {} are needed", classes.size(),
                             kLeastJobs)};
  }
  impl->train_jobs = static_cast<std::int64_t>(classes.size());
  impl->mean_bin /= static_cast<double>(classes.size());
  impl->mean_log2_minutes /= static_cast<double>(classes.size());
  for (std::int32_t bag = 0; bag < options.bags; ++bag) {
    Parameters parameters = common(options, options.seed * 1000 + static_cast<std::uint64_t>(bag));
    parameters.emplace_back("objective", "multi:softprob");
    parameters.emplace_back("num_class", std::to_string(options.bins));
    RUDDER_ASSIGN(
        const std::string model,
        learn::boost({.rows = rows, .columns = kFeatures, .labels = classes}, parameters, options.rounds));
    RUDDER_ASSIGN(learn::Forest forest, learn::Forest::from_xgboost(model));
    impl->bags.push_back(std::move(forest));
  }
  Parameters parameters = common(options, options.seed);
  parameters.emplace_back("objective", "reg:squarederror");
  parameters.emplace_back("base_score", fmt::format("{}", impl->mean_log2_minutes));
  RUDDER_ASSIGN(const std::string model,
                learn::boost({.rows = rows, .columns = kFeatures, .labels = logarithms}, parameters,
                             options.rounds * 2));
  RUDDER_ASSIGN(impl->logarithm, learn::Forest::from_xgboost(model));
  return JctModel(std::move(impl));
}

std::vector<Time> JctModel::quantiles(const Trace& trace, std::size_t from, double quantile) const {
  const std::vector<float> all = jct_features(trace);
  std::vector<Time> times;
  std::vector<double> shares;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const JobSpec& spec = trace.jobs[i].spec;
    if (i < from || spec.planned()) {
      times.push_back(spec.limit);
      continue;
    }
    impl_->probabilities(std::span(all).subspan(i * kFeatures, kFeatures), shares);
    times.push_back(impl_->quantile_of(shares, quantile, spec.limit));
  }
  return times;
}

JctScores JctModel::score(const Trace& trace, std::size_t from, double quantile) const {
  JctScores scores{.train_jobs = impl_->train_jobs, .quantile = quantile};
  const std::vector<float> all = jct_features(trace);
  std::vector<double> shares;
  for (std::size_t i = from; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    if (job.spec.planned()) {
      continue;
    }
    const std::span<const float> row = std::span(all).subspan(i * kFeatures, kFeatures);
    impl_->probabilities(row, shares);
    double expected = 0;
    for (std::size_t k = 0; k < shares.size(); ++k) {
      expected += shares[k] * static_cast<double>(k);
    }
    double logarithm = impl_->mean_log2_minutes;
    impl_->logarithm.add(row, std::span(&logarithm, 1));
    const double truth = impl_->bin_of(job.duration);
    const Time limit = impl_->quantile_of(shares, quantile, job.spec.limit);
    scores.rmse_bins += std::pow(expected - truth, 2);
    scores.rmse_bins_constant += std::pow(impl_->mean_bin - truth, 2);
    scores.rmse_log2_minutes += std::pow(logarithm - log2_minutes(job.duration), 2);
    scores.rmse_log2_minutes_constant += std::pow(impl_->mean_log2_minutes - log2_minutes(job.duration), 2);
    scores.coverage += job.duration <= limit ? 1 : 0;
    scores.limit_ratio += static_cast<double>(limit) / static_cast<double>(job.spec.limit);
    ++scores.test_jobs;
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(1, scores.test_jobs));
  for (double* sum : {&scores.rmse_bins, &scores.rmse_bins_constant, &scores.rmse_log2_minutes,
                      &scores.rmse_log2_minutes_constant}) {
    *sum = std::sqrt(*sum / count);
  }
  scores.coverage /= count;
  scores.limit_ratio /= count;
  return scores;
}

Status JctModel::save(const std::filesystem::path& path) const {
  Json bags = Json::array();
  for (const learn::Forest& bag : impl_->bags) {
    bags.push_back(bag.to_json());
  }
  const Json json = {{"format", kFormat},           {"version", kVersion},
                     {"features", kFeatures},       {"bin_seconds", impl_->bin},
                     {"bins", impl_->bins},         {"train_jobs", impl_->train_jobs},
                     {"mean_bin", impl_->mean_bin}, {"mean_log2_minutes", impl_->mean_log2_minutes},
                     {"bags", std::move(bags)},     {"logarithm", impl_->logarithm.to_json()}};
  return write_text(path, json.dump() + "\n");
}

namespace {

Result<std::int64_t> whole(const Json& json, const char* key, std::int64_t low, std::int64_t high) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer() || found->get<std::int64_t>() < low ||
      found->get<std::int64_t>() > high) {
    return Error{Errc::kInvalidData, fmt::format("'{}' is not a whole number in {}..{}", key, low, high)};
  }
  return found->get<std::int64_t>();
}

Result<double> real(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number() || !(std::abs(found->get<double>()) < 1e9)) {
    return Error{Errc::kInvalidData, fmt::format("'{}' is not a number", key)};
  }
  return found->get<double>();
}

}  // namespace

Result<JctModel> JctModel::load(const std::filesystem::path& path) {
  RUDDER_ASSIGN(const std::string text, read_text(path));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", Json()) != kFormat ||
      json.value("version", Json()) != kVersion || json.value("features", Json()) != kFeatures) {
    return Error{Errc::kInvalidData,
                 fmt::format("{}: not a {} model of version {}", path.string(), kFormat, kVersion)};
  }
  const auto read = [&]() -> Result<std::unique_ptr<Impl>> {
    auto impl = std::make_unique<Impl>();
    RUDDER_ASSIGN(impl->bin, whole(json, "bin_seconds", 1, kMaxTime));
    RUDDER_ASSIGN(const std::int64_t bins, whole(json, "bins", 2, kMostBins));
    RUDDER_ASSIGN(impl->train_jobs, whole(json, "train_jobs", 0, std::int64_t{1} << 40));
    RUDDER_ASSIGN(impl->mean_bin, real(json, "mean_bin"));
    RUDDER_ASSIGN(impl->mean_log2_minutes, real(json, "mean_log2_minutes"));
    impl->bins = static_cast<std::int32_t>(bins);
    const Json bags = json.value("bags", Json());
    if (!bags.is_array() || bags.empty() || bags.size() > 100) {
      return Error{Errc::kInvalidData, "'bags' is not an array of 1 to 100 forests"};
    }
    for (const Json& bag : bags) {
      RUDDER_ASSIGN(learn::Forest forest,
                    learn::Forest::from_json(bag, {impl->bins, static_cast<std::int32_t>(kFeatures)}));
      impl->bags.push_back(std::move(forest));
    }
    RUDDER_ASSIGN(impl->logarithm, learn::Forest::from_json(json.value("logarithm", Json()),
                                                            {1, static_cast<std::int32_t>(kFeatures)}));
    return impl;
  };
  auto impl = read();
  if (!impl) {
    return impl.error().in(path.string());
  }
  return JctModel(std::move(impl).value());
}

}  // namespace rudder::sched
