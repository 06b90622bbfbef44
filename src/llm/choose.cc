// SPDX-License-Identifier: Apache-2.0
#include "llm/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rudder::llm {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::int32_t drawn(std::span<const float> logits, double largest, double temperature, double unit) {
  const auto weight = [&](float logit) { return std::exp((double{logit} - largest) / temperature); };
  double sum = 0;
  for (const float logit : logits) {
    sum += weight(logit);
  }
  double left = unit * sum;
  std::int32_t last = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double share = weight(logits[i]);
    if (share > 0) {
      last = static_cast<std::int32_t>(i);
      if (left < share) {
        return last;
      }
      left -= share;
    }
  }
  return last;  // rounding left a little over
}

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  const double largest{logits.empty() ? kNever : *std::ranges::max_element(logits)};
  if (!std::isfinite(largest)) {
    return largest;
  }
  return largest +
         std::log(std::transform_reduce(logits.begin(), logits.end(), 0.0, std::plus<>(),
                                        [&](float logit) { return std::exp(double{logit} - largest); }));
}

std::optional<Draw> draw_token(std::span<const float> logits, double temperature, double unit,
                               std::size_t choices) {
  Draw draw;
  draw.log_sum = log_sum_exp(logits);
  if (!std::isfinite(draw.log_sum)) {
    return std::nullopt;
  }
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > kNever) {
      order.push_back(static_cast<std::int32_t>(i));
    }
  }
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  const auto kept = std::min(choices, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
      [&](std::int32_t a, std::int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  order.resize(kept);
  const auto first = std::ranges::max_element(logits);
  draw.token = temperature > 0 ? drawn(logits, double{*first}, temperature, unit)
                               : static_cast<std::int32_t>(first - logits.begin());
  if (!order.empty() && std::ranges::find(order, draw.token) == order.end()) {
    order.back() = draw.token;
  }
  for (const std::int32_t token : order) {
    draw.best.push_back({token, std::exp(double{logit(token)} - draw.log_sum)});
  }
  return draw;
}

}  // namespace rudder::llm
