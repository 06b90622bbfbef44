// SPDX-License-Identifier: Apache-2.0
// A memory that holds a list and hands out its front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rudder/steer/memory.h"

namespace rudder::steer::testing_support {

/// nearest() is the first k, whatever the features.
class ListedMemory final : public Memory {
 public:
  explicit ListedMemory(std::vector<Experience> list) : list_(std::move(list)) {}

  Status add(const Experience& experience) override {
    list_.push_back(experience);
    return {};
  }
  Result<std::vector<Experience>> nearest(const ActionSet& /*actions*/, const Features& /*features*/,
                                          std::size_t k, const std::string& /*except_run*/) const override {
    if (before) {
      before();
    }
    if (error) {
      return *error;
    }
    return std::vector<Experience>(list_.begin(),
                                   list_.begin() + static_cast<std::ptrdiff_t>(std::min(k, list_.size())));
  }
  Result<std::vector<Experience>> all(const ActionSet& /*actions*/,
                                      const std::string& /*graph*/) const override {
    return list_;
  }

  std::optional<Error> error;    ///< of nearest()
  std::function<void()> before;  ///< called first by nearest()

 private:
  std::vector<Experience> list_;
};

}  // namespace rudder::steer::testing_support
