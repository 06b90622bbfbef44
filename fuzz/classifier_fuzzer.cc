// SPDX-License-Identifier: Apache-2.0
// Trained classifiers: what is accepted answers with shares of one, and comes back from its own text.
#include <algorithm>
#include <numeric>
#include <vector>

#include <nlohmann/json.hpp>

#include "rudder/learn/model.h"

#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rudder::learn::Model;
  rudder::fuzz::Input input(data, size);
  const auto json = nlohmann::json::parse(input.text(), nullptr, false);
  const auto model = Model::from_json(json);
  if (!model.ok()) {
    return 0;
  }
  for (const float value : {0.0F, -1.0F, 64.0F}) {
    const std::vector<float> row(model->columns(), value);
    std::vector<double> shares(model->classes());
    model->probabilities(row, shares);
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    RUDDER_CHECK(sum > 1 - 1e-9 && sum < 1 + 1e-9, "probabilities are shares of one");
    RUDDER_CHECK(*std::min_element(shares.begin(), shares.end()) >= 0, "shares are not negative");
  }
  const auto again = Model::from_json(nlohmann::json::parse(model->to_json().dump()));
  RUDDER_CHECK(again.ok() && again->to_json() == model->to_json(), "models come back");
  return 0;
}
