// SPDX-License-Identifier: Apache-2.0
#include "cli/place_weights.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/core/text.h"

namespace rudder::cli {
namespace {

Error wrong(std::string message) {
  return {Errc::kInvalidArgument, std::move(message)};
}

/// [{"gpu", "r1", "r2", "j_dp", "j_pp"}, ...]
Result<std::vector<place::Characterised>> read_database(const std::filesystem::path& path) {
  constexpr std::size_t kLimit = std::size_t{16} << 20;
  RUDDER_ASSIGN(const std::string text, read_text(path, kLimit));
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_array()) {
    return Error{Errc::kInvalidData, path.string() + ": expected a JSON list of characterised jobs"};
  }
  std::vector<place::Characterised> entries;
  for (std::size_t i = 0; i < document.size(); ++i) {
    const nlohmann::json& item = document[i];
    place::Characterised entry;
    const auto number = [&](const char* key, double& target) {
      const bool is_number = item.is_object() && item.contains(key) && item[key].is_number();
      target = is_number ? item[key].get<double>() : 0;
      return is_number;
    };
    if (!number("r1", entry.ratio_compute) || !number("r2", entry.ratio_groups) ||
        !number("j_dp", entry.dp_gain) || !number("j_pp", entry.pp_gain) || !item.contains("gpu") ||
        !item["gpu"].is_string()) {
      return Error{
          Errc::kInvalidData,
          fmt::format("{}: entry {} needs gpu and the numbers r1, r2, j_dp, j_pp", path.string(), i)};
    }
    entry.gpu = item["gpu"].get<std::string>();
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Result<std::vector<double>> parse_numbers(const std::string& text, std::size_t count,
                                          const std::string& option) {
  std::vector<double> numbers;
  for (const std::string& part : split_list(text)) {
    const auto number = parse_double(part);
    if (!number) {
      return wrong(fmt::format("{}: '{}' is no number", option, part.substr(0, 80)));
    }
    numbers.push_back(*number);
  }
  if (numbers.size() != count) {
    return wrong(
        fmt::format("{}: {} numbers, separated by commas; got '{}'", option, count, text.substr(0, 80)));
  }
  return numbers;
}

void ModelInput::add_options(OptionTable& options) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto size = [&](const char* key, std::int64_t& target, std::int64_t low, const char* help) {
    options.integer<std::int64_t>(key, target, low, kMost, help);
  };
  size("layers", model_.layers, 0, "Model: transformer layers");
  size("hidden", model_.hidden, 0, "Model: hidden size");
  size("vocabulary", model_.vocabulary, 0, "Model: words of the vocabulary");
  size("sequence", model_.sequence, 0, "Model: tokens of a sequence");
  size("micro-batch", model_.micro_batch, 1, "Model: sequences of a micro-batch");
  size("global-batch", model_.global_batch, 1, "Model: sequences of a step");
  size("parameters", model_.parameters, 0, "Model: all parameters; 0: a dense model of these sizes");
  options.integer<std::int32_t>("weight-bytes", model_.weight_bytes, 1, 8,
                                "Model: bytes of a gathered parameter");
  options.integer<std::int32_t>("gradient-bytes", model_.gradient_bytes, 1, 8,
                                "Model: bytes of a reduced gradient");
  options.integer<std::int32_t>("activation-bytes", model_.activation_bytes, 1, 8,
                                "Model: bytes of an activation between stages");
  options.integer<std::int32_t>("zero", model_.zero_stage, 0, 3, "Model: ZeRO stage");
  options.custom({.key = "bandwidth",
                  .metavar = "RATE",
                  .help = "Link: of a GPU's network interface",
                  .bounds = "for example 200Gbit",
                  .parse = [this](const std::string& text) -> Status {
                    RUDDER_ASSIGN(const double rate, parse_bit_rate(text));
                    if (rate <= 0) {
                      return wrong("a bandwidth above 0");
                    }
                    bandwidth_ = rate;
                    return {};
                  },
                  .show = [this] { return fmt::format("{}Gbit", bandwidth_ / 1e9); }});
  options.real("dp-loss", link_.dp_loss, 0, 0.99, "Link: share of bandwidth that spread collectives lose");
  options.real("pp-loss", link_.pp_loss, 0, 0.99, "Link: share of bandwidth that spread sends lose");
  options.real("loss-spread", link_.measured_spread, 1.001, 1e6,
               "Link: spread at which the losses were measured");
  options.real("dp-exposed", link_.dp_exposed, 0, 1,
               "Link: share of data-parallel time that computation does not hide");
  options.real("pp-exposed", link_.pp_exposed, 0, 1,
               "Link: share of pipeline time that computation does not hide");
}

Status ModelInput::require_described(std::string_view what) const {
  std::vector<std::string_view> missing;
  for (const auto& [option, size] : {std::pair<std::string_view, std::int64_t>("--layers", model_.layers),
                                     {"--hidden", model_.hidden},
                                     {"--vocabulary", model_.vocabulary},
                                     {"--sequence", model_.sequence}}) {
    if (size == 0) {
      missing.push_back(option);
    }
  }
  if (missing.empty()) {
    return {};
  }
  return wrong(fmt::format("{} needs a described model: {} not given", what, fmt::join(missing, ", ")));
}

place::PhysicalCost ModelInput::link() const {
  place::PhysicalCost link = link_;
  link.bandwidth = bandwidth_ / 8;
  return link;
}

Result<place::PhysicalCost> ModelInput::cost(const place::JobShape& shape) const {
  RUDDER_TRY(require_described("the model's volume"));
  RUDDER_ASSIGN(const place::Volumes volumes, place::volumes(model_, shape.tp, shape.pp, shape.dp));
  place::PhysicalCost cost = link();
  cost.dp_bytes = volumes.dp_bytes_per_step;
  cost.pp_bytes = volumes.pp_bytes_per_step;
  RUDDER_TRY(place::validate(cost));
  return cost;
}

void AlphaInput::add_options(OptionTable& options) {
  options.custom(
      {.key = "alpha",
       .metavar = "X",
       .help = "Weight of data-parallel groups against pipelines: a number, or where it comes from: model "
               "(its volumes), times (--group-times), database (--characterised)",
       .bounds = "0..1, model, times, database",
       .parse = [this](const std::string& text) -> Status {
         const auto number = parse_double(text);
         const bool word = text == "model" || text == "times" || text == "database";
         if (!word && (!number || *number < 0 || *number > 1)) {
           return wrong(fmt::format("'{}': 0 to 1, model, times or database", text.substr(0, 80)));
         }
         alpha_ = text;
         return {};
       },
       .show = [this] { return alpha_; }});
  options.text("group-times", "T,T,T,T", times_,
               "Seconds a step in data-parallel groups aligned and spread, in pipelines aligned and spread");
  options.path("characterised", database_,
               "JSON list of characterised jobs: gpu, r1, r2, j_dp, j_pp; the nearest in (r1, r2) is taken");
  options.text("gpu", "TYPE", gpu_, "GPU type to look up among characterised jobs");
  options.text("ratios", "R1,R2", ratios_,
               "The job's own r1 = mb weights / (DP + PP volume), r2 = DP / PP volume");
}

Result<double> AlphaInput::from_times() const {
  RUDDER_ASSIGN(const std::vector<double> times, parse_numbers(times_, 4, "--group-times"));
  return place::alpha_of(place::MeasuredTimes{times[0], times[1], times[2], times[3]});
}

Result<double> AlphaInput::from_database() const {
  if (database_.empty() || gpu_.empty()) {
    return wrong("--alpha database needs --characterised FILE, --gpu TYPE and --ratios R1,R2");
  }
  RUDDER_ASSIGN(const std::vector<double> ratios, parse_numbers(ratios_, 2, "--ratios"));
  RUDDER_ASSIGN(const std::vector<place::Characterised> entries, read_database(database_));
  return place::alpha_from_database(entries, gpu_, ratios[0], ratios[1]);
}

Result<double> AlphaInput::alpha(const ModelInput& model, const place::JobShape& shape) const {
  if (alpha_ == "model") {
    RUDDER_ASSIGN(const place::PhysicalCost cost, model.cost(shape));
    return place::alpha_of(cost);
  }
  if (alpha_ == "times") {
    return from_times();
  }
  return alpha_ == "database" ? from_database() : Result<double>(*parse_double(alpha_));
}

}  // namespace rudder::cli
