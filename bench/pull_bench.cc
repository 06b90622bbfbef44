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
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/aligned.h"
#include "rudder/core/files.h"
#include "rudder/dataplane/plane.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/transport.h"

#include "two_processes.h"

namespace rudder::dataplane {
namespace {

constexpr NodeId kNodes = 400'000;
constexpr std::size_t kRowBytes = 512;
constexpr std::uint8_t kTable = 1;
constexpr std::size_t kMessageBytes = std::size_t{1} << 20;
constexpr std::size_t kMessages = 64;

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

std::unique_ptr<Plane> make_plane(const graph::PartitionedGraph& parts, const Secret& secret, Rank rank,
                                  SocketRendezvous& rendezvous, std::size_t request_bytes,
                                  std::uint32_t credits) {
  PlaneOptions options;
  options.rank = rank;
  options.world = 2;
  options.host = "localhost";
  options.request_bytes = request_bytes;
  options.credits = credits;
  options.secret = secret;
  return must(Plane::create(parts, must(transport::make_ucx_transport(rank, 2)), rendezvous, options));
}

void pull_rows(benchmark::State& state, Plane& plane, const graph::PartitionBook& book) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto memory = std::make_shared<AlignedBytes>(count * kRowBytes);
  std::memset(memory->data(), 0, memory->size());
  const std::vector<NodeId> ids = random_ids(book.begin(1), book.end(1), count);
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

struct Shape {
  std::size_t request_bytes;
  std::uint32_t credits;
};
constexpr std::array kShapes = {Shape{std::size_t{256} << 10, 8}, Shape{std::size_t{64} << 10, 8},
                                Shape{std::size_t{1} << 20, 4}};

[[noreturn]] void serve(const graph::PartitionedGraph& parts, const Secret& secret, int socket) {
  pin(1);
  SocketRendezvous rendezvous(socket, 1);
  std::vector<std::byte> table(static_cast<std::size_t>(parts.book().size(1)) * kRowBytes, std::byte{1});
  std::vector<std::unique_ptr<Plane>> planes;
  for (const Shape& shape : kShapes) {
    planes.push_back(make_plane(parts, secret, 1, rendezvous, shape.request_bytes, shape.credits));
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
  // Small: the rows pulled here are of a table of their own.
  write_ring(folder.path(), kNodes, 1);
  const graph::PartitionedGraph parts = must(graph::PartitionedGraph::open(folder.path() / "parts"));
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) != 0) {
    return 1;
  }
  const Secret secret;
  const pid_t child = fork();
  if (child == 0) {
    close(sockets[0]);
    serve(parts, secret, sockets[1]);
  }
  close(sockets[1]);
  pin(0);
  SocketRendezvous rendezvous(sockets[0], 0);
  std::vector<std::unique_ptr<Plane>> planes;
  for (const Shape& shape : kShapes) {
    planes.push_back(make_plane(parts, secret, 0, rendezvous, shape.request_bytes, shape.credits));
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
