// SPDX-License-Identifier: Apache-2.0
#include "sample/owner_sampler.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "rudder/core/check.h"

#include "sample/draw.h"

namespace rudder::sample {

OwnerSampler::OwnerSampler(graph::CscSlice own, NodeId nodes, std::vector<int> fanout, std::uint64_t seed,
                           RemoteNeighbors& remote, Turns& turns)
    : own_(own),
      fanout_(std::move(fanout)),
      seed_(seed),
      remote_(remote),
      turns_(turns),
      edges_(nodes),
      drawer_(own) {
  for (const int limit : fanout_) {
    RUDDER_CHECK(limit >= -1, "a fan-out is a number of neighbours or -1");
  }
}

Status OwnerSampler::sample(std::span<const NodeId> seeds, BatchKey key, std::uint64_t global_batch,
                            SampledBatch& out) {
  const std::uint64_t stream = batch_stream(seed_, key.epoch, global_batch);
  out.key = key;
  out.asked = {};
  turns_.take();
  edges_.begin_batch(seeds, fanout_.size(), out);
  Status done;
  for (std::size_t hop = 0; hop < fanout_.size() && done.ok(); ++hop) {
    done = expand_hop({hop_stream(stream, hop), fanout_[hop]}, out, out.layers[fanout_.size() - 1 - hop]);
  }
  edges_.end_batch(out);
  turns_.give();
  return done;
}

Status OwnerSampler::expand_hop(const HopRule& rule, SampledBatch& out, Mfg& mfg) {
  const std::size_t destinations = edges_.known();
  split(std::span(out.nodes).first(destinations));
  answered_.clear();
  drawn_.clear();
  std::unique_ptr<Question> question;
  if (!asked_.empty()) {
    question = remote_.ask(asked_, rule);
  }
  drawer_.draw(here_, rule, drawn_);
  if (question) {
    turns_.give();
    const Result<AskedTraffic> moved = question->wait(answered_);
    turns_.take();
    if (!moved.ok()) {
      return moved.error();
    }
    out.asked += *moved;
    RUDDER_CHECK(answered_.counts.size() == asked_.size(), "one count for each node that was asked about");
  }
  edges_.begin_hop(mfg);
  take(destinations, out.nodes, mfg);
  edges_.end_hop(out.nodes, mfg);
  return {};
}

void OwnerSampler::split(std::span<const NodeId> destinations) {
  places_.clear();
  here_.clear();
  for (std::size_t d = 0; d < destinations.size(); ++d) {
    if (own_.owns(destinations[d])) {
      here_.push_back(destinations[d]);
    } else {
      places_.push_back({destinations[d], static_cast<LocalId>(d)});
    }
  }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.node < b.node; });
  asked_.resize(places_.size());
  std::transform(places_.begin(), places_.end(), asked_.begin(), [](const Place& p) { return p.node; });
}

void OwnerSampler::take(std::size_t destinations, std::vector<NodeId>& nodes, Mfg& mfg) {
  runs_.resize(destinations);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    runs_[places_[i].local] = {begin, answered_.counts[i]};
    begin += answered_.counts[i];
  }
  RUDDER_CHECK(begin == answered_.ids.size(), "the counts of an answer add up to its ids");
  begin = 0;
  std::size_t next = 0;
  for (std::size_t d = 0; d < destinations; ++d) {
    if (own_.owns(nodes[d])) {
      edges_.take_run(drawn_.ids.data() + begin, drawn_.counts[next], nodes, mfg);
      begin += drawn_.counts[next++];
    } else {
      edges_.take_run(answered_.ids.data() + runs_[d].begin, runs_[d].count, nodes, mfg);
    }
    edges_.end_destination(d, mfg);
  }
}

}  // namespace rudder::sample
