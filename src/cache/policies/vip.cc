// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/policy.h"

#include "cache/top_rows.h"

namespace rudder::cache {
namespace {

/// The best static set by expectation: expected remote rows a batch are the sum of VIP over remote nodes
/// outside the set (SALIENT++, arXiv 2305.03152).
class Vip final : public Cloneable<Vip> {
 public:
  explicit Vip(const PolicyContext& context) : context_(context) {}

  void start(Residency& buffer) override {
    std::vector<Scored<float>> candidates;
    for (std::size_t i = 0; i < context_.vip.size(); ++i) {
      const auto row = static_cast<NodeId>(i);
      const bool remote = row < context_.owned_begin || row >= context_.owned_end;
      if (remote && context_.vip[i] > 0) {
        candidates.push_back({context_.vip[i], row});
      }
    }
    fill(buffer, top_rows(std::move(candidates), buffer.capacity()));
  }
  void serve(const Request& /*request*/, Residency& /*buffer*/) override {}

 private:
  PolicyContext context_;
};

}  // namespace

PolicyInfo vip_policy() {
  return {.name = "vip",
          .help = "static: the remote nodes most likely to be sampled",
          .needs_vip = true,
          .make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
            return std::make_unique<Vip>(context);
          }};
}

}  // namespace rudder::cache
