// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/classifier.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "steer/deciders/common.h"

namespace rudder::steer {
namespace {

/// Asks a trained classifier with the features that it was trained on.
class ByClassifier final : public Decider {
 public:
  explicit ByClassifier(std::shared_ptr<const Classifier> classifier) : classifier_(std::move(classifier)) {}

  Result<Decision> decide(const Window& window, const Report& /*report*/) override {
    const Features features = features_of(window);
    if (!std::all_of(features.begin(), features.end(), [](float value) { return std::isfinite(value); })) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("window {} has a metric that is not a number", window.sequence)};
    }
    const Classifier::Choice choice = classifier_->choose(features);
    Decision decision = decision_for(window, choice.action);
    decision.confidence = choice.confidence;
    return decision;
  }

 private:
  std::shared_ptr<const Classifier> classifier_;
};

}  // namespace

Result<std::unique_ptr<Decider>> classifier_decider(const DeciderContext& context, std::string_view kind) {
  std::shared_ptr<const Classifier> classifier = context.trained;
  if (classifier == nullptr) {
    RUDDER_ASSIGN(Classifier loaded, Classifier::load(context.classifier, *context.actions));
    classifier = std::make_shared<const Classifier>(std::move(loaded));
  }
  if (classifier->kind() != kind) {
    return Error{
        Errc::kInvalidArgument,
        fmt::format("decider '{}': {} holds a classifier of kind '{}'", kind,
                    context.trained ? "the training" : context.classifier.string(), classifier->kind())};
  }
  return std::unique_ptr<Decider>(std::make_unique<ByClassifier>(std::move(classifier)));
}

}  // namespace rudder::steer
