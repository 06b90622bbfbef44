// SPDX-License-Identifier: Apache-2.0
// Benchmarks over several processes of this machine: how they meet, and a graph to meet over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/core/rng.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/rendezvous.h"

namespace rudder::dataplane {

template <class T>
inline T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "benchmark: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(result).value();
  }
}

/// Two processes over a socket pair; keys are of no interest, since both sides ask for the same ones in
/// order.
class SocketRendezvous final : public transport::Rendezvous {
 public:
  SocketRendezvous(int socket, Rank rank) : socket_(socket), rank_(rank) {}

  Status put(std::string_view /*key*/, std::string_view value) override {
    mine_ = value;
    const std::size_t size = value.size();
    return write(socket_, &size, sizeof(size)) == static_cast<ssize_t>(sizeof(size)) &&
                   write(socket_, value.data(), size) == static_cast<ssize_t>(size)
               ? Status{}
               : Status{Error{Errc::kIo, "the other process has gone"}};
  }
  Result<std::string> get(std::string_view key, Deadline /*deadline*/) override {
    if (key.substr(key.rfind('/') + 1) == std::to_string(rank_)) {
      return mine_;
    }
    std::size_t size = 0;
    std::string value;
    if (read(socket_, &size, sizeof(size)) == static_cast<ssize_t>(sizeof(size))) {
      value.resize(size);
      if (recv(socket_, value.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size)) {
        return value;
      }
    }
    return Error{Errc::kIo, "the other process has gone"};
  }

 private:
  int socket_;
  Rank rank_;
  std::string mine_;
};

/// The process runs on one core, the other process on another, if there are two.
inline void pin(int side) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  if (CPU_COUNT(&allowed) < 2) {
    return;
  }
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed) && side-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      sched_setaffinity(0, sizeof(one), &one);
      return;
    }
  }
}

/// `count` ids of [begin, end): ascending, distinct, uniform (selection sampling).
inline std::vector<NodeId> random_ids(NodeId begin, NodeId end, std::size_t count) {
  std::vector<NodeId> ids;
  CounterRng rng({1});
  for (NodeId v = begin; v < end && ids.size() < count; ++v) {
    if (rng.below(static_cast<std::uint64_t>(end - v)) < count - ids.size()) {
      ids.push_back(v);
    }
  }
  return ids;
}

/// A ring of nodes with rows of so many floats, cut by hash in two, in `folder`/parts.
inline void write_ring(const std::filesystem::path& folder, NodeId nodes, std::size_t features) {
  graph::GraphData data;
  data.features = features;
  data.classes = 1;
  data.rows.resize(static_cast<std::size_t>(nodes) * features * sizeof(float));
  data.labels.resize(static_cast<std::size_t>(nodes));
  for (NodeId v = 0; v < nodes; ++v) {
    data.indptr.push_back(v);
    data.indices.push_back((v + 1) % nodes);
  }
  data.indptr.push_back(nodes);
  for (NodeId v = 0; v < 100; ++v) {
    data.train.push_back(v);
  }
  must(graph::write_graph(folder / "graph", data));
  graph::PartitionOptions options;
  options.parts = 2;
  options.method = graph::PartitionMethod::kHash;
  must(graph::partition_graph(must(graph::Graph::open(folder / "graph")), options, folder / "parts", {}));
}

}  // namespace rudder::dataplane
