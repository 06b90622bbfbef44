// SPDX-License-Identifier: Apache-2.0
#include "dataplane/host_buffer.h"

#include <utility>

#include "dataplane/host_buffer_impl.h"
#include "dataplane/host_planner.h"
#include "dataplane/row_store.h"

namespace rudder::dataplane {

/// One trainer's end.
class HostBuffer::Supply final : public RowSupply {
 public:
  Supply(std::shared_ptr<Impl> buffer, std::size_t trainer) : buffer_(std::move(buffer)), trainer_(trainer) {}
  ~Supply() override { buffer_->leave(trainer_); }

  [[nodiscard]] Status offer(std::vector<NodeId> rows) override {
    return buffer_->offer(trainer_, std::move(rows));
  }
  void ask() override { buffer_->ask(trainer_); }
  [[nodiscard]] Result<PlacedRows> take() override { return buffer_->take(trainer_); }
  void release() override { buffer_->release(trainer_); }
  void stop() override { buffer_->stop(trainer_); }
  [[nodiscard]] std::string waiting_for() const override { return buffer_->waiting_for(); }
  [[nodiscard]] const SupplyTerms& terms() const override { return buffer_->terms(); }

 private:
  std::shared_ptr<Impl> buffer_;
  std::size_t trainer_;
};

HostBuffer::HostBuffer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostBuffer::~HostBuffer() = default;

Result<std::unique_ptr<HostBuffer>> HostBuffer::create(const graph::PartitionedGraph& graph,
                                                       std::span<const PartId> parts, Plane& plane,
                                                       const RunShape& run, const BufferOptions& options,
                                                       std::unique_ptr<RowMemory> memory) {
  RUDDER_ASSIGN(const bool ahead, works_ahead(options));
  const SupplyTerms terms{
      .policy = options.policy,
      .ahead = ahead,
      .depth = options.depth,
      .slots = options.slots,
      .first_part = parts.front(),
      .parts = narrow<PartId>(parts.size()),
      .narrowed = plane.wire_type() == graph.meta().dtype ? std::nullopt : std::optional(plane.wire_type())};
  const std::size_t row_bytes = graph.meta().features * size_of(plane.wire_type());
  RUDDER_ASSIGN(auto store, RowStore::create(plane, row_bytes, options.slots, *memory));
  RUDDER_ASSIGN(auto planner, HostPlanner::create(graph, parts, run, options, horizon_of(terms)));
  auto impl = std::make_shared<Impl>(run.steps, terms, BufferFigures(plane.options(), options.slots),
                                     options.steersman, std::move(memory), std::move(store));
  impl->start(std::move(planner));
  return std::unique_ptr<HostBuffer>(new HostBuffer(std::move(impl)));
}

std::unique_ptr<RowSupply> HostBuffer::supply(std::size_t i) {
  return std::make_unique<Supply>(impl_, i);
}

void HostBuffer::fail(const Error& error) {
  impl_->fail(error);
}

std::optional<Error> HostBuffer::failure() const {
  return impl_->failure();
}

}  // namespace rudder::dataplane
