// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "rudder/cache/policy.h"

#include "cache/policies/row_counts.h"
#include "cache/top_rows.h"

namespace rudder::cache {
namespace {

/// The best buffer that never changes, in hindsight: the rows of the highest counts over the whole run,
/// placed before it begins. The fill fetches a row once and saves each of its `count` misses, so only rows
/// with at least two are worth it, and by descending count no other choice fetches less.
class OracleStatic final : public Cloneable<OracleStatic> {
 public:
  void start(Residency& buffer) override {
    started_ = true;
    fill(buffer, counts_.top(buffer.capacity(), 2));
    counts_ = RowCounts();
  }
  [[nodiscard]] bool wants_more() const override { return !started_; }
  void reveal(StepId /*step*/, std::span<const NodeId> rows) override {
    if (!started_) {
      counts_.add(rows);
    }
  }
  void serve(const Request& /*request*/, Residency& /*buffer*/) override {}

 private:
  RowCounts counts_;
  bool started_ = false;
};

}  // namespace

PolicyInfo oracle_static_policy() {
  PolicyInfo info;
  info.name = "oracle-static";
  info.help = "the best buffer that never changes, chosen in hindsight";
  info.live = false;
  info.make = [](const PolicyContext&, const PolicySettings&) -> std::unique_ptr<Policy> {
    return std::make_unique<OracleStatic>();
  };
  return info;
}

}  // namespace rudder::cache
