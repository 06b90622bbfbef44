// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include <fmt/format.h>

#include "rudder/cache/policy.h"
#include "rudder/core/check.h"
#include "rudder/core/rng.h"
#include "rudder/core/text.h"

// One line a policy, in the order of the documentation. NAME stands for `PolicyInfo NAME_policy()`, which
// policies/NAME.cc defines.
#define RUDDER_POLICIES(POLICY) \
  POLICY(none)                  \
  POLICY(fixed_window)          \
  POLICY(degree)                \
  POLICY(vip)                   \
  POLICY(lru)                   \
  POLICY(lfu)                   \
  POLICY(clock)                 \
  POLICY(sieve)                 \
  POLICY(s3fifo)                \
  POLICY(score)                 \
  POLICY(hotset)                \
  POLICY(lookahead)             \
  POLICY(oracle_static)         \
  POLICY(min)

namespace rudder::cache {

#define RUDDER_DECLARE(NAME) PolicyInfo NAME##_policy();
RUDDER_POLICIES(RUDDER_DECLARE)
#undef RUDDER_DECLARE

void Policy::start(Residency& /*buffer*/) {}
bool Policy::wants_more() const {
  return false;
}
void Policy::reveal(StepId /*step*/, std::span<const NodeId> /*rows*/) {}
void Policy::prepare(StepId /*step*/, Residency& /*buffer*/) {}
void Policy::adopt(const Residency& /*buffer*/) {
  RUDDER_CHECK(false, "this policy cannot take over a buffer");
}
bool Policy::resize(SlotId /*slots*/) {
  return false;
}
void Policy::replace_once() {}

std::uint64_t policy_seed(std::uint64_t run_seed, NodeId owned_begin) noexcept {
  return stream_key({run_seed, static_cast<std::uint64_t>(owned_begin)});
}

std::span<const PolicyInfo> policy_table() {
#define RUDDER_ENTRY(NAME) NAME##_policy(),
  static const std::array table{RUDDER_POLICIES(RUDDER_ENTRY)};
#undef RUDDER_ENTRY
  return table;
}

Result<const PolicyInfo*> find_policy(std::string_view name) {
  std::vector<std::string_view> names;
  std::string known;
  for (const PolicyInfo& info : policy_table()) {
    if (info.name == name) {
      return &info;
    }
    names.push_back(info.name);
    known += known.empty() ? "" : ", ";
    known += info.name;
  }
  const std::string near = nearest_name(name, names);
  const std::string hint =
      near.empty() ? fmt::format("known: {}", known) : fmt::format("did you mean '{}'?", near);
  return Error{Errc::kInvalidArgument, fmt::format("unknown policy '{}' ({})", name, hint)};
}

}  // namespace rudder::cache
