// SPDX-License-Identifier: Apache-2.0
// The state that strip annealing moves through: who stands in which layer of which strip, and what it costs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "rudder/core/rng.h"

#include "place/instance.h"
#include "place/strip_cells.h"

namespace rudder::place {

struct StripShape {
  Spread pair;
  std::int32_t strips = 1;
  std::int32_t layers = 1;  ///< of each strip; below pair.Q, minipods of a layer may share columns
};

class StripPlan {
 public:
  StripPlan(const Instance& instance, StripShape shape);

  /// Near-equal strips; the largest minipods one a layer, the others anywhere.
  void spread_evenly(CounterRng& rng);

  /// Cells that no layer covers, plus rows' incidences above S R, plus shared columns above what Q leaves.
  [[nodiscard]] std::int64_t cost() const;

  // Each move can be taken back once.
  void move(std::size_t minipod, CounterRng& rng);
  void swap(std::size_t a, std::size_t b);
  void shift_border(CounterRng& rng);
  void undo();

  /// The plan as cells. Only for plans without missing cells.
  [[nodiscard]] Cells cells() const;

  [[nodiscard]] const Instance& instance() const { return *instance_; }
  [[nodiscard]] const StripShape& shape() const { return shape_; }

 private:
  using Slot = std::int32_t;  ///< strip * layers + layer; -1: unused
  static constexpr Slot kUnused = -1;

  struct Strip {
    std::int32_t width = 0;
    std::int64_t missing = 0;     ///< cells
    std::int64_t incidences = 0;  ///< sum over rows of minipods met
    std::int64_t shared = 0;      ///< column shares above what Q leaves
  };
  struct Layer {
    std::vector<MinipodId> minipods;
    std::int32_t height = 0;
  };

  [[nodiscard]] bool sharing() const { return shape_.layers < shape_.pair.Q; }
  [[nodiscard]] std::int32_t height(const std::vector<MinipodId>& minipods, std::int32_t width) const;
  [[nodiscard]] bool room(Slot slot) const;
  void put(std::size_t minipod, Slot slot);
  void update(Slot slot);
  void update_strip(std::int32_t strip);
  [[nodiscard]] std::vector<StripLayer> trimmed(std::int32_t strip) const;

  const Instance* instance_;
  StripShape shape_;
  std::int32_t most_in_layer_;
  std::vector<Slot> slot_of_;
  std::vector<Layer> layers_;
  std::vector<Strip> strips_;

  enum class Last : std::uint8_t { kNone, kMoves, kBorder };
  struct Moved {
    std::size_t minipod = 0;
    Slot from = kUnused;
  };
  Last last_ = Last::kNone;
  std::array<Moved, 2> moved_{};
  std::size_t moved_count_ = 0;
  std::array<std::int32_t, 2> border_{};
  std::int32_t border_by_ = 0;
};

}  // namespace rudder::place
