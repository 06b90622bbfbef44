// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "rudder/sample/neighbors.h"

#include "dataplane/neighbor_client.h"

namespace rudder::dataplane {
namespace {

/// Waits that can be ended together from outside. Thread-safe.
class RunningAsks {
 public:
  explicit RunningAsks(NeighborClient& client) : client_(client) {}

  [[nodiscard]] std::shared_ptr<AskTicket> ask(std::span<const NodeId> nodes, const sample::HopRule& rule) {
    auto ticket = client_.ask(nodes, rule);
    const std::lock_guard lock(mutex_);
    running_.push_back(ticket);
    if (stopped_) {
      client_.abandon(*ticket);
    }
    return ticket;
  }
  void forget(const std::shared_ptr<AskTicket>& ticket) {
    client_.abandon(*ticket);  // nothing to do for one that was answered
    const std::lock_guard lock(mutex_);
    std::erase(running_, ticket);
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& ticket : running_) {
      client_.abandon(*ticket);
    }
  }
  [[nodiscard]] NeighborClient& client() { return client_; }

 private:
  NeighborClient& client_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<AskTicket>> running_;
  bool stopped_ = false;
};

/// All owners are asked at the same time; what a long answer left out is asked for again, one after another.
class OwnersQuestion final : public sample::Question {
 public:
  OwnersQuestion(RunningAsks& asks, std::span<const NodeId> nodes, const sample::HopRule& rule)
      : asks_(asks), nodes_(nodes), rule_(rule), ticket_(asks.ask(nodes, rule)) {}
  ~OwnersQuestion() override { asks_.forget(ticket_); }

  Result<sample::AskedTraffic> wait(sample::DrawnNeighbors& out) override {
    sample::AskedTraffic moved{.nodes = nodes_.size()};
    RUDDER_ASSIGN(std::vector<AskedRun> runs, asks_.client().wait(*ticket_));
    for (AskedRun& run : runs) {
      RUDDER_TRY(take(run, run.first, moved, out));
      for (std::size_t done = run.answered; done < run.rows;) {
        RUDDER_ASSIGN(const std::size_t more,
                      ask_rest(nodes_.subspan(run.first + done, run.rows - done), moved, out));
        done += more;
      }
    }
    return moved;
  }

 private:
  Status take(AskedRun& run, std::size_t first, sample::AskedTraffic& moved, sample::DrawnNeighbors& out) {
    moved.messages += 2;
    moved.bytes += 2 * kSealedHeaderBytes + run.ask_bytes + run.body_bytes;
    const Status decoded = asks_.client().decode(run, rule_, out);
    if (!decoded.ok()) {
      return Error{Errc::kPeer, asks_.client().owner_of(nodes_[first]) +
                                    " answered an ask for neighbours wrongly: " + decoded.error().message};
    }
    return {};
  }

  /// Returns how many of `rest`, nodes of one owner, were answered.
  Result<std::size_t> ask_rest(std::span<const NodeId> rest, sample::AskedTraffic& moved,
                               sample::DrawnNeighbors& out) {
    asks_.forget(ticket_);
    ticket_ = asks_.ask(rest, rule_);
    RUDDER_ASSIGN(std::vector<AskedRun> runs, asks_.client().wait(*ticket_));
    RUDDER_TRY(take(runs.front(), static_cast<std::size_t>(rest.data() - nodes_.data()), moved, out));
    return runs.front().answered;
  }

  RunningAsks& asks_;
  std::span<const NodeId> nodes_;
  sample::HopRule rule_;
  std::shared_ptr<AskTicket> ticket_;
};

class OwnersNeighbors final : public sample::RemoteNeighbors {
 public:
  explicit OwnersNeighbors(NeighborClient& client) : asks_(client) {}

  std::unique_ptr<sample::Question> ask(std::span<const NodeId> nodes, const sample::HopRule& rule) override {
    return std::make_unique<OwnersQuestion>(asks_, nodes, rule);
  }
  void stop() override { asks_.stop(); }

 private:
  RunningAsks asks_;
};

}  // namespace

std::unique_ptr<sample::RemoteNeighbors> make_remote_neighbors(NeighborClient& client) {
  return std::make_unique<OwnersNeighbors>(client);
}

}  // namespace rudder::dataplane
