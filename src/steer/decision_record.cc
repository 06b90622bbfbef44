// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <nlohmann/json.hpp>

#include "rudder/steer/controller.h"

namespace rudder::steer {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson name_of(std::size_t action, const ActionSet& actions) {
  return action < actions.actions.size() ? OrderedJson(actions.actions[action].name) : OrderedJson(nullptr);
}

OrderedJson json_of(const Decision& decision, const ActionSet& actions) {
  OrderedJson expected = nullptr;
  if (decision.expected) {
    expected = {{"hits", name_of(decision.expected->hits)}, {"traffic", name_of(decision.expected->traffic)}};
  }
  return {{"sequence", decision.sequence},
          {"action", name_of(decision.action, actions)},
          {"confidence", decision.confidence},
          {"reason", decision.reason},
          {"expected", expected},
          {"seconds", decision.seconds},
          {"from_model", decision.from_model},
          {"valid_reply", decision.valid_reply}};
}

}  // namespace

std::string json_of(const DecisionRecord& record, const ActionSet& actions) {
  OrderedJson json = {{"sequence", record.sequence},
                      {"verdict", name_of(record.verdict)},
                      {"applied", name_of(record.applied, actions)},
                      {"staleness", record.staleness},
                      {"from_cache", record.from_cache}};
  if (!record.why.empty()) {
    json["why"] = record.why;
  }
  if (record.decision) {
    json["decision"] = json_of(*record.decision, actions);
  }
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace rudder::steer
