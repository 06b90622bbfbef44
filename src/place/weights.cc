// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/weights.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace rudder::place {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

Error wrong(std::string message) {
  return {Errc::kInvalidArgument, std::move(message)};
}

double loss(double worst, double measured_spread, std::int32_t spread) {
  return worst * std::min(1.0, (spread - 1) / (measured_spread - 1));
}

double seconds(double bytes, double bandwidth, double lost) {
  return bytes / (bandwidth * (1 - lost));
}

/// Collectives of a step in units of the DP volume: a reduction of gradients, and what ZeRO gathers.
double dp_bytes_per_step(const ModelShape& model, double elements) {
  const double gradients = elements * model.gradient_bytes;
  const double weights = elements * model.weight_bytes;
  switch (model.zero_stage) {
    case 0:
      return 2 * gradients;  // all-reduce: reduce-scatter and all-gather of gradients
    case 3:
      return gradients + 2 * weights;  // weights are gathered for the forward and for the backward pass
    default:
      return gradients + weights;  // reduce-scatter of gradients, all-gather of updated weights
  }
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

/// Standard deviation over the entries; 1 when they do not differ, so that they do not count.
double deviation(std::span<const double> values) {
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) {
    squares += (value - middle) * (value - middle);
  }
  const double result = std::sqrt(squares / static_cast<double>(values.size()));
  return result > 0 ? result : 1;
}

}  // namespace

Result<Volumes> volumes(const ModelShape& model, std::int32_t tp, std::int32_t pp, std::int32_t dp) {
  const std::int64_t sizes[] = {model.layers,
                                model.hidden,
                                model.vocabulary,
                                model.sequence,
                                model.micro_batch,
                                model.global_batch,
                                model.weight_bytes,
                                model.gradient_bytes,
                                model.activation_bytes,
                                tp,
                                pp,
                                dp};
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > kMaxSize) {
      return wrong(fmt::format("a size of the model or job is {}; all are between 1 and {}", size, kMaxSize));
    }
  }
  if (model.zero_stage < 0 || model.zero_stage > 3) {
    return wrong(fmt::format("ZeRO stage {}; 0 to 3", model.zero_stage));
  }
  if (model.parameters < 0) {
    return wrong(fmt::format("{} parameters", model.parameters));
  }
  if (model.layers % pp != 0) {
    return wrong(fmt::format("PP {} does not divide {} layers", pp, model.layers));
  }
  if (model.global_batch / model.micro_batch < dp || model.global_batch % (model.micro_batch * dp) != 0) {
    return wrong(fmt::format("micro-batch {} x DP {} does not divide the global batch {}", model.micro_batch,
                             dp, model.global_batch));
  }
  const auto h = static_cast<double>(model.hidden);
  const auto s = static_cast<double>(model.sequence);
  const double embedding = h * (static_cast<double>(model.vocabulary) + s);
  const double block = 4 * h * h + 2 * h + 8 * h * h + 7 * h;
  const double blocks = model.parameters > 0
                            ? std::max(0.0, static_cast<double>(model.parameters) - embedding)
                            : static_cast<double>(model.layers) * block;
  Volumes result;
  result.dp_elements = (embedding + blocks / pp) / tp;
  result.pp_elements = 2 * static_cast<double>(model.micro_batch) * s * h / tp;
  result.dp_bytes = result.dp_elements * model.weight_bytes;
  result.pp_bytes = result.pp_elements * model.activation_bytes;
  result.micro_batches = static_cast<double>(model.global_batch / (model.micro_batch * dp));
  result.dp_bytes_per_step = dp > 1 ? dp_bytes_per_step(model, result.dp_elements) : 0;
  result.pp_bytes_per_step = pp > 1 ? result.pp_bytes * result.micro_batches : 0;
  return result;
}

Status validate(const PhysicalCost& cost) {
  const auto finite = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!finite(cost.dp_bytes) || !finite(cost.pp_bytes)) {
    return wrong(fmt::format("volumes of {} and {} bytes", cost.dp_bytes, cost.pp_bytes));
  }
  if (!std::isfinite(cost.bandwidth) || cost.bandwidth <= 0) {
    return wrong(fmt::format("a bandwidth of {} bytes per second", cost.bandwidth));
  }
  if (!finite(cost.dp_loss) || !finite(cost.pp_loss) || cost.dp_loss >= 1 || cost.pp_loss >= 1) {
    return wrong(fmt::format("losses {} and {}; at least 0 and below 1", cost.dp_loss, cost.pp_loss));
  }
  if (!std::isfinite(cost.measured_spread) || cost.measured_spread <= 1) {
    return wrong(fmt::format("losses measured at a spread of {}; it must exceed 1", cost.measured_spread));
  }
  if (!finite(cost.dp_exposed) || !finite(cost.pp_exposed) || cost.dp_exposed > 1 || cost.pp_exposed > 1) {
    return wrong(fmt::format("exposed shares {} and {}; 0 to 1", cost.dp_exposed, cost.pp_exposed));
  }
  return {};
}

double predicted_seconds(const PhysicalCost& cost, Spread spread) {
  return cost.dp_exposed *
             seconds(cost.dp_bytes, cost.bandwidth, loss(cost.dp_loss, cost.measured_spread, spread.Q)) +
         cost.pp_exposed *
             seconds(cost.pp_bytes, cost.bandwidth, loss(cost.pp_loss, cost.measured_spread, spread.S));
}

double alpha_of(const PhysicalCost& cost) {
  const double dp = cost.dp_exposed * (seconds(cost.dp_bytes, cost.bandwidth, cost.dp_loss) -
                                       seconds(cost.dp_bytes, cost.bandwidth, 0));
  const double pp = cost.pp_exposed * (seconds(cost.pp_bytes, cost.bandwidth, cost.pp_loss) -
                                       seconds(cost.pp_bytes, cost.bandwidth, 0));
  return dp + pp > 0 ? dp / (dp + pp) : 0.5;
}

Result<double> alpha_of(const MeasuredTimes& times) {
  for (const double time : {times.dp_aligned, times.dp_spread, times.pp_aligned, times.pp_spread}) {
    if (!std::isfinite(time) || time < 0) {
      return wrong(fmt::format("a measured time of {} s", time));
    }
  }
  // Noise may make an aligned run the slower one: then spreading costs nothing.
  const double dp = std::max(0.0, times.dp_spread - times.dp_aligned);
  const double pp = std::max(0.0, times.pp_spread - times.pp_aligned);
  return dp + pp > 0 ? dp / (dp + pp) : 0.5;
}

Result<double> alpha_from_database(std::span<const Characterised> entries, const std::string& gpu,
                                   double ratio_compute, double ratio_groups, RatioScale scale) {
  std::vector<Characterised> own;
  std::copy_if(entries.begin(), entries.end(), std::back_inserter(own),
               [&](const Characterised& entry) { return entry.gpu == gpu; });
  if (own.empty()) {
    return Error{Errc::kNotFound, fmt::format("no characterised job on GPU type '{}'", gpu)};
  }
  std::vector<double> compute;
  std::vector<double> groups;
  for (const Characterised& entry : own) {
    const bool gains = std::isfinite(entry.dp_gain) && std::isfinite(entry.pp_gain) && entry.dp_gain >= 0 &&
                       entry.pp_gain >= 0 && entry.dp_gain + entry.pp_gain > 0;
    if (!gains || !std::isfinite(entry.ratio_compute) || !std::isfinite(entry.ratio_groups)) {
      return wrong(fmt::format("a characterised job on {} has ratios {}, {} and gains {}, {}", gpu,
                               entry.ratio_compute, entry.ratio_groups, entry.dp_gain, entry.pp_gain));
    }
    compute.push_back(entry.ratio_compute);
    groups.push_back(entry.ratio_groups);
  }
  if (!std::isfinite(ratio_compute) || !std::isfinite(ratio_groups)) {
    return wrong(fmt::format("ratios {} and {} of the job", ratio_compute, ratio_groups));
  }
  const bool raw = scale == RatioScale::kRaw;
  const double compute_unit = raw ? 1 : deviation(compute);
  const double groups_unit = raw ? 1 : deviation(groups);
  const auto distance = [&](const Characterised& entry) {
    return std::hypot((entry.ratio_compute - ratio_compute) / compute_unit,
                      (entry.ratio_groups - ratio_groups) / groups_unit);
  };
  const auto nearest = std::min_element(
      own.begin(), own.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return nearest->dp_gain / (nearest->dp_gain + nearest->pp_gain);
}

Result<std::vector<Advice>> advise(const ModelShape& model, std::span<const std::int32_t> capacities,
                                   const AdviseOptions& options) {
  if (options.gpus < 1 || options.gpus_per_node < 1) {
    return wrong(fmt::format("{} GPUs on nodes of {}", options.gpus, options.gpus_per_node));
  }
  RUDDER_TRY(validate(options.link));
  std::vector<Advice> result;
  for (std::int32_t tp = 1; tp <= std::min(options.gpus_per_node, options.gpus); ++tp) {
    for (std::int32_t pp = 1; options.gpus % tp == 0 && pp <= options.gpus / tp; ++pp) {
      const JobShape shape{
          .gpus_per_node = options.gpus_per_node, .tp = tp, .pp = pp, .dp = options.gpus / tp / pp};
      if (options.gpus % (tp * pp) != 0 || model.hidden % tp != 0) {
        continue;
      }
      const Result<Grid> grid = grid_of(shape);
      const Result<Volumes> moved = volumes(model, tp, pp, shape.dp);
      if (!grid.ok() || !moved.ok()) {
        continue;
      }
      Result<Frontier> frontier = solve_frontier(capacities, *grid, options.limits);
      if (!frontier.ok()) {
        if (frontier.error().code == Errc::kResource) {
          continue;
        }
        return frontier.error();
      }
      PhysicalCost link = options.link;
      link.dp_bytes = moved->dp_bytes_per_step;
      link.pp_bytes = moved->pp_bytes_per_step;
      Advice advice{shape, *grid, *moved, alpha_of(link), std::move(*frontier), {}, 0, 0, 0};
      advice.best = advice.frontier.best(advice.alpha).spread;
      advice.J = advice.alpha * advice.best.Q + (1 - advice.alpha) * advice.best.S;
      advice.J_lb = advice.frontier.lower_bound(advice.alpha);
      advice.predicted_seconds = predicted_seconds(link, advice.best);
      result.push_back(std::move(advice));
    }
  }
  if (result.empty()) {
    return Error{Errc::kResource,
                 fmt::format("no split of {} GPUs fits the model and the minipods", options.gpus)};
  }
  std::stable_sort(result.begin(), result.end(), [](const Advice& a, const Advice& b) {
    return a.predicted_seconds < b.predicted_seconds;
  });
  return result;
}

}  // namespace rudder::place
