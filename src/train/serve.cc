// SPDX-License-Identifier: Apache-2.0
#include "rudder/train/serve.h"

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rudder/cache/buffer_size.h"
#include "rudder/graph/partition.h"
#include "rudder/transport/rendezvous.h"
#include "rudder/transport/transport.h"

#include "train/meet.h"
#include "train/torch_error.h"

namespace rudder::train {
namespace {

/// Calls `then` when a descriptor becomes readable, from a thread of its own.
class ReadableWatch {
 public:
  ReadableWatch(int descriptor, std::function<void()> then)
      : end_(::eventfd(0, EFD_CLOEXEC)), thread_([this, descriptor, then = std::move(then)] {
          std::array<pollfd, 2> events = {pollfd{descriptor, POLLIN, 0}, pollfd{end_, POLLIN, 0}};
          while (::poll(events.data(), events.size(), -1) < 0) {
          }
          if (events[0].revents != 0) {
            then();
          }
        }) {}
  ~ReadableWatch() {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(end_, &one, sizeof(one)));
    thread_.join();
    ::close(end_);
  }
  ReadableWatch(const ReadableWatch&) = delete;
  ReadableWatch& operator=(const ReadableWatch&) = delete;

 private:
  int end_;
  std::thread thread_;
};

/// A host's parts and where they are served from.
struct Host {
  PartId first = 0;
  std::vector<graph::Part> parts;
};

Result<Host> open_host(const graph::PartitionedGraph& graph, const RankInfo& who) {
  const PartId parts = graph.book().parts();
  if (who.world == 0 || who.rank >= who.world || parts % who.world != 0) {
    return Error{Errc::kInvalidArgument, fmt::format("{} has {} parts, which {} hosts cannot share evenly",
                                                     graph.directory().string(), parts, who.world)};
  }
  const PartId each = parts / who.world;
  Host host{who.rank * each, {}};
  for (PartId p = host.first; p < host.first + each; ++p) {
    RUDDER_ASSIGN(auto part, graph.open_part(p));
    host.parts.push_back(std::move(part));
  }
  return host;
}

/// The host's data plane, with its parts' rows published.
Result<std::unique_ptr<dataplane::Plane>> open_plane(const ServeOptions& options, const RankInfo& who,
                                                     const graph::PartitionedGraph& graph, const Host& host,
                                                     Meeting& met) {
  RUDDER_ASSIGN(auto plane, dataplane::Plane::create(graph, std::move(met.transport), *met.rendezvous,
                                                     {.rank = who.rank,
                                                      .world = who.world,
                                                      .parts_each = static_cast<PartId>(host.parts.size()),
                                                      .host = who.host,
                                                      .deadline = from_seconds(options.deadline_seconds),
                                                      .session = "host-dataplane",
                                                      .secret = who.secret,
                                                      .figures = options.figures}));
  std::vector<std::span<const std::byte>> rows;
  for (const graph::Part& part : host.parts) {
    rows.push_back(part.features());
  }
  plane->publish(0, std::move(rows), graph.row_bytes());
  return plane;
}

Result<dataplane::ServiceOptions> service_options(const ServeOptions& options,
                                                  const graph::PartitionedGraph& graph, const Host& host,
                                                  const ServiceLog& log) {
  const auto each = static_cast<PartId>(host.parts.size());
  RUDDER_ASSIGN(const cache::BufferSize size, cache::parse_buffer_size(options.buffer));
  dataplane::ServiceOptions service{.socket = options.socket,
                                    .first_part = host.first,
                                    .parts = each,
                                    .buffer = options.sharing,
                                    .deadline = from_seconds(options.deadline_seconds),
                                    .listener = log};
  const std::size_t halo =
      graph::halo_of(graph.slice(host.first, host.first + each - 1), graph.meta().nodes).size();
  service.buffer.slots = size.slots(halo);
  return service;
}

}  // namespace

Status serve_host(const ServeOptions& options, const RankInfo& who, const RunListener& on_run,
                  const ServiceLog& log, int stop_descriptor) {
  quiet_torch_logs();
  RUDDER_ASSIGN(const graph::PartitionedGraph graph, graph::PartitionedGraph::open(options.partition));
  RUDDER_ASSIGN(const Host host, open_host(graph, who));
  RUDDER_ASSIGN(Meeting met, meet(who, options.link_bits_per_second, from_seconds(options.deadline_seconds)));
  RUDDER_ASSIGN(const auto plane, open_plane(options, who, graph, host, met));
  RUDDER_ASSIGN(dataplane::ServiceOptions serving, service_options(options, graph, host, log));
  RUDDER_ASSIGN(const auto service, dataplane::HostService::open(graph, *plane, std::move(serving)));
  std::atomic<bool> stopped{false};
  const ReadableWatch watch(stop_descriptor, [&] {
    stopped.store(true);
    service->stop();
  });
  for (std::uint64_t run = 0; options.runs == 0 || run < options.runs; ++run) {
    auto served = service->serve_run();
    if (stopped.load()) {
      return {};
    }
    if (!served.ok()) {
      return served.error();
    }
    if (on_run) {
      on_run(served.value());
    }
  }
  // A peer may still want rows when this host's own trainers have left.
  const Status parted = transport::part(*met.rendezvous, "served", who.rank, who.world,
                                        Deadline::in(from_seconds(options.deadline_seconds)));
  return parted.ok() ? parted : parted.error().in("waiting for the other hosts to end their runs");
}

}  // namespace rudder::train
