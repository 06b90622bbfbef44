// SPDX-License-Identifier: Apache-2.0
// MassiveGNN's and Rudder's fixed replacement policy, step by step as published: passes over the whole buffer
// and the whole halo in every batch, a rounded threshold, victims in id order, leftover scores, no scoring in
// batches that replace. For tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rudder/core/ids.h"

namespace rudder::cache::testing_support {

class ReferenceScore {
 public:
  enum class Form : std::uint8_t {
    kIterated,  ///< multiply every score by gamma, divide those of hits by gamma again
    kClosed,    ///< initial score times gamma^(un-hit batches): the same number but for rounding
  };
  struct Step {
    std::size_t hits = 0;
    std::size_t misses = 0;
    std::size_t inserted = 0;
    bool scored = false;
  };

  /// `period` 0: never replace. `initial` rows are ascending; the rest of the buffer holds sentinels from
  /// `nodes` on.
  ReferenceScore(NodeId nodes, const std::vector<NodeId>& halo, const std::vector<NodeId>& initial,
                 std::size_t capacity, double alpha, std::uint32_t period, Form form)
      : nodes_(nodes),
        gamma_(1.0 - alpha),
        period_(period),
        form_(form),
        miss_(static_cast<std::size_t>(nodes), kNever) {
    threshold_ = std::round(std::pow(gamma_, static_cast<double>(period)) * 1000.0) / 1000.0;
    for (const NodeId row : halo) {
      miss_[index(row)] = 0.0;
    }
    for (std::size_t i = 0; i < capacity; ++i) {
      const bool filled = i < initial.size();
      slots_.push_back({filled ? initial[i] : nodes + static_cast<NodeId>(i), 1.0, 1.0, 0});
      if (filled) {
        miss_[index(initial[i])] = kResident;
      }
    }
  }

  Step serve(const std::vector<NodeId>& batch) {
    Step out;
    ++batches_;
    std::sort(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) { return a.id < b.id; });
    std::vector<NodeId> misses;
    for (const NodeId row : batch) {
      const bool hit =
          std::any_of(slots_.begin(), slots_.end(), [row](const Slot& slot) { return slot.id == row; });
      if (hit) {
        ++out.hits;
      } else {
        misses.push_back(row);
      }
    }
    out.misses = misses.size();
    for (Slot& slot : slots_) {
      decay(slot, std::find(batch.begin(), batch.end(), slot.id) != batch.end());
    }
    if (period_ != 0 && batches_ % period_ == 0) {
      out.inserted = replace();
    }
    if (out.inserted == 0) {
      out.scored = true;
      for (const NodeId row : misses) {
        if (miss_[index(row)] >= 0.0) {
          miss_[index(row)] += 1.0;
        }
      }
    }
    return out;
  }

  /// Resident rows, ascending, without sentinels.
  [[nodiscard]] std::vector<NodeId> contents() const {
    std::vector<NodeId> rows;
    for (const Slot& slot : slots_) {
      if (slot.id < nodes_) {
        rows.push_back(slot.id);
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  [[nodiscard]] double stale_score(NodeId row) const {
    return std::find_if(slots_.begin(), slots_.end(), [row](const Slot& slot) { return slot.id == row; })
        ->score;
  }

 private:
  static constexpr double kNever = -2.0;     // outside the halo
  static constexpr double kResident = -1.0;  // excluded from insertion
  struct Slot {
    NodeId id;
    double score;
    double initial;
    std::uint64_t unhit;
  };

  static std::size_t index(NodeId row) { return static_cast<std::size_t>(row); }

  void decay(Slot& slot, bool hit) const {
    if (form_ == Form::kIterated) {
      slot.score *= gamma_;
      if (hit) {
        slot.score /= gamma_;
      }
    } else {
      slot.unhit += hit ? 0 : 1;
      slot.score = slot.initial * std::pow(gamma_, static_cast<double>(slot.unhit));
    }
  }

  std::size_t replace() {
    std::vector<std::size_t> victims;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].score < threshold_) {
        victims.push_back(i);
      }
    }
    std::vector<NodeId> rows;
    for (NodeId row = 0; row < nodes_; ++row) {
      if (miss_[index(row)] > 0.0) {
        rows.push_back(row);
      }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [this](NodeId a, NodeId b) { return miss_[index(a)] > miss_[index(b)]; });
    const std::size_t count = std::min(victims.size(), rows.size());
    for (std::size_t i = 0; i < count; ++i) {
      Slot& slot = slots_[victims[i]];
      if (slot.id < nodes_) {
        miss_[index(slot.id)] = slot.score;
      }
      const double score = miss_[index(rows[i])];
      miss_[index(rows[i])] = kResident;
      slot = {rows[i], score, score, 0};
    }
    return count;
  }

  NodeId nodes_;
  double gamma_;
  double threshold_ = 0;
  std::uint32_t period_;
  Form form_;
  std::uint64_t batches_ = 0;
  std::vector<Slot> slots_;
  std::vector<double> miss_;  ///< by node
};

}  // namespace rudder::cache::testing_support
