// SPDX-License-Identifier: Apache-2.0
// Rows pulled from another process over UCX (TCP loopback unless UCX_TLS says otherwise), one core a side,
// beside what bounds them in the same run: plain 1 MB messages of the same transport, and memcpy.
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/aligned.h"
#include "rudder/core/files.h"
#include "rudder/core/rng.h"
#include "rudder/dataplane/plane.h"
#include "rudder/graph/graph.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/transport.h"

namespace rudder::dataplane {
namespace {

constexpr NodeId kNodes = 400'000;
constexpr std::size_t kRowBytes = 512;
constexpr std::uint8_t kTable = 1;
constexpr std::size_t kMessageBytes = std::size_t{1} << 20;
constexpr std::size_t kMessages = 64;

template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "pull_bench: %s\n", result.error().message.c_str());
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

/// Plain messages: an empty one asks for kMessages bodies.
class RawEnd final : public transport::Receiver {
 public:
  RawEnd(Rank rank, transport::Rendezvous& rendezvous) : room_(kMessageBytes) {
    std::memset(room_.data(), 1, room_.size());
    end_ = must(transport::make_ucx_transport(rank, 2));
    must(end_->start(*this));
    const Deadline deadline = Deadline::in(from_seconds(30));
    must(end_->connect(must(transport::exchange(rendezvous, "raw", rank, 2, end_->address(), deadline)),
                       deadline));
  }

  std::byte* landing(Rank, std::span<const std::byte>, std::size_t) override { return room_.data(); }
  void received(Rank from, std::span<const std::byte>, std::span<std::byte> body) override {
    if (body.empty()) {
      for (std::size_t i = 0; i < kMessages; ++i) {
        end_->send(from, {}, take(), kMessageBytes, [this](AlignedBytes block) { give(std::move(block)); });
      }
      return;
    }
    const std::lock_guard lock(mutex_);
    if (++arrived_ % kMessages == 0) {
      changed_.notify_all();
    }
  }
  void peer_failed(Rank, const Error&) override {}

  void fetch() {
    std::unique_lock lock(mutex_);
    const std::size_t goal = arrived_ + kMessages;
    lock.unlock();
    end_->send(1, {}, {}, 0, nullptr);
    lock.lock();
    if (!changed_.wait_until(lock, Deadline::in(from_seconds(30)).at(), [&] { return arrived_ == goal; })) {
      std::fprintf(stderr, "pull_bench: messages do not arrive\n");
      std::exit(1);
    }
  }

 private:
  AlignedBytes take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) {
      AlignedBytes block(kMessageBytes);
      std::memset(block.data(), 1, block.size());
      return block;
    }
    AlignedBytes block = std::move(spare_.back());
    spare_.pop_back();
    return block;
  }
  void give(AlignedBytes block) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(block));
  }

  AlignedBytes room_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<AlignedBytes> spare_;
  std::size_t arrived_ = 0;
  std::unique_ptr<transport::Transport> end_;
};

/// A ring of nodes, so that the folder stays small: the rows pulled here are of a table of its own.
void write_parts(const std::filesystem::path& folder) {
  graph::GraphData data;
  data.features = 1;
  data.classes = 1;
  data.rows.resize(static_cast<std::size_t>(kNodes) * sizeof(float));
  data.labels.resize(static_cast<std::size_t>(kNodes));
  for (NodeId v = 0; v < kNodes; ++v) {
    data.indptr.push_back(v);
    data.indices.push_back((v + 1) % kNodes);
  }
  data.indptr.push_back(kNodes);
  for (NodeId v = 0; v < 100; ++v) {
    data.train.push_back(v);
  }
  must(graph::write_graph(folder / "graph", data));
  graph::PartitionOptions options;
  options.parts = 2;
  options.method = graph::PartitionMethod::kHash;
  must(graph::partition_graph(must(graph::Graph::open(folder / "graph")), options, folder / "parts", {}));
}

std::unique_ptr<Plane> make_plane(const graph::PartitionedGraph& parts, Rank rank,
                                  SocketRendezvous& rendezvous, std::size_t request_bytes,
                                  std::uint32_t credits) {
  PlaneOptions options;
  options.rank = rank;
  options.world = 2;
  options.host = "localhost";
  options.request_bytes = request_bytes;
  options.credits = credits;
  return must(Plane::create(parts, must(transport::make_ucx_transport(rank, 2)), rendezvous, options));
}

void pull_rows(benchmark::State& state, Plane& plane, const graph::PartitionBook& book) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto memory = std::make_shared<AlignedBytes>(count * kRowBytes);
  std::memset(memory->data(), 0, memory->size());
  std::vector<NodeId> ids;
  CounterRng rng({1});
  // Selection sampling: ascending, distinct, uniform.
  for (NodeId v = book.begin(1); v < book.end(1) && ids.size() < count; ++v) {
    if (rng.below(static_cast<std::uint64_t>(book.end(1) - v)) < count - ids.size()) {
      ids.push_back(v);
    }
  }
  Transfer all;
  for (auto _ : state) {
    all += must(plane.wait(plane.pull(kTable, ids, kRowBytes, memory->data(), memory)));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(all.payload_bytes));
  state.counters["wire_efficiency"] =
      static_cast<double>(all.payload_bytes) / static_cast<double>(all.wire_bytes);
}

void raw_messages(benchmark::State& state, RawEnd& end) {
  for (auto _ : state) {
    end.fetch();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kMessages * kMessageBytes));
}

void copy(benchmark::State& state) {
  AlignedBytes from(100'000 * kRowBytes);
  AlignedBytes to(from.size());
  std::memset(from.data(), 1, from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(
      static_cast<std::int64_t>(static_cast<std::size_t>(state.iterations()) * from.size()));
}

/// The process runs on one core, the other process on another, if there are two.
void pin(int side) {
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

struct Shape {
  std::size_t request_bytes;
  std::uint32_t credits;
};
constexpr std::array kShapes = {Shape{std::size_t{256} << 10, 8}, Shape{std::size_t{64} << 10, 8},
                                Shape{std::size_t{1} << 20, 4}};

[[noreturn]] void serve(const graph::PartitionedGraph& parts, int socket) {
  pin(1);
  SocketRendezvous rendezvous(socket, 1);
  std::vector<std::byte> table(static_cast<std::size_t>(parts.book().size(1)) * kRowBytes, std::byte{1});
  std::vector<std::unique_ptr<Plane>> planes;
  for (const Shape& shape : kShapes) {
    planes.push_back(make_plane(parts, 1, rendezvous, shape.request_bytes, shape.credits));
    planes.back()->publish(kTable, table, kRowBytes);
  }
  const RawEnd raw(1, rendezvous);
  char end = 0;
  static_cast<void>(!read(socket, &end, 1));  // ends when the measuring process does
  _exit(0);
}

int run(int argc, char** argv) {
  setenv("UCX_TLS", "tcp", 0);
  const TemporaryDirectory folder = must(TemporaryDirectory::create("rudder-pull-bench"));
  write_parts(folder.path());
  const graph::PartitionedGraph parts = must(graph::PartitionedGraph::open(folder.path() / "parts"));
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) != 0) {
    return 1;
  }
  const pid_t child = fork();
  if (child == 0) {
    close(sockets[0]);
    serve(parts, sockets[1]);
  }
  close(sockets[1]);
  pin(0);
  SocketRendezvous rendezvous(sockets[0], 0);
  std::vector<std::unique_ptr<Plane>> planes;
  for (const Shape& shape : kShapes) {
    planes.push_back(make_plane(parts, 0, rendezvous, shape.request_bytes, shape.credits));
    Plane& plane = *planes.back();
    const std::string name = "pull/request_KiB:" + std::to_string(shape.request_bytes >> 10) +
                             "/credits:" + std::to_string(shape.credits) + "/rows";
    benchmark::RegisterBenchmark(
        name.c_str(), [&plane, &parts](benchmark::State& state) { pull_rows(state, plane, parts.book()); })
        ->Arg(1)
        ->Arg(1000)
        ->Arg(10'000)
        ->Arg(100'000)
        ->UseRealTime();
  }
  RawEnd raw(0, rendezvous);
  benchmark::RegisterBenchmark("messages_1MiB", [&raw](benchmark::State& state) {
    raw_messages(state, raw);
  })->UseRealTime();
  benchmark::RegisterBenchmark("memcpy", copy)->UseRealTime();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  close(sockets[0]);
  waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace rudder::dataplane

int main(int argc, char** argv) {
  return rudder::dataplane::run(argc, argv);
}
