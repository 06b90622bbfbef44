// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/slurm_engine.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/files.h"

namespace rudder::sched {
namespace {

/// A plan that made room lets others start in the next round; one that never ends is cut here, not in Slurm.
constexpr int kMostRounds = 4;

Result<std::string> only_partition(const std::string& listing) {
  std::set<std::string> names;
  std::size_t at = 0;
  while (at < listing.size()) {
    const std::size_t end = std::min(listing.find('\n', at), listing.size());
    if (end > at) {
      names.insert(listing.substr(at, end - at));
    }
    at = end + 1;
  }
  if (names.size() != 1) {
    return Error{Errc::kInvalidArgument,
                 fmt::format("the cluster has {} partitions ({}); name one with --partition", names.size(),
                             fmt::join(names, ", "))};
  }
  return *names.begin();
}

}  // namespace

SlurmEngine::SlurmEngine(SlurmOptions options, Runner runner, Clock clock)
    : options_(std::move(options)), runner_(std::move(runner)), clock_(std::move(clock)) {}
SlurmEngine::~SlurmEngine() = default;

Result<std::unique_ptr<SlurmEngine>> SlurmEngine::open(SlurmOptions options, Runner runner, Clock clock,
                                                       std::optional<place::Topology> topology) {
  std::unique_ptr<SlurmEngine> engine(
      new SlurmEngine(std::move(options), std::move(runner), std::move(clock)));
  if (engine->options_.partition.empty()) {
    RUDDER_ASSIGN(const std::string listing, engine->runner_({"sinfo", "-h", "-o", "%R"}));
    RUDDER_ASSIGN(engine->options_.partition, only_partition(listing));
  }
  if (topology) {
    engine->topology_ = std::move(*topology);
  } else {
    RUDDER_ASSIGN(const std::string sinfo,
                  engine->runner_({"sinfo", "-h", "-N", "-p", engine->options_.partition, "-o", "%N %T"}));
    RUDDER_ASSIGN(const std::vector<SlurmNode> nodes, parse_sinfo(sinfo));
    RUDDER_ASSIGN(const std::string text, engine->runner_({"scontrol", "show", "topology", "-o"}));
    RUDDER_ASSIGN(engine->topology_, parse_slurm_topology(text, nodes));
  }
  if (engine->options_.minipod_level < 0) {
    engine->options_.minipod_level = place::default_minipod_level(engine->topology_);
  }
  engine->cluster_ = cluster_of(engine->topology_, engine->options_.minipod_level, 1);
  return engine;
}

Status SlurmEngine::read() {
  SlurmState seen;
  // Nodes before jobs: a node that a job takes between the two looks taken, never free.
  RUDDER_ASSIGN(const std::string sinfo,
                runner_({"sinfo", "-h", "-N", "-p", options_.partition, "-o", "%N %T"}));
  RUDDER_ASSIGN(seen.nodes, parse_sinfo(sinfo));
  RUDDER_ASSIGN(const std::string reservations,
                runner_({"env", "SLURM_TIME_FORMAT=%s", "scontrol", "show", "reservation", "-o"}));
  RUDDER_ASSIGN(seen.reservations, parse_reservations(reservations));
  RUDDER_ASSIGN(const std::string squeue, runner_({"squeue", "--json", "--states=all"}));
  RUDDER_ASSIGN(seen.jobs, parse_squeue(squeue));
  seen.now = clock_();
  view_.reset();
  state_ = std::move(seen);
  view_ = std::make_unique<SlurmView>(topology_, cluster_, state_, options_);
  return {};
}

void SlurmEngine::perform(const std::vector<SlurmAction>& actions) {
  for (const SlurmAction& action : actions) {
    if (observer_) {
      observer_(action, nullptr);
    }
    for (const SlurmCommand& command : action.commands) {
      if (dry_) {
        continue;
      }
      Status done;
      if (!command.file.empty()) {
        done = write_text(command.file, command.text);
      } else if (Result<std::string> said = runner_(command.words); !said) {
        done = said.error();
      }
      if (!done) {
        ++failures_;
        if (observer_) {
          observer_(action, &done.error());
        }
        break;
      }
    }
  }
}

Result<Snapshot> SlurmEngine::snapshot() {
  RUDDER_TRY(read());
  Snapshot snapshot = view_->snapshot();
  snapshot.head = head_ ? &*head_ : nullptr;
  return snapshot;
}

Status SlurmEngine::apply(const Plan& plan) {
  perform(view_->carry_out(plan));
  head_ = plan.head;
  last_plan_ = plan;
  return {};
}

Status SlurmEngine::tidy() {
  RUDDER_TRY(read());
  perform(view_->tidy());
  return {};
}

Status SlurmEngine::cycle(Planner& planner) {
  for (int round = 0; round < kMostRounds; ++round) {
    const std::int64_t failed = failures_;
    RUDDER_TRY(tidy());
    RUDDER_ASSIGN(const Snapshot seen, snapshot());
    const Plan plan = planner.plan(seen);
    RUDDER_TRY(apply(plan));
    const bool made_room = !plan.requeues.empty() || !plan.reserves.empty() || !plan.releases.empty();
    if (!made_room || dry_ || failures_ > failed) {
      break;
    }
  }
  return {};
}

}  // namespace rudder::sched
