// SPDX-License-Identifier: Apache-2.0
// The names of a result's numbers, once for every file that holds them.
#pragma once

#include <optional>

#include "rudder/train/options.h"

namespace rudder::train {

/// Calls visit(name, field) for each field of an EpochResult, in the order in which files list them.
template <class Epoch, class Visit>
void for_each_field(Epoch& epoch, Visit visit) {
  visit("epoch", epoch.epoch);
  visit("loss", epoch.loss);
  visit("seconds", epoch.seconds);
  visit("compute_seconds", epoch.compute_seconds);
  visit("all_reduce_seconds", epoch.all_reduce_seconds);
  visit("stall_seconds", epoch.stall_seconds);
  visit("requests", epoch.requests);
  visit("hits", epoch.hits);
  visit("fetched", epoch.fetched);
  visit("payload_bytes", epoch.payload_bytes);
  visit("wire_bytes", epoch.wire_bytes);
  visit("messages", epoch.messages);
  visit("sampling_nodes", epoch.sampling_nodes);
  visit("sampling_bytes", epoch.sampling_bytes);
  visit("sampling_messages", epoch.sampling_messages);
  visit("evaluation_seconds", epoch.evaluation_seconds);
  visit("val_accuracy", epoch.val_accuracy);
}

/// The same of a SteeringResult.
template <class Steering, class Visit>
void for_each_steering_field(Steering& steering, Visit visit) {
  visit("decider", steering.agent);
  visit("actions", steering.actions);
  visit("mode", steering.mode);
  visit("window", steering.window);
  visit("windows", steering.windows);
  visit("dropped_windows", steering.dropped);
  visit("replayed", steering.replayed);
  visit("mismatches", steering.mismatches);
  visit("changes", steering.changes);
  visit("overtaken", steering.overtaken);
  visit("late", steering.late);
  visit("decisions", steering.decisions);
  visit("applied", steering.applied);
  visit("rejected", steering.rejected);
  visit("model_calls", steering.model_calls);
  visit("valid_replies", steering.valid_replies);
  visit("no_answers", steering.no_answers);
  visit("breaker_openings", steering.breaker_openings);
  visit("predictions", steering.predictions);
  visit("right_directions", steering.right_directions);
  visit("staleness_windows", steering.staleness_windows);
  visit("memory_errors", steering.memory_errors);
  visit("latency_p50", steering.latency_p50);
  visit("latency_p95", steering.latency_p95);
  visit("wait_seconds", steering.wait_seconds);
  visit("seconds", steering.seconds);
  visit("replayed_seconds", steering.replayed_seconds);
}

/// A field as a JSON value (of a type like nlohmann's); one without a value is null.
template <class Json, class Field>
void put_field(Json& to, const Field& field) {
  to = field;
}
template <class Json, class Value>
void put_field(Json& to, const std::optional<Value>& field) {
  to = nullptr;
  if (field) {
    to = *field;
  }
}
template <class Json, class Field>
void get_field(const Json& from, Field& field) {
  from.get_to(field);
}
template <class Json, class Value>
void get_field(const Json& from, std::optional<Value>& field) {
  field.reset();
  if (!from.is_null()) {
    field = from.template get<Value>();
  }
}

}  // namespace rudder::train
