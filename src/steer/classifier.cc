// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/classifier.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/check.h"
#include "rudder/core/files.h"
#include "rudder/core/text.h"

#include "steer/experience_codec.h"

namespace rudder::steer {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "rudder-classifier";
constexpr int kFileVersion = 1;

/// What a wrong choice costs on average, as a share of the window's mean cost.
double cost_of_error(const Experience& experience) {
  const double sum = std::accumulate(experience.costs.begin(), experience.costs.end(), 0.0);
  const double least = experience.costs[experience.best];
  const auto count = static_cast<double>(experience.costs.size());
  return sum > 0 && count > 1 ? std::max(0.0, (sum - least) / (count - 1) - least) / (sum / count) : 0;
}

Status check(const Experience& experience, const ActionSet& actions) {
  std::string fault = fault_of(experience);
  if (fault.empty() && experience.action_set != actions.key()) {
    fault = fmt::format("it is of action set '{}'", printable(experience.action_set));
  }
  if (fault.empty() && experience.costs.size() != actions.actions.size()) {
    fault = fmt::format("it has {} costs", experience.costs.size());
  }
  if (!fault.empty()) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("window {} of run '{}' is not one to learn action set '{}' from: {}",
                             experience.sequence, printable(experience.run), actions.key(), fault)};
  }
  return {};
}

Json metric_names() {
  Json names = Json::array();
  for (const MetricInfo& metric : metric_table()) {
    names.push_back(metric.name);
  }
  return names;
}

}  // namespace

Classifier::Classifier(learn::Model model, std::string action_set, std::size_t fallback, std::size_t windows)
    : model_(std::move(model)), action_set_(std::move(action_set)), fallback_(fallback), windows_(windows) {}

Result<Classifier> Classifier::train(std::span<const Experience> experiences,
                                     std::span<const std::size_t> which, const ActionSet& actions,
                                     const ClassifierOptions& options) {
  std::vector<float> rows;
  std::vector<std::uint32_t> labels;
  std::vector<double> weights;
  for (const std::size_t i : which) {
    const Experience& each = experiences[i];
    RUDDER_TRY(check(each, actions));
    rows.insert(rows.end(), each.features.begin(), each.features.end());
    labels.push_back(static_cast<std::uint32_t>(each.best));
    weights.push_back(cost_of_error(each));
  }
  RUDDER_ASSIGN(learn::Model model,
                learn::Model::train(options.kind,
                                    {.rows = rows,
                                     .columns = kMetrics,
                                     .labels = labels,
                                     .weights = weights,
                                     .classes = static_cast<std::uint32_t>(actions.actions.size())},
                                    options.seed));
  return Classifier(std::move(model), actions.key(), actions.fallback, labels.size());
}

Status Classifier::save(const std::filesystem::path& path) const {
  const Json json = {{"format", kFormat},         {"version", kFileVersion}, {"action_set", action_set_},
                     {"metrics", metric_names()}, {"windows", windows_},     {"model", model_.to_json()}};
  return write_text(path, json.dump() + "\n");
}

Result<Classifier> Classifier::load(const std::filesystem::path& path, const ActionSet& actions) {
  RUDDER_ASSIGN(const std::string text, read_text(path));
  const Json json = Json::parse(text, nullptr, false);
  const auto bad = [&](const std::string& what) {
    return Error{Errc::kInvalidData, fmt::format("{}: {}", path.string(), what)};
  };
  const auto field = [&](const char* key) { return json.value(key, Json()); };
  if (!json.is_object() || field("format") != kFormat || field("version") != kFileVersion) {
    return bad(fmt::format("not a {} of version {}", kFormat, kFileVersion));
  }
  if (field("metrics") != metric_names()) {
    return bad("it was trained on other metrics than this program observes");
  }
  if (field("action_set") != actions.key()) {
    return bad(
        fmt::format("it was trained for action set {}, not '{}'", field("action_set").dump(), actions.key()));
  }
  if (!field("windows").is_number_unsigned()) {
    return bad("'windows' is not a whole number");
  }
  auto model = learn::Model::from_json(field("model"));
  if (!model) {
    return model.error().in(path.string());
  }
  if (model->columns() != kMetrics || model->classes() != actions.actions.size()) {
    return bad(fmt::format("its model has {} columns and {} classes, not {} and {}", model->columns(),
                           model->classes(), kMetrics, actions.actions.size()));
  }
  return Classifier(std::move(model).value(), actions.key(), actions.fallback,
                    field("windows").get<std::size_t>());
}

Classifier::Choice Classifier::choose(const Features& features) const {
  std::vector<double> shares(model_.classes());
  model_.probabilities(features, shares);
  const auto most = std::max_element(shares.begin(), shares.end());
  return {static_cast<std::size_t>(most - shares.begin()), *most};
}

ClassifierScores Classifier::score(std::span<const Experience> experiences,
                                   std::span<const std::size_t> which) const {
  ClassifierScores scores;
  std::vector<double> fixed(model_.classes());
  for (const std::size_t i : which) {
    const std::vector<double>& costs = experiences[i].costs;
    RUDDER_CHECK(costs.size() == fixed.size(), "an experience of another action set");
    const double chosen = costs[choose(experiences[i].features).action];
    const double least = *std::min_element(costs.begin(), costs.end());
    ++scores.windows;
    scores.accuracy += chosen <= least ? 1 : 0;
    scores.cost += chosen;
    scores.oracle_cost += least;
    std::transform(costs.begin(), costs.end(), fixed.begin(), fixed.begin(), std::plus<>());
  }
  scores.best_fixed = fallback_;
  for (std::size_t action = 0; action < fixed.size(); ++action) {
    scores.best_fixed = fixed[action] < fixed[scores.best_fixed] ? action : scores.best_fixed;
  }
  scores.best_fixed_cost = fixed[scores.best_fixed];
  scores.accuracy /= static_cast<double>(std::max<std::size_t>(1, scores.windows));
  scores.regret_oracle = scores.oracle_cost > 0 ? scores.cost / scores.oracle_cost - 1 : 0;
  scores.regret_best_fixed = scores.best_fixed_cost > 0 ? scores.cost / scores.best_fixed_cost - 1 : 0;
  return scores;
}

Result<TrainedClassifier> train_classifier(std::span<const Experience> experiences, const ActionSet& actions,
                                           const ClassifierOptions& options) {
  for (const Experience& each : experiences) {
    RUDDER_TRY(check(each, actions));
  }
  RUDDER_ASSIGN(Split split, split_of(experiences, options));
  RUDDER_ASSIGN(Classifier classifier, Classifier::train(experiences, split.train, actions, options));
  const ClassifierScores train = classifier.score(experiences, split.train);
  const ClassifierScores runs = classifier.score(experiences, split.held_out_runs);
  const ClassifierScores graphs = classifier.score(experiences, split.held_out_graphs);
  return TrainedClassifier{std::move(classifier), std::move(split), train, runs, graphs};
}

}  // namespace rudder::steer
