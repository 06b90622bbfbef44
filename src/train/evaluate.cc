// SPDX-License-Identifier: Apache-2.0
#include "train/evaluate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "rudder/core/aligned.h"

#include "train/neighborhood.h"
#include "train/score.h"

namespace rudder::train {
namespace {

/// Rows of the owned nodes that other ranks may pull, for as long as the object lives.
class PublishedRows {
 public:
  PublishedRows(dataplane::Plane& plane, std::uint8_t table, std::vector<float> rows, std::size_t width)
      : plane_(plane), table_(table), rows_(std::move(rows)) {
    plane_.publish(table_, std::as_bytes(std::span(rows_)), width * sizeof(float));
  }
  PublishedRows(const PublishedRows&) = delete;
  PublishedRows& operator=(const PublishedRows&) = delete;
  ~PublishedRows() { plane_.withdraw(table_); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(rows_)); }

 private:
  dataplane::Plane& plane_;
  std::uint8_t table_;
  std::vector<float> rows_;
};

/// The inputs of one layer: owned rows here, remote rows behind `table`.
struct LayerInputs {
  std::uint8_t table = 0;
  DType dtype = DType::kF32;
  DType wire = DType::kF32;  ///< of remote rows
  std::size_t width = 0;
  std::span<const std::byte> owned;
  NodeId begin = 0;

  [[nodiscard]] std::size_t row_bytes() const { return width * size_of(dtype); }
  [[nodiscard]] std::size_t wire_bytes() const { return width * size_of(wire); }
  void copy_owned(std::span<const NodeId> nodes, float* to) const {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::byte* row = owned.data() + static_cast<std::size_t>(nodes[i] - begin) * row_bytes();
      widen_to_f32(dtype, row, width, to + i * width);
    }
  }
};

/// Rows of `around`'s nodes into x.
Status collect(const LayerInputs& inputs, const Neighborhood& around, dataplane::Plane& plane,
               AlignedBytes& staging, std::vector<float>& x) {
  x.resize(around.nodes.size() * inputs.width);
  const std::span<const NodeId> nodes = around.nodes;
  float* remote_rows = x.data() + around.destinations * inputs.width;
  float* rest = remote_rows + around.remote * inputs.width;
  std::shared_ptr<dataplane::Ticket> ticket;
  if (around.remote > 0) {
    staging.ensure(around.remote * inputs.wire_bytes());
    ticket = plane.pull(inputs.table, around.remote_nodes(), inputs.wire_bytes(), staging.data());
  }
  inputs.copy_owned(nodes.first(around.destinations), x.data());
  inputs.copy_owned(nodes.subspan(around.destinations + around.remote), rest);
  if (ticket) {
    RUDDER_TRY(plane.wait(ticket));
    widen_to_f32(inputs.wire, staging.data(), around.remote * inputs.width, remote_rows);
  }
  return {};
}

class Evaluation {
 public:
  Evaluation(const graph::PartitionedGraph& graph, const graph::Part& part, dataplane::Plane& plane,
             Learner& learner, const StructureAccess& structure, const EvaluationOptions& options)
      : meta_(graph.meta()),
        part_(part),
        plane_(plane),
        learner_(learner),
        structure_(structure),
        options_(options),
        builder_(graph.slice(part.id()), graph.meta().nodes) {}

  /// Layer k for `destinations`, one row of outputs each.
  Result<std::vector<float>> layer(std::size_t k, const LayerInputs& inputs,
                                   std::span<const NodeId> destinations) {
    const std::size_t outputs = learner_.outputs(k);
    std::vector<float> out(destinations.size() * outputs);
    Neighborhood around;
    std::vector<float> x;
    std::vector<float> degrees;
    AlignedBytes staging;
    for (std::size_t done = 0; done < destinations.size();) {
      const std::size_t taken =
          builder_.build(destinations.subspan(done), options_.chunk_floats / inputs.width, around);
      RUDDER_TRY(collect(inputs, around, plane_, staging, x));
      if (learner_.needs_degrees()) {
        structure_.degrees(around.nodes, degrees);
      }
      RUDDER_TRY(learner_.infer_layer(k, around.mfg, degrees, x,
                                      std::span(out).subspan(done * outputs, taken * outputs)));
      done += taken;
    }
    return out;
  }

  /// Judges the nodes of `split`; outputs[i] belongs to nodes[i], which holds the split's nodes.
  [[nodiscard]] Score judge(std::span<const NodeId> split, std::span<const NodeId> nodes,
                            std::span<const float> outputs) const {
    const std::size_t classes = learner_.outputs(learner_.layers() - 1);
    Score score;
    for (const NodeId v : split) {
      const auto i = static_cast<std::size_t>(std::ranges::lower_bound(nodes, v) - nodes.begin());
      const auto row = outputs.subspan(i * classes, classes);
      const auto own = static_cast<std::size_t>(v - part_.begin());
      if (meta_.multi_label) {
        score.add_classes(row, part_.label_rows().subspan(own * classes, classes));
      } else {
        score.add_class(row, part_.labels()[own]);
      }
    }
    return score;
  }

 private:
  const graph::GraphMeta& meta_;
  const graph::Part& part_;
  dataplane::Plane& plane_;
  Learner& learner_;
  const StructureAccess& structure_;
  EvaluationOptions options_;
  NeighborhoodBuilder builder_;
};

}  // namespace

Result<Accuracy> evaluate(const graph::PartitionedGraph& graph, const graph::Part& part,
                          dataplane::Plane& plane, Collective& collective, Learner& learner,
                          const StructureAccess& structure, const EvaluationOptions& options) {
  Evaluation evaluation(graph, part, plane, learner, structure, options);
  std::vector<NodeId> owned(static_cast<std::size_t>(part.size()));
  std::iota(owned.begin(), owned.end(), part.begin());
  std::vector<NodeId> judged;
  std::ranges::set_union(graph.val(part.id()), graph.test(part.id()), std::back_inserter(judged));

  LayerInputs inputs{
      0, graph.meta().dtype, plane.wire_type(), graph.meta().features, part.features(), part.begin()};
  std::unique_ptr<PublishedRows> published;
  std::vector<float> outputs;
  for (std::size_t k = 0; k < learner.layers(); ++k) {
    const bool last = k + 1 == learner.layers();
    RUDDER_ASSIGN(outputs, evaluation.layer(k, inputs, last ? judged : owned));
    if (!last) {
      const std::size_t width = learner.outputs(k);
      const auto table = narrow<std::uint8_t>(k + 1);
      auto next = std::make_unique<PublishedRows>(plane, table, std::exchange(outputs, {}), width);
      // Everybody has published this layer's rows, and needs the layer before no more.
      RUDDER_TRY(collective.barrier());
      published = std::move(next);
      inputs = {table, DType::kF32, DType::kF32, width, published->bytes(), part.begin()};
    }
  }
  const Score val = evaluation.judge(graph.val(part.id()), judged, outputs);
  const Score test = evaluation.judge(graph.test(part.id()), judged, outputs);
  std::array<std::uint64_t, 4> counts = {val.part, val.whole, test.part, test.whole};
  // Also the sign that nobody pulls any more.
  RUDDER_TRY(collective.sum(std::span<std::uint64_t>(counts)));
  return Accuracy{Score{counts[0], counts[1]}.share(), Score{counts[2], counts[3]}.share(), counts[1] > 0};
}

}  // namespace rudder::train
