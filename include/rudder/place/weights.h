// SPDX-License-Identifier: Apache-2.0
// How much the data-parallel side weighs: from a model's shape, from measured times, from characterised jobs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/place/placement.h"
#include "rudder/place/plan.h"

namespace rudder::place {

/// A transformer as the volumes see it.
struct ModelShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::int64_t sequence = 0;
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 1;      ///< sequences a step
  std::int32_t weight_bytes = 2;      ///< of a parameter as it is gathered
  std::int32_t gradient_bytes = 2;    ///< of a gradient as it is reduced
  std::int32_t activation_bytes = 2;  ///< of an activation between stages
  std::int32_t zero_stage = 1;        ///< 0 to 3
  std::int64_t parameters = 0;        ///< of the whole model; 0: dense, from the formula (MoE: say it)
};

/// Elements and bytes of one GPU's groups (arXiv 2509.15940, appendix C; its "2" is no byte count).
struct Volumes {
  double dp_elements = 0;        ///< h (V + s) + (l / pp) (4 h^2 + 2 h + 8 h^2 + 7 h), over TP
  double pp_elements = 0;        ///< 2 mb s h of one micro-batch, over TP
  double dp_bytes = 0;           ///< dp_elements x precision, one collective
  double pp_bytes = 0;           ///< of one micro-batch
  double micro_batches = 0;      ///< m = gb / (mb dp)
  double dp_bytes_per_step = 0;  ///< gather and reduce-scatter as the ZeRO stage asks
  double pp_bytes_per_step = 0;  ///< of all micro-batches
};

/// The paper counts whole stages; with TP the tensors are cut by it, as `tp` says (1 for the printed
/// formula). Errors (kInvalidArgument): a size that is not positive, layers that PP does not divide, a ZeRO
/// stage outside 0 to 3, a global batch that mb x dp does not divide.
[[nodiscard]] Result<Volumes> volumes(const ModelShape& model, std::int32_t tp, std::int32_t pp,
                                      std::int32_t dp);

/// Predicted seconds of a step's communication: t = volume / (bandwidth (1 - loss(s))), where loss rises
/// linearly from 0 at spread 1 to `loss` at `measured_spread` and stays there.
struct PhysicalCost {
  double dp_bytes = 0;
  double pp_bytes = 0;
  double bandwidth = 0;  ///< bytes per second of a GPU's network interface
  double dp_loss = 0.17;
  double pp_loss = 0.70;
  double measured_spread = 2;  ///< spread at which the losses were measured
  double dp_exposed = 1;       ///< share of the time that computation does not hide
  double pp_exposed = 1;
};

/// Errors (kInvalidArgument): volumes below 0, a bandwidth that is not positive, losses outside [0, 1), a
/// measured spread of at most 1, shares outside 0 to 1.
[[nodiscard]] Status validate(const PhysicalCost& cost);
[[nodiscard]] double predicted_seconds(const PhysicalCost& cost, Spread spread);
/// alpha from what a spread of `measured_spread` costs each side. 0.5 when neither costs anything.
[[nodiscard]] double alpha_of(const PhysicalCost& cost);

/// alpha from the times that a step spends in DP and PP groups, aligned and spread over minipods: each side
/// weighs what spreading costs it. Errors (kInvalidArgument): a negative or infinite time.
struct MeasuredTimes {
  double dp_aligned = 0;
  double dp_spread = 0;
  double pp_aligned = 0;
  double pp_spread = 0;
};
[[nodiscard]] Result<double> alpha_of(const MeasuredTimes& times);

/// One characterised job (section 1.6): speed-ups of aligned placements over unaligned ones.
struct Characterised {
  std::string gpu;
  double ratio_compute = 0;  ///< r1 = mb v_w / (v_d + v_p)
  double ratio_groups = 0;   ///< r2 = v_d / v_p
  double dp_gain = 0;        ///< j_dp
  double pp_gain = 0;        ///< j_pp
};

enum class RatioScale : std::uint8_t { kStandardised, kRaw };

/// alpha = j_dp / (j_dp + j_pp) of the nearest entry of this GPU type by (r1, r2), each standardised over the
/// type's entries unless `scale` says raw; ties go to the first. Errors: kNotFound when the type has no
/// entry; kInvalidArgument for ratios or gains that are not finite or gains that are negative or both 0.
[[nodiscard]] Result<double> alpha_from_database(std::span<const Characterised> entries,
                                                 const std::string& gpu, double ratio_compute,
                                                 double ratio_groups,
                                                 RatioScale scale = RatioScale::kStandardised);

struct Advice {
  JobShape shape;
  Grid grid;
  Volumes volumes;
  double alpha = 0;  ///< of this split
  Frontier frontier;
  Spread best;  ///< for alpha
  double J = 0;
  double J_lb = 0;
  double predicted_seconds = 0;
};

struct AdviseOptions {
  std::int32_t gpus = 0;
  std::int32_t gpus_per_node = 8;
  PhysicalCost link;  ///< volumes are filled in for each split
  SolveLimits limits{.seconds = 0.2};
};

/// Every split TP x PP x DP of the GPUs that the model and the nodes admit (TP divides g and the hidden size,
/// PP divides the layers, mb x DP divides the global batch), each with its frontier on these minipods, least
/// predicted seconds first. Splits for which the minipods are too small are left out; none left is kResource.
[[nodiscard]] Result<std::vector<Advice>> advise(const ModelShape& model,
                                                 std::span<const std::int32_t> capacities,
                                                 const AdviseOptions& options);

}  // namespace rudder::place
