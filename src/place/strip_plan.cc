// SPDX-License-Identifier: Apache-2.0
#include "place/strip_plan.h"

#include <algorithm>
#include <numeric>

#include "rudder/core/check.h"

namespace rudder::place {

StripPlan::StripPlan(const Instance& instance, StripShape shape)
    : instance_(&instance),
      shape_(shape),
      most_in_layer_(std::max(1, shape.pair.S - shape.strips + 1)),
      slot_of_(instance.capacities.size(), kUnused),
      layers_(static_cast<std::size_t>(shape.strips) * static_cast<std::size_t>(shape.layers)),
      strips_(static_cast<std::size_t>(shape.strips)) {}

void StripPlan::spread_evenly(CounterRng& rng) {
  const std::int32_t columns = instance_->grid.columns;
  for (std::int32_t s = 0; s < shape_.strips; ++s) {
    strips_[static_cast<std::size_t>(s)].width =
        columns / shape_.strips + (s < columns % shape_.strips ? 1 : 0);
    update_strip(s);
  }
  for (std::size_t k = 0; k < slot_of_.size(); ++k) {
    const auto slot = static_cast<Slot>(k < layers_.size()
                                            ? k * static_cast<std::size_t>(shape_.layers) % layers_.size() +
                                                  k * static_cast<std::size_t>(shape_.layers) / layers_.size()
                                            : rng.below(layers_.size()));
    if (room(slot)) {
      put(k, slot);
    }
  }
  last_ = Last::kNone;
}

std::int64_t StripPlan::cost() const {
  std::int64_t cost = 0;
  std::int64_t incidences = 0;
  for (const Strip& strip : strips_) {
    cost += strip.missing + strip.shared * std::max(1, instance_->grid.rows / 4);
    incidences += strip.incidences;
  }
  return cost + std::max<std::int64_t>(0, incidences - std::int64_t{shape_.pair.S} * instance_->grid.rows);
}

/// Rows that the minipods fill side by side over `width` columns: by whole columns each, or shared ones.
std::int32_t StripPlan::height(const std::vector<MinipodId>& minipods, std::int32_t width) const {
  std::int64_t total = 0;
  for (const MinipodId k : minipods) {
    total += instance_->capacities[static_cast<std::size_t>(k)];
  }
  auto high = static_cast<std::int32_t>(std::min<std::int64_t>(instance_->grid.rows, total / width));
  if (minipods.size() <= 1 || sharing()) {
    return high;
  }
  std::int32_t low = 0;
  while (low < high) {
    const std::int32_t middle = (low + high + 1) / 2;
    std::int32_t columns = 0;
    for (const MinipodId k : minipods) {
      columns += instance_->capacities[static_cast<std::size_t>(k)] / middle;
    }
    if (columns >= width) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

bool StripPlan::room(Slot slot) const {
  return slot == kUnused ||
         static_cast<std::int32_t>(layers_[static_cast<std::size_t>(slot)].minipods.size()) < most_in_layer_;
}

void StripPlan::put(std::size_t minipod, Slot slot) {
  const Slot from = slot_of_[minipod];
  slot_of_[minipod] = slot;
  if (from != kUnused) {
    std::erase(layers_[static_cast<std::size_t>(from)].minipods, static_cast<MinipodId>(minipod));
    update(from);
  }
  if (slot != kUnused) {
    layers_[static_cast<std::size_t>(slot)].minipods.push_back(static_cast<MinipodId>(minipod));
    update(slot);
  }
}

void StripPlan::update(Slot slot) {
  Layer& layer = layers_[static_cast<std::size_t>(slot)];
  const std::int32_t strip = slot / shape_.layers;
  layer.height = height(layer.minipods, strips_[static_cast<std::size_t>(strip)].width);
  update_strip(strip);
}

void StripPlan::update_strip(std::int32_t s) {
  Strip& strip = strips_[static_cast<std::size_t>(s)];
  const Layer* first = layers_.data() + static_cast<std::size_t>(s) * static_cast<std::size_t>(shape_.layers);
  // Layers of few minipods are used whole; rows beyond R are cut from those of many.
  std::int32_t rows_left = instance_->grid.rows;
  std::int64_t joints = 0;
  strip.incidences = 0;
  for (std::int32_t size = 1; size <= most_in_layer_ && rows_left > 0; ++size) {
    for (const Layer* layer = first; layer < first + shape_.layers; ++layer) {
      if (static_cast<std::int32_t>(layer->minipods.size()) == size && rows_left > 0 && layer->height > 0) {
        const std::int32_t used = std::min(rows_left, layer->height);
        strip.incidences += std::int64_t{size} * used;
        joints += size - 1;
        rows_left -= used;
      }
    }
  }
  strip.missing = std::int64_t{rows_left} * strip.width;
  strip.incidences += rows_left;
  const std::int64_t allowed = std::int64_t{strip.width} * (shape_.pair.Q - shape_.layers);
  strip.shared = sharing() ? std::max<std::int64_t>(0, joints - allowed) : 0;
}

void StripPlan::move(std::size_t minipod, CounterRng& rng) {
  const auto slot = static_cast<Slot>(rng.below(layers_.size() + 1)) - 1;
  last_ = Last::kMoves;
  moved_count_ = 0;
  if (slot != slot_of_[minipod] && room(slot)) {
    moved_[moved_count_++] = {minipod, slot_of_[minipod]};
    put(minipod, slot);
  }
}

void StripPlan::swap(std::size_t a, std::size_t b) {
  last_ = Last::kMoves;
  moved_count_ = 0;
  const Slot slot_a = slot_of_[a];
  const Slot slot_b = slot_of_[b];
  if (slot_a != slot_b) {
    moved_[moved_count_++] = {a, slot_a};
    moved_[moved_count_++] = {b, slot_b};
    put(a, slot_b);
    put(b, slot_a);
  }
}

void StripPlan::shift_border(CounterRng& rng) {
  const auto from = static_cast<std::int32_t>(rng.below(strips_.size()));
  const auto to = static_cast<std::int32_t>(rng.below(strips_.size()));
  const std::int32_t spare = strips_[static_cast<std::size_t>(from)].width - 1;
  // Mostly by one column; wide grids also need larger steps.
  const std::int32_t by = spare > 1 && rng.below(2) == 0
                              ? 1 + static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(
                                        std::min(spare, std::max(1, instance_->grid.columns / 16)))))
                              : 1;
  last_ = Last::kBorder;
  border_by_ = from != to && by <= spare ? by : 0;
  border_ = {from, to};
  strips_[static_cast<std::size_t>(from)].width -= border_by_;
  strips_[static_cast<std::size_t>(to)].width += border_by_;
  for (const std::int32_t strip : border_) {
    for (std::int32_t l = 0; l < shape_.layers && border_by_ != 0; ++l) {
      Layer& layer = layers_[static_cast<std::size_t>(strip * shape_.layers + l)];
      layer.height = height(layer.minipods, strips_[static_cast<std::size_t>(strip)].width);
    }
    update_strip(strip);
  }
}

void StripPlan::undo() {
  RUDDER_CHECK(last_ != Last::kNone, "a move to take back");
  if (last_ == Last::kMoves) {
    for (std::size_t i = moved_count_; i-- > 0;) {
      put(moved_[i].minipod, moved_[i].from);
    }
  } else {
    strips_[static_cast<std::size_t>(border_[0])].width += border_by_;
    strips_[static_cast<std::size_t>(border_[1])].width -= border_by_;
    for (const std::int32_t strip : border_) {
      for (std::int32_t l = 0; l < shape_.layers; ++l) {
        Layer& layer = layers_[static_cast<std::size_t>(strip * shape_.layers + l)];
        layer.height = height(layer.minipods, strips_[static_cast<std::size_t>(strip)].width);
      }
      update_strip(strip);
    }
  }
  last_ = Last::kNone;
}

std::vector<StripLayer> StripPlan::trimmed(std::int32_t strip) const {
  const auto first = static_cast<std::size_t>(strip) * static_cast<std::size_t>(shape_.layers);
  std::vector<StripLayer> used;
  std::int32_t rows_left = instance_->grid.rows;
  for (std::int32_t size = 1; size <= most_in_layer_; ++size) {
    for (std::size_t l = first; l < first + static_cast<std::size_t>(shape_.layers); ++l) {
      const Layer& layer = layers_[l];
      const std::int32_t height = std::min(rows_left, layer.height);
      if (static_cast<std::int32_t>(layer.minipods.size()) == size && height > 0) {
        used.push_back({layer.minipods, height});
        rows_left -= height;
      }
    }
  }
  return used;
}

Cells StripPlan::cells() const {
  StripCells builder(*instance_, sharing());
  for (std::int32_t s = 0; s < shape_.strips; ++s) {
    builder.add(strips_[static_cast<std::size_t>(s)].width, trimmed(s));
  }
  return builder.take();
}

}  // namespace rudder::place
