// SPDX-License-Identifier: Apache-2.0
#include "cli/run_result.h"

#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/files.h"
#include "rudder/core/machine.h"
#include "rudder/train/result_fields.h"

namespace rudder::cli {
namespace {

Json epoch_json(const train::EpochResult& epoch) {
  Json object;
  train::for_each_field(epoch,
                        [&](const char* name, const auto& field) { train::put_field(object[name], field); });
  return object;
}

train::EpochResult epoch_from(const Json& object) {
  train::EpochResult epoch;
  train::for_each_field(epoch,
                        [&](const char* name, auto& field) { train::get_field(object.at(name), field); });
  return epoch;
}

/// All that a run's files hold of a result but its lists.
Json whole_json(const train::TrainResult& result) {
  Json epochs = Json::array();
  for (const train::EpochResult& epoch : result.epochs) {
    epochs.push_back(epoch_json(epoch));
  }
  Json object = {{"policy", result.policy},
                 {"world", result.world},
                 {"epochs", std::move(epochs)},
                 {"metric", result.metric},
                 {"val_accuracy", result.evaluated ? Json(result.val_accuracy) : Json()},
                 {"test_accuracy", result.evaluated ? Json(result.test_accuracy) : Json()},
                 {"best_epoch", result.best_epoch ? Json(*result.best_epoch) : Json()},
                 {"best_val_accuracy", result.best_epoch ? Json(result.best_val_accuracy) : Json()},
                 {"stopped_early", result.stopped_early},
                 {"loss_digest", result.loss_digest},
                 {"peak_rss_bytes", result.peak_rss_bytes},
                 {"wire",
                  {{"type", result.wire.type},
                   {"largest_absolute_error", result.wire.largest_absolute},
                   {"largest_relative_error", result.wire.largest_relative},
                   {"root_mean_square_error", result.wire.root_mean_square}}}};
  if (result.steering) {
    Json& steering = object["agent"];
    train::for_each_steering_field(*result.steering, [&](const char* name, const auto& field) {
      train::put_field(steering[name], field);
    });
  }
  return object;
}

void erase(Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    object.erase(name);
  }
}

}  // namespace

Json train_json(const train::TrainResult& result) {
  Json object = whole_json(result);
  for (Json& epoch : object["epochs"]) {
    epoch.erase("compute_seconds");  // only in the run's files
    epoch.erase("all_reduce_seconds");
    if (epoch["sampling_messages"] == 0) {
      erase(epoch, {"sampling_nodes", "sampling_bytes", "sampling_messages"});
    }
    if (epoch["val_accuracy"].is_null()) {
      erase(epoch, {"evaluation_seconds", "val_accuracy"});
    }
  }
  if (result.metric == "accuracy") {
    object.erase("metric");
  }
  if (!result.best_epoch) {
    erase(object, {"best_epoch", "best_val_accuracy", "stopped_early"});
  }
  if (result.wire.type.empty()) {
    object.erase("wire");
  }
  return object;
}

std::string steering_text(const train::SteeringResult& steering) {
  std::string text = fmt::format(
      "agent {} ({}, {}): {} windows of {} batches, {} decisions, {} applied, {} refused, {} without an "
      "answer; live setting changed {} times",
      steering.agent, steering.actions, steering.mode, steering.windows, steering.window, steering.decisions,
      steering.applied, steering.rejected, steering.no_answers, steering.changes);
  if (steering.model_calls > 0) {
    text += fmt::format(
        "; {:.1f} % valid replies, {:.3f} s a decision (median)",
        100 * static_cast<double>(steering.valid_replies) / static_cast<double>(steering.model_calls),
        steering.latency_p50);
  }
  if (steering.wait_seconds > 0) {
    text += fmt::format("; waited {:.3f} s for decisions", steering.wait_seconds);
  }
  if (steering.dropped > 0) {
    text += fmt::format("; {} windows passed by undecided because steering fell behind", steering.dropped);
  }
  if (steering.mismatches > 0) {
    text += fmt::format("; WRONG: {} windows counted other rows than their replay", steering.mismatches);
  }
  return text;
}

Status write_run_result(const std::filesystem::path& run, const train::TrainResult& result) {
  Json object = whole_json(result);
  Json ranks = Json::array();
  for (const train::RankCounts& counts : result.by_rank) {
    ranks.push_back({{"requests", counts.requests},
                     {"hits", counts.hits},
                     {"fetched", counts.fetched},
                     {"bypassed", counts.bypassed}});
  }
  object["by_rank"] = std::move(ranks);
  object["step_losses"] = result.step_losses;
  object["step_hit_rates"] = result.step_hit_rates;
  object["model_digest"] = result.model_digest;
  object["blas"] = result.blas;
  return write_text(run / "result.json", object.dump() + "\n");
}

Result<train::TrainResult> read_run_result(const std::filesystem::path& run) {
  const std::filesystem::path path = run / "result.json";
  RUDDER_ASSIGN(const std::string text, read_text(path));
  try {
    const Json object = Json::parse(text);
    train::TrainResult result;
    object.at("policy").get_to(result.policy);
    object.at("world").get_to(result.world);
    for (const Json& epoch : object.at("epochs")) {
      result.epochs.push_back(epoch_from(epoch));
    }
    for (const Json& counts : object.at("by_rank")) {
      result.by_rank.push_back({.requests = counts.at("requests").get<std::uint64_t>(),
                                .hits = counts.at("hits").get<std::uint64_t>(),
                                .fetched = counts.at("fetched").get<std::uint64_t>(),
                                .bypassed = counts.at("bypassed").get<std::uint64_t>()});
    }
    object.at("step_losses").get_to(result.step_losses);
    object.at("step_hit_rates").get_to(result.step_hit_rates);
    object.at("metric").get_to(result.metric);
    result.evaluated = !object.at("val_accuracy").is_null();
    if (result.evaluated) {
      object.at("val_accuracy").get_to(result.val_accuracy);
      object.at("test_accuracy").get_to(result.test_accuracy);
    }
    train::get_field(object.at("best_epoch"), result.best_epoch);
    if (result.best_epoch) {
      object.at("best_val_accuracy").get_to(result.best_val_accuracy);
    }
    object.at("stopped_early").get_to(result.stopped_early);
    object.at("loss_digest").get_to(result.loss_digest);
    object.at("model_digest").get_to(result.model_digest);
    object.at("peak_rss_bytes").get_to(result.peak_rss_bytes);
    const Json& wire = object.at("wire");
    wire.at("type").get_to(result.wire.type);
    wire.at("largest_absolute_error").get_to(result.wire.largest_absolute);
    wire.at("largest_relative_error").get_to(result.wire.largest_relative);
    wire.at("root_mean_square_error").get_to(result.wire.root_mean_square);
    object.at("blas").get_to(result.blas);
    if (object.contains("agent")) {
      const Json& steering = object.at("agent");
      train::for_each_steering_field(result.steering.emplace(), [&](const char* name, auto& field) {
        train::get_field(steering.at(name), field);
      });
    }
    return result;
  } catch (const Json::exception& error) {
    return Error{Errc::kInvalidData, fmt::format("{}: {}", path.string(), error.what())};
  }
}

Status write_run_description(const std::filesystem::path& run, const Program& program,
                             const OptionTable& options, const std::string& blas) {
  Json values = Json::object();
  for (const Option& option : options.options()) {
    values[option.key] = {{"value", option.show()}, {"from", options.origin(option.key)}};
  }
  const Machine& machine = this_machine();
  const Json object = {{"version", RUDDER_VERSION},
                       {"arguments", program.arguments},
                       {"options", std::move(values)},
                       {"machine",
                        {{"processor", machine.processor},
                         {"cores", machine.cores},
                         {"memory_bytes", machine.memory_bytes},
                         {"kernel", machine.kernel}}},
                       {"blas", blas}};
  return write_text(run / "run.json", object.dump(2) + "\n");
}

}  // namespace rudder::cli
