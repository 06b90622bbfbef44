// SPDX-License-Identifier: Apache-2.0
#include "rudder/cache/policy.h"

namespace rudder::cache {
namespace {

class None final : public Cloneable<None> {
 public:
  void serve(const Request& /*request*/, Residency& /*buffer*/) override {}
};

}  // namespace

PolicyInfo none_policy() {
  return {.name = "none",
          .help = "keeps nothing; each batch is sampled, fetched and gathered only when it is asked for",
          .overlapped = false,
          .make = [](const PolicyContext&, const PolicySettings&) -> std::unique_ptr<Policy> {
            return std::make_unique<None>();
          }};
}

}  // namespace rudder::cache
