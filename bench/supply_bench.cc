// SPDX-License-Identifier: Apache-2.0
// Remote rows on their way into a trainer's tensor, through a buffer of its own and through its host's
// service, over UCX (TCP loopback unless UCX_TLS says otherwise). Nothing is kept and nothing fetched ahead,
// so every row moves in its iteration. Three processes: the owner, the service, the trainer.
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/wait.h>

#include "rudder/core/aligned.h"
#include "rudder/core/files.h"
#include "rudder/core/gather.h"
#include "rudder/core/secret.h"
#include "rudder/dataplane/attach.h"
#include "rudder/dataplane/host_service.h"
#include "rudder/dataplane/plane.h"
#include "rudder/transport/transport.h"

#include "dataplane/host_buffer.h"
#include "two_processes.h"

namespace rudder::dataplane {
namespace {

constexpr NodeId kNodes = 240'000;
constexpr std::size_t kFloats = 128;
constexpr std::size_t kRowBytes = kFloats * sizeof(float);

std::unique_ptr<Plane> make_plane(const graph::PartitionedGraph& parts, const Secret& secret, Rank rank,
                                  int socket) {
  SocketRendezvous rendezvous(socket, rank);
  PlaneOptions options;
  options.rank = rank;
  options.world = 2;
  options.host = "localhost";
  options.secret = secret;
  return must(Plane::create(parts, must(transport::make_ucx_transport(rank, 2)), rendezvous, options));
}

RunShape endless() {
  return {.steps = std::uint64_t{1} << 40, .steps_per_epoch = 1, .seed = 1, .batch = 1, .fanout = {1}};
}

BufferOptions keeping_nothing() {
  BufferOptions options;
  options.policy = "lru";
  options.slots = 0;
  options.depth = 0;
  return options;
}

void wait_for_end(int socket) {
  char end = 0;
  static_cast<void>(!read(socket, &end, 1));  // ends when the measuring process does
}

/// The owner of part 1, for the trainer's own buffer and for the service.
[[noreturn]] void own(const graph::PartitionedGraph& parts, const Secret& secret,
                      std::array<int, 2> sockets) {
  pin(1);
  const graph::Part part = must(parts.open_part(1));
  std::vector<std::unique_ptr<Plane>> planes;
  for (const int socket : sockets) {
    planes.push_back(make_plane(parts, secret, 1, socket));
    planes.back()->publish(0, part.features(), kRowBytes);
  }
  wait_for_end(sockets[0]);
  _exit(0);
}

[[noreturn]] void serve(const graph::PartitionedGraph& parts, const Secret& secret, int socket,
                        const std::filesystem::path& name) {
  pin(0);
  const auto plane = make_plane(parts, secret, 0, socket);
  ServiceOptions options;
  options.socket = name;
  options.buffer = keeping_nothing();
  const auto service = must(HostService::open(parts, *plane, std::move(options)));
  static_cast<void>(service->serve_run());
  _exit(0);
}

void supply_rows(benchmark::State& state, RowSupply& supply, const graph::PartitionBook& book) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::vector<NodeId> ids = random_ids(book.begin(1), book.end(1), count);
  AlignedBytes tensor(count * kRowBytes);
  std::vector<const std::byte*> sources(count);
  for (auto _ : state) {
    supply.ask();
    must(supply.offer(ids));
    const PlacedRows placed = must(supply.take());
    for (std::size_t i = 0; i < count; ++i) {
      sources[i] = placed.staging + std::size_t{placed.places[i].place} * kRowBytes;
    }
    gather_rows(sources, kRowBytes, tensor.data());
    supply.release();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(tensor.size()));
}

void add(const char* name, RowSupply& supply, const graph::PartitionBook& book) {
  benchmark::RegisterBenchmark(name, [&](benchmark::State& state) { supply_rows(state, supply, book); })
      ->Arg(1)
      ->Arg(1000)
      ->Arg(10'000)
      ->Arg(100'000)
      ->UseRealTime();
}

int run(int argc, char** argv) {
  setenv("UCX_TLS", "tcp", 0);
  const TemporaryDirectory folder = must(TemporaryDirectory::create("rudder-supply-bench"));
  write_ring(folder.path(), kNodes, kFloats);
  const graph::PartitionedGraph parts = must(graph::PartitionedGraph::open(folder.path() / "parts"));
  std::array<std::array<int, 2>, 2> sockets{};
  for (auto& pair : sockets) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) != 0) {
      return 1;
    }
  }
  const std::filesystem::path name = folder.path() / "service.sock";
  const Secret secret;
  const pid_t owner = fork();
  if (owner == 0) {
    close(sockets[0][0]);
    own(parts, secret, {sockets[0][1], sockets[1][1]});
  }
  const pid_t service = fork();
  if (service == 0) {
    close(sockets[0][0]);
    serve(parts, secret, sockets[1][0], name);
  }
  pin(0);
  close(sockets[0][1]);
  close(sockets[1][0]);
  close(sockets[1][1]);
  {
    const auto plane = make_plane(parts, secret, 0, sockets[0][0]);
    const auto buffer = must(HostBuffer::create(parts, std::array{PartId{0}}, *plane, endless(),
                                                keeping_nothing(), private_row_memory()));
    const auto embedded = buffer->supply(0);
    const auto served = must(attach(parts, 0, endless(), name, from_seconds(30)));
    add("embedded/rows", *embedded, parts.book());
    add("served/rows", *served, parts.book());
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
  }
  close(sockets[0][0]);
  waitpid(service, nullptr, 0);
  waitpid(owner, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace rudder::dataplane

int main(int argc, char** argv) {
  return rudder::dataplane::run(argc, argv);
}
