// SPDX-License-Identifier: Apache-2.0
#include "steer/experience_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/text.h"

namespace rudder::steer {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kMostName = 256;     ///< bytes
constexpr std::size_t kMostReason = 4096;  ///< bytes
constexpr int kDirectionCount = 3;

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

bool all_finite(const Features& features) {
  return std::all_of(features.begin(), features.end(), [](float value) { return std::isfinite(value); });
}

/// "name-0123456789ab", as ActionSet::key() gives.
bool is_key(const std::string& text) {
  constexpr std::size_t kDigits = 12;
  return text.size() > kDigits + 1 && text[text.size() - kDigits - 1] == '-' &&
         text.find_first_not_of("0123456789abcdef", text.size() - kDigits) == std::string::npos;
}

Error bad(const char* what) {
  return {Errc::kInvalidData, what};
}

Json json_of(const Expected& expected) {
  return {static_cast<int>(expected.hits), static_cast<int>(expected.traffic)};
}

Result<Expected> expected_of(const Json& json) {
  const auto direction = [](const Json& value) {
    return value.is_number_unsigned() && value < kDirectionCount;
  };
  if (!json.is_array() || json.size() != 2 || !direction(json[0]) || !direction(json[1])) {
    return bad("directions are not two of 0 to 2");
  }
  return Expected{static_cast<Direction>(json[0].get<int>()), static_cast<Direction>(json[1].get<int>())};
}

const Json& at(const Json& json, const char* key) {
  static const Json kNothing;
  const auto found = json.find(key);
  return found != json.end() ? *found : kNothing;
}

}  // namespace

std::string fault_of(const Experience& experience) {
  for (const std::string* const name : {&experience.run, &experience.graph, &experience.action_set}) {
    if (name->size() > kMostName) {
      return fmt::format("a run, graph or action set has a name of {} bytes, more than {}", name->size(),
                         kMostName);
    }
  }
  if (!is_key(experience.action_set)) {
    return fmt::format("'{}' is not the key of an action set", printable(experience.action_set));
  }
  if (!all_finite(experience.features) || !all_finite(experience.costs)) {
    return "a feature or cost is not finite";
  }
  if (experience.costs.empty() || experience.costs.size() > kMaxActions ||
      experience.best >= experience.costs.size()) {
    return fmt::format("the best of {} costs is number {}", experience.costs.size(), experience.best);
  }
  if (*std::min_element(experience.costs.begin(), experience.costs.end()) < 0) {
    return "a cost is negative";
  }
  if (experience.decision.has_value()) {
    const Decision& decision = *experience.decision;
    if (!std::isfinite(decision.confidence) || !std::isfinite(decision.seconds) ||
        decision.action >= experience.costs.size() || decision.reason.size() > kMostReason) {
      return fmt::format("the decision has action {} of {}, confidence {}, {} s, a reason of {} bytes",
                         decision.action, experience.costs.size(), decision.confidence, decision.seconds,
                         decision.reason.size());
    }
  }
  return {};
}

std::span<const std::byte> bytes_of(const Features& features) {
  return std::as_bytes(std::span(features));
}

std::span<const std::byte> bytes_of(const std::vector<double>& costs) {
  return std::as_bytes(std::span(costs));
}

Result<Features> features_of_bytes(std::span<const std::byte> bytes) {
  Features features{};
  if (bytes.size() != sizeof(features)) {
    return bad("not as many features as there are metrics");
  }
  std::memcpy(features.data(), bytes.data(), sizeof(features));
  if (!all_finite(features)) {
    return bad("a feature is not finite");
  }
  return features;
}

Result<std::vector<double>> costs_of_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() % sizeof(double) != 0 || bytes.size() / sizeof(double) > kMaxActions) {
    return bad("no costs, or more than there can be actions");
  }
  std::vector<double> costs(bytes.size() / sizeof(double));
  std::memcpy(costs.data(), bytes.data(), bytes.size());
  if (!all_finite(costs)) {
    return bad("a cost is not finite");
  }
  return costs;
}

std::string text_of(const Decision& decision) {
  Json json = {{"sequence", decision.sequence},      {"action", decision.action},
               {"confidence", decision.confidence},  {"reason", decision.reason},
               {"seconds", decision.seconds},        {"from_model", decision.from_model},
               {"valid_reply", decision.valid_reply}};
  if (decision.expected.has_value()) {
    json["expected"] = json_of(*decision.expected);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Decision> decision_of_text(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !at(json, "sequence").is_number_unsigned() ||
      !at(json, "action").is_number_unsigned() || !at(json, "confidence").is_number() ||
      !at(json, "reason").is_string() || !at(json, "seconds").is_number() ||
      !at(json, "from_model").is_boolean() || !at(json, "valid_reply").is_boolean()) {
    return bad("a decision lacks a field");
  }
  Decision decision{.sequence = json["sequence"].get<std::uint64_t>(),
                    .action = json["action"].get<std::size_t>(),
                    .confidence = json["confidence"].get<double>(),
                    .reason = json["reason"].get<std::string>(),
                    .seconds = json["seconds"].get<double>(),
                    .from_model = json["from_model"].get<bool>(),
                    .valid_reply = json["valid_reply"].get<bool>()};
  if (const Json& expected = at(json, "expected"); !expected.is_null()) {
    RUDDER_ASSIGN(decision.expected, expected_of(expected));
  }
  return decision;
}

std::string text_of(const Expected& expected) {
  return json_of(expected).dump();
}

Result<Expected> expected_of_text(std::string_view text) {
  return expected_of(Json::parse(text, nullptr, false));
}

}  // namespace rudder::steer
