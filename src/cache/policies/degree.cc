// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/policy.h"

#include "cache/top_rows.h"

namespace rudder::cache {
namespace {

class Degree final : public Cloneable<Degree> {
 public:
  explicit Degree(const PolicyContext& context) : context_(context) {}

  void start(Residency& buffer) override {
    std::vector<Scored<EdgeIndex>> candidates;
    candidates.reserve(context_.halo.size());
    for (const NodeId row : context_.halo) {
      candidates.push_back({degree_of(context_, row), row});
    }
    fill(buffer, top_rows(std::move(candidates), buffer.capacity()));
  }
  void serve(const Request& /*request*/, Residency& /*buffer*/) override {}

 private:
  PolicyContext context_;
};

}  // namespace

PolicyInfo degree_policy() {
  return {.name = "degree",
          .help = "static: the halo nodes of highest degree",
          .needs_degrees = true,
          .make = [](const PolicyContext& context, const PolicySettings&) -> std::unique_ptr<Policy> {
            return std::make_unique<Degree>(context);
          }};
}

}  // namespace rudder::cache
