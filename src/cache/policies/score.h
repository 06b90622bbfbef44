// SPDX-License-Identifier: Apache-2.0
// Replacement by scores, after MassiveGNN and Rudder's fixed policy.
//
// A resident row has a stale score: its score at insertion times (1 - alpha)^u, where u counts the batches
// since in which it was not hit (a hit keeps the score, it never raises it). A row that is not resident has a
// miss score, which grows by 1 with each batch that misses it. Every `period` batches stale rows make room
// for the rows of the highest miss scores, and a row that comes in starts with its miss score as stale score.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "rudder/cache/policy.h"
#include "rudder/cache/slot_index.h"

namespace rudder::cache {

/// Where the product departs from the published algorithm, and why. All off is the published algorithm.
struct ScoreRules {
  /// A row of initial score 1 is stale after exactly `stale_after` un-hit batches. The published bound,
  /// (1 - alpha)^stale_after rounded to three digits, becomes 0 for long horizons (nothing is ever stale), 1
  /// for small alpha (everything un-hit once is), and is off by one in between.
  bool exact_staleness = true;
  /// Victims are the stale rows of the lowest scores, not those of the lowest ids.
  bool lowest_first = true;
  /// An evicted row starts again from miss score 0. With its leftover score it would be a candidate at once,
  /// and evicted rows would fill the next spare slots although nobody asked for them.
  bool cool_down = true;
  /// Miss scores decay by (1 - alpha) a batch, and a candidate that has sunk to the bound of staleness is
  /// forgotten. Otherwise what was popular first stays on top for the whole run.
  bool age_misses = true;
  /// The misses of a batch are scored before its replacement. Otherwise a replacement in every batch would
  /// stop all scoring. Rows that the batch has just missed are then among the candidates and cost no second
  /// fetch.
  bool always_score = true;
  /// Every remote row counts and may be kept, not only the one-hop halo: deeper hops cost as much to fetch.
  bool all_rows = true;
  /// A free slot takes a missed row at once: the row is here already, and an empty slot hits nothing.
  bool fill_free_slots = true;
  /// One replacement fetches at most as many rows on top as its batch missed, so no step carries a burst of
  /// more than twice its own traffic; the rest waits for the next replacement.
  bool bounded_extras = true;

  [[nodiscard]] static ScoreRules published();
};

/// Settings must have passed check_score_settings(). O(1) a request; O(capacity + candidates) a replacement.
class ScorePolicy final : public Cloneable<ScorePolicy> {
 public:
  ScorePolicy(const PolicyContext& context, const PolicySettings& settings, const ScoreRules& rules);

  void start(Residency& buffer) override;
  void serve(const Request& request, Residency& buffer) override;
  void adopt(const Residency& buffer) override;
  void replace_once() override { replace_once_ = true; }

  /// The stale score of a slot after the last served batch. For tests.
  [[nodiscard]] double stale_score(SlotId slot) const;

 private:
  struct Resident {
    double initial = 1.0;
    StepId since = 0;        ///< batches served before the row came in
    StepId hits = 0;         ///< batches since that hit it
    StepId unhit_limit = 0;  ///< stale from this many un-hit batches on
  };
  struct Candidate {
    NodeId row = kNoNode;
    double score = 0.0;
    StepId as_of = 0;  ///< batches served when `score` was true
  };

  [[nodiscard]] std::vector<NodeId> initial_rows() const;
  [[nodiscard]] bool counts(NodeId row) const;
  [[nodiscard]] double power(StepId exponent) const;
  [[nodiscard]] StepId unhit(const Resident& resident) const;
  [[nodiscard]] bool is_stale(SlotId slot) const;
  [[nodiscard]] double aged(const Candidate& candidate) const;
  void enter(SlotId slot, double score);
  void insert(Residency& buffer, SlotId slot, NodeId row, double score);
  void score_misses(const Request& request, Residency& buffer);
  void put_candidate(const Candidate& candidate);
  void remove_candidate(NodeId row);
  [[nodiscard]] std::vector<SlotId> victims(const Residency& buffer) const;
  [[nodiscard]] std::vector<Candidate> newcomers(std::size_t limit, std::size_t misses);
  [[nodiscard]] bool replace(Residency& buffer, std::size_t misses);

  PolicyContext context_;
  PolicySettings settings_;
  ScoreRules rules_;
  double gamma_;                      ///< 1 - alpha
  std::array<double, 512> powers_{};  ///< of gamma_
  double stale_below_ = 0.0;          ///< published bound, or (1 - alpha)^stale_after
  StepId served_ = 0;                 ///< batches, the current one included
  bool replace_once_ = false;         ///< with the next batch, whatever the period
  std::vector<Resident> residents_;   ///< by slot
  std::vector<Candidate> candidates_;
  std::vector<NodeId> missed_;    ///< scratch
  std::vector<SlotId> places_;    ///< scratch, parallel to missed_
  SlotIndex candidate_index_{0};  ///< row to its place in candidates_
};

}  // namespace rudder::cache
