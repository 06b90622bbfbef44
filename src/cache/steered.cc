// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/steered.h"

#include <cstddef>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/check.h"

namespace rudder::cache {
namespace {

/// The policy inside counts batches from its own first one.
class Steered final : public Policy {
 public:
  Steered(const PolicyContext& context, const PolicySettings& settings, const Steer& first, Helm* helm)
      : context_(context), settings_(settings), now_(first), helm_(helm) {
    if (settings_.score_period == 0) {
      settings_.score_period = std::numeric_limits<std::uint32_t>::max();
    }
    inner_ = make_inner();
  }
  Steered(const Steered& other)
      : context_(other.context_),
        settings_(other.settings_),
        now_(other.now_),
        helm_(other.helm_),
        inner_(other.inner_->clone()),
        base_(other.base_),
        known_(other.known_) {}

  [[nodiscard]] std::unique_ptr<Policy> clone() const override { return std::make_unique<Steered>(*this); }
  [[nodiscard]] std::unique_ptr<Policy> clone_for(Helm* helm) const {
    auto copy = std::make_unique<Steered>(*this);
    copy->helm_ = helm;
    return copy;
  }

  void start(Residency& buffer) override {
    if (now_.slots < buffer.capacity()) {
      buffer.set_capacity(now_.slots);
    }
    inner_->start(buffer);
  }

  [[nodiscard]] bool wants_more() const override { return inner_->wants_more(); }

  void reveal(StepId step, std::span<const NodeId> rows) override {
    inner_->reveal(step - base_, rows);
    known_.emplace_back(rows.begin(), rows.end());
  }

  void prepare(StepId step, Residency& buffer) override {
    if (const std::optional<Steer> steer = helm_->before(step)) {
      change(*steer, step, buffer);
    }
  }

  void serve(const Request& request, Residency& buffer) override {
    inner_->serve({request.step - base_, request.rows, request.slots}, buffer);
    known_.pop_front();
  }

 private:
  [[nodiscard]] std::unique_ptr<Policy> make_inner() const {
    const Result<const PolicyInfo*> info = find_policy(now_.policy);
    RUDDER_CHECK(info.ok(), "a steer must have been checked");
    PolicyContext context = context_;
    context.capacity = now_.slots;
    context.steps = context_.steps == 0 ? 0 : context_.steps - base_;
    PolicySettings settings = settings_;
    settings.max_lookahead = now_.lookahead;
    return info.value()->make(context, settings);
  }

  void change(const Steer& steer, StepId step, Residency& buffer) {
    const bool kept = steer.policy == now_.policy && steer.lookahead == now_.lookahead;
    const bool resized = kept && steer.slots != now_.slots && inner_->resize(steer.slots);
    const bool anew = !resized && !(kept && steer.slots == now_.slots);
    now_ = steer;
    if (resized) {
      buffer.set_capacity(now_.slots);
    }
    if (anew) {
      base_ = step;
      inner_ = make_inner();
      buffer.set_capacity(now_.slots);
      inner_->adopt(buffer);
      for (std::size_t i = 0; i < known_.size(); ++i) {
        inner_->reveal(i, known_[i]);
      }
    }
    if (steer.replace) {
      inner_->replace_once();
    }
  }

  PolicyContext context_;
  PolicySettings settings_;
  Steer now_;
  Helm* helm_;
  std::unique_ptr<Policy> inner_;
  StepId base_ = 0;                        ///< the inner policy's batch 0
  std::deque<std::vector<NodeId>> known_;  ///< revealed and not served
};

}  // namespace

Status check_steer(const Steer& steer, const Steer& from, const PolicyContext& context) {
  RUDDER_ASSIGN(const PolicyInfo* const info, find_policy(steer.policy));
  if (!info->live) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("policy '{}' needs the whole trace and cannot run live", steer.policy)};
  }
  const bool same =
      steer.policy == from.policy && steer.slots == from.slots && steer.lookahead == from.lookahead;
  if (!same && !info->adopts) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("policy '{}' cannot take over a buffer in the middle of a run", steer.policy)};
  }
  if (steer.slots > context.capacity) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} slots, but the buffer was made with {}", steer.slots, context.capacity)};
  }
  return {};
}

std::unique_ptr<Policy> clone_steered(const Policy& steered, Helm* helm) {
  const auto* const policy = dynamic_cast<const Steered*>(&steered);
  RUDDER_CHECK(policy != nullptr && helm != nullptr, "only a steered policy has a helm, and needs one");
  return policy->clone_for(helm);
}

std::unique_ptr<Policy> make_steered(const PolicyContext& context, const PolicySettings& settings,
                                     const Steer& first, Helm* helm) {
  RUDDER_CHECK(helm != nullptr, "a steered policy needs a helm");
  return std::make_unique<Steered>(context, settings, first, helm);
}

}  // namespace rudder::cache
