// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/files.h"
#include "rudder/core/text.h"

#include "steer/deciders/common.h"

namespace rudder::steer {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

/// Action by the sequence of the window at whose end it was settled.
using Log = std::map<std::uint64_t, std::size_t>;

Result<std::pair<std::uint64_t, std::size_t>> read_line(std::string_view line,
                                                        const DeciderContext& context) {
  const Json json = Json::parse(line, nullptr, false);
  const auto field = [&](const char* key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    return json.is_object() && found != json.end() ? *found : Json();
  };
  const Json sequence = field("sequence");
  const Json applied = field("applied");
  if (!sequence.is_number_unsigned() || !applied.is_string()) {
    return Error{Errc::kInvalidData, "not a decision with 'sequence' and 'applied'"};
  }
  RUDDER_ASSIGN(const std::size_t action, needed_action(context, "replay", applied.get<std::string>()));
  return std::pair(sequence.get<std::uint64_t>(), action);
}

/// A last line without its end was being written when the run broke off, and does not count.
Result<Log> read_log(const DeciderContext& context) {
  RUDDER_ASSIGN(const std::string text, read_text(context.argument, kMostBytes));
  Log log;
  std::size_t number = 1;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1, ++number) {
    auto entry = read_line(std::string_view(text).substr(begin, end - begin), context);
    if (!entry) {
      return entry.error().in(fmt::format("{}, line {}", printable(context.argument), number));
    }
    if (!log.empty() && entry->first <= log.rbegin()->first) {
      return Error{Errc::kInvalidData,
                   fmt::format("{}, line {}: window {} comes after window {}", printable(context.argument),
                               number, entry->first, log.rbegin()->first)};
    }
    log.insert(log.end(), *entry);
  }
  return log;
}

/// Sets again what a run's decisions.jsonl says was set. Decisions go by windows, so the same windows under
/// the same settings follow.
class Replay final : public Decider {
 public:
  Replay(std::string name, Log log) : name_(std::move(name)), log_(std::move(log)) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    const auto found = log_.find(window.sequence);
    if (found == log_.end()) {
      return Error{Errc::kNotFound,
                   fmt::format("{}: no decision at window {}", printable(name_), window.sequence)};
    }
    return decision_for(window, found->second);
  }

 private:
  std::string name_;
  Log log_;
};

}  // namespace

DeciderInfo replay_decider() {
  return {.name = "replay",
          .argument = "FILE",
          .help = "what a run's decisions.jsonl says was set",
          .make = [](const DeciderContext& context) -> Result<std::unique_ptr<Decider>> {
            RUDDER_ASSIGN(Log log, read_log(context));
            return std::unique_ptr<Decider>(std::make_unique<Replay>(context.argument, std::move(log)));
          }};
}

}  // namespace rudder::steer
