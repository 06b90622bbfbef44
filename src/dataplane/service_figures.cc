// SPDX-License-Identifier: Apache-2.0
#include "dataplane/service_figures.h"

namespace rudder::dataplane {

ServiceFigures::ServiceFigures(const PlaneOptions& plane, Rank first, PartId parts) {
  if (plane.figures == nullptr) {
    return;
  }
  const std::string host = std::to_string(plane.rank);
  runs_ = &plane.figures->counter("rudder_served_runs_total", "Runs served to their end", {{"rank", host}});
  for (Rank trainer = first; trainer - first < parts; ++trainer) {
    attached_[trainer] =
        &plane.figures->gauge("rudder_trainer_attached", "1 while the trainer is attached, else 0",
                              {{"rank", host}, {"trainer", std::to_string(trainer)}});
  }
}

void ServiceFigures::set_attached(Rank trainer, double value) noexcept {
  if (const auto found = attached_.find(trainer); found != attached_.end()) {
    found->second->set(value);
  }
}

TrainerFigures::Figures::Figures(metrics::Registry& registry, const std::string& host,
                                 const std::string& policy, const std::string& trainer)
    : requested(registry.counter("rudder_served_rows_requested_total",
                                 "Remote rows that batches of the host asked for, each once a batch",
                                 {{"rank", host}, {"policy", policy}})),
      hit(registry.counter("rudder_served_rows_hit_total", "Remote rows found in the host's buffer",
                           {{"rank", host}, {"policy", policy}})),
      fetched(registry.counter("rudder_served_rows_fetched_total",
                               "Remote rows moved over the network for the host's batches, fills included",
                               {{"rank", host}, {"policy", policy}})),
      bypassed(registry.counter("rudder_served_rows_bypassed_total",
                                "Fetched rows that the host's buffer did not keep",
                                {{"rank", host}, {"policy", policy}})),
      payload_bytes(registry.counter("rudder_served_payload_bytes_total",
                                     "Bytes of rows moved for the host's batches", {{"rank", host}})),
      wire_bytes(registry.counter("rudder_served_wire_bytes_total",
                                  "Bytes of requests and answers moved for the host's batches",
                                  {{"rank", host}})),
      messages(registry.counter("rudder_served_messages_total",
                                "Requests and answers moved for the host's batches", {{"rank", host}})),
      rows(registry.counter("rudder_trainer_rows_total", "Remote rows in the batches given to the trainer",
                            {{"rank", host}, {"trainer", trainer}})),
      batches(registry.counter("rudder_trainer_batches_total", "Batches given to the trainer",
                               {{"rank", host}, {"trainer", trainer}})),
      waited(registry.stopwatch("rudder_trainer_wait_seconds_total",
                                "Time in which the trainer had asked for a batch, and had none",
                                {{"rank", host}, {"trainer", trainer}})),
      waiting(registry.gauge("rudder_trainer_waiting",
                             "1 while the trainer has asked for a batch, and has none",
                             {{"rank", host}, {"trainer", trainer}})),
      ahead(registry.gauge("rudder_trainer_batches_ahead",
                           "Batches given to the trainer beyond those that it asked for",
                           {{"rank", host}, {"trainer", trainer}})) {}

TrainerFigures::TrainerFigures(const PlaneOptions& plane, const std::string& policy, Rank trainer) {
  if (plane.figures != nullptr) {
    figures_.emplace(*plane.figures, std::to_string(plane.rank), policy, std::to_string(trainer));
  }
}

TrainerFigures::~TrainerFigures() {
  const std::lock_guard lock(mutex_);
  asked_ = given_;
  update();
}

void TrainerFigures::asked() noexcept {
  const std::lock_guard lock(mutex_);
  ++asked_;
  update();
}

void TrainerFigures::given(std::size_t rows, const cache::Counts& counts, const Transfer& moved) noexcept {
  if (figures_) {
    figures_->requested.add(counts.requests);
    figures_->hit.add(counts.hits);
    figures_->fetched.add(counts.fetched);
    figures_->bypassed.add(counts.bypassed);
    figures_->payload_bytes.add(moved.payload_bytes);
    figures_->wire_bytes.add(moved.wire_bytes);
    figures_->messages.add(moved.messages);
    figures_->rows.add(rows);
    figures_->batches.add();
  }
  const std::lock_guard lock(mutex_);
  ++given_;
  holding_ = true;
  update();
}

void TrainerFigures::released() noexcept {
  const std::lock_guard lock(mutex_);
  holding_ = false;
  update();
}

void TrainerFigures::update() noexcept {
  if (!figures_) {
    return;
  }
  const bool waits = asked_ > given_ && !holding_;
  if (waits) {
    figures_->waited.start();
  } else {
    figures_->waited.stop();
  }
  figures_->waiting.set(waits ? 1 : 0);
  figures_->ahead.set(static_cast<double>(given_) - static_cast<double>(asked_));
}

}  // namespace rudder::dataplane
