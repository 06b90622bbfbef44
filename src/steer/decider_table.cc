// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/check.h"
#include "rudder/core/text.h"
#include "rudder/steer/decider.h"

// One line a decider, in the order of the documentation. NAME stands for `DeciderInfo NAME_decider()`, which
// deciders/NAME.cc defines.
#define RUDDER_DECIDERS(DECIDER) \
  DECIDER(never)                 \
  DECIDER(always)                \
  DECIDER(fixed)                 \
  DECIDER(action)                \
  DECIDER(rule)                  \
  DECIDER(bandit)                \
  DECIDER(hedge)                 \
  DECIDER(nearest)               \
  DECIDER(lr)                    \
  DECIDER(svm)                   \
  DECIDER(mlp)                   \
  DECIDER(rf)                    \
  DECIDER(xgb)                   \
  DECIDER(llm)                   \
  DECIDER(replay)

namespace rudder::steer {

#define RUDDER_DECLARE(NAME) DeciderInfo NAME##_decider();
RUDDER_DECIDERS(RUDDER_DECLARE)
#undef RUDDER_DECLARE

namespace {

/// Fills in how long each decision took.
class Timed final : public Decider {
 public:
  Timed(std::unique_ptr<Decider> decider, const Clock& clock) : decider_(std::move(decider)), clock_(clock) {}

  Result<Decision> decide(const Window& window, const Report& report) override {
    const TimePoint begin = clock_.now();
    RUDDER_ASSIGN(Decision decision, decider_->decide(window, report));
    decision.seconds = to_seconds(clock_.now() - begin);
    return decision;
  }
  void learn(const LabelledWindow& labelled) override { decider_->learn(labelled); }

 private:
  std::unique_ptr<Decider> decider_;
  const Clock& clock_;
};

/// What the decider needs and the context lacks.
Status check(const DeciderInfo& info, bool has_argument, const DeciderContext& context) {
  const auto lacks = [&](const std::string& what) {
    return Error{Errc::kInvalidArgument, fmt::format("decider '{}' {}", info.name, what)};
  };
  if (!info.argument.empty() && context.argument.empty()) {
    return lacks(fmt::format("needs {} behind a colon: {}:{}", info.argument, info.name, info.argument));
  }
  if (info.argument.empty() && has_argument) {
    return lacks(fmt::format("takes nothing behind a colon, not '{}'", printable(context.argument)));
  }
  if (info.needs_model && context.model == nullptr) {
    return lacks("needs a language model");
  }
  if (info.needs_classifier && context.classifier.empty() && context.trained == nullptr) {
    return lacks("needs the file of a trained classifier");
  }
  return {};
}

}  // namespace

void Decider::learn(const LabelledWindow& /*labelled*/) {}

std::span<const DeciderInfo> decider_table() {
#define RUDDER_ENTRY(NAME) NAME##_decider(),
  static const std::array table{RUDDER_DECIDERS(RUDDER_ENTRY)};
#undef RUDDER_ENTRY
  return table;
}

Result<const DeciderInfo*> find_decider(std::string_view name) {
  std::vector<std::string_view> names;
  for (const DeciderInfo& info : decider_table()) {
    if (info.name == name) {
      return &info;
    }
    names.push_back(info.name);
  }
  const std::string near = nearest_name(name, names);
  return Error{Errc::kInvalidArgument,
               fmt::format("unknown decider '{}' ({})", printable(name),
                           near.empty() ? fmt::format("known: {}", fmt::join(names, ", "))
                                        : fmt::format("did you mean '{}'?", near))};
}

Result<std::unique_ptr<Decider>> make_decider(std::string_view spec, DeciderContext context) {
  RUDDER_CHECK(context.actions != nullptr, "a decider has actions to choose from");
  const std::size_t colon = spec.find(':');
  RUDDER_ASSIGN(const DeciderInfo* const info, find_decider(spec.substr(0, colon)));
  context.argument = colon == std::string_view::npos ? std::string_view() : spec.substr(colon + 1);
  RUDDER_TRY(check(*info, colon != std::string_view::npos, context));
  RUDDER_ASSIGN(std::unique_ptr<Decider> decider, info->make(context));
  const Clock& clock = context.clock == nullptr ? steady_clock() : *context.clock;
  return std::unique_ptr<Decider>(std::make_unique<Timed>(std::move(decider), clock));
}

}  // namespace rudder::steer
