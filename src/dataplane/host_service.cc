// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/host_service.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rudder/core/check.h"

#include "dataplane/host_buffer.h"
#include "dataplane/local_socket.h"
#include "dataplane/reception.h"
#include "dataplane/served_trainer.h"
#include "dataplane/service_figures.h"
#include "dataplane/service_wire.h"

namespace rudder::dataplane {
namespace {

template <class T>
Status differ(const char* what, const T& theirs, const T& ours) {
  return Error{Errc::kPeer, fmt::format("{} '{}' at the trainer, '{}' at its host", what, theirs, ours)};
}

Status check_same_run(const RunShape& theirs, const RunShape& ours) {
  if (theirs.seed != ours.seed) {
    return differ("seed", theirs.seed, ours.seed);
  }
  if (theirs.steps != ours.steps) {
    return differ("steps", theirs.steps, ours.steps);
  }
  if (theirs.steps_per_epoch != ours.steps_per_epoch) {
    return differ("steps an epoch", theirs.steps_per_epoch, ours.steps_per_epoch);
  }
  if (theirs.batch != ours.batch) {
    return differ("batch", theirs.batch, ours.batch);
  }
  if (theirs.fanout != ours.fanout) {
    return differ("fan-out", fmt::format("{}", fmt::join(theirs.fanout, ",")),
                  fmt::format("{}", fmt::join(ours.fanout, ",")));
  }
  return {};
}

}  // namespace

class HostService::Impl {
 public:
  Impl(const graph::PartitionedGraph& graph, Plane& plane, ServiceOptions options, Descriptor wake)
      : graph_(graph),
        plane_(plane),
        options_(std::move(options)),
        figures_(plane.options(), options_.first_part, options_.parts),
        wake_(std::move(wake)) {}

  /// Once, before all other calls.
  [[nodiscard]] Status open_reception(LocalListener listener) {
    RUDDER_ASSIGN(reception_,
                  Reception::open(std::move(listener), plane_.options().figures, [this] { wake(); }));
    return {};
  }

  [[nodiscard]] Result<ServedRun> serve_run() {
    RUDDER_ASSIGN(std::vector<Applicant> applicants, gather_trainers());
    const RunShape run = applicants.front().request.run;
    auto buffer = make_buffer(run);
    if (!buffer.ok()) {
      let_go(applicants, buffer.error());
      return buffer.error();
    }
    return serve(std::move(applicants), run, *buffer.value());
  }

  void stop() noexcept {
    stopping_.store(true, std::memory_order_relaxed);
    wake();
  }

 private:
  using Trainers = std::vector<std::unique_ptr<ServedTrainer>>;

  void say(const std::string& text) const {
    if (options_.listener) {
      options_.listener(text);
    }
  }

  void wake() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_.get(), &one, sizeof(one)));
  }

  void wait(const std::optional<Deadline>& deadline) const;
  [[nodiscard]] Status check(const Applicant& applicant, const std::vector<Applicant>& others) const;
  void admit_or_refuse(Result<Applicant> arrival, std::vector<Applicant>& applicants);
  [[nodiscard]] Result<std::vector<Applicant>> gather_trainers();
  void let_go(std::vector<Applicant>& applicants, const Error& why);
  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> make_buffer(const RunShape& run);
  [[nodiscard]] Trainers start(std::vector<Applicant> applicants, const RunShape& run, HostBuffer& buffer);
  [[nodiscard]] Result<ServedRun> serve(std::vector<Applicant> applicants, const RunShape& run,
                                        HostBuffer& buffer);
  void collect_ended(Trainers& trainers, ServedRun& total);
  void refuse_latecomers();

  const graph::PartitionedGraph& graph_;
  Plane& plane_;
  const ServiceOptions options_;
  ServiceFigures figures_;
  Descriptor wake_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Reception> reception_;  ///< wakes
};

/// Until somebody calls wake(), or the deadline.
void HostService::Impl::wait(const std::optional<Deadline>& deadline) const {
  int timeout = -1;
  if (deadline) {
    const Duration left = deadline->at() - steady_clock().now();
    timeout = static_cast<int>(
        std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0, 1'000'000));
  }
  pollfd woken{wake_.get(), POLLIN, 0};
  if (::poll(&woken, 1, timeout) > 0) {
    std::uint64_t count = 0;
    static_cast<void>(!::read(wake_.get(), &count, sizeof(count)));
  }
}

Status HostService::Impl::check(const Applicant& applicant, const std::vector<Applicant>& others) const {
  const AttachRequest& request = applicant.request;
  if (request.graph_digest != graph_.graph_digest()) {
    return differ("graph digest", request.graph_digest, graph_.graph_digest());
  }
  if (request.partition_digest != graph_.digest()) {
    return differ("partition digest", request.partition_digest, graph_.digest());
  }
  if (request.rank < options_.first_part || request.rank - options_.first_part >= options_.parts) {
    return Error{Errc::kPeer, fmt::format("this host has ranks {} to {}, not {}", options_.first_part,
                                          options_.first_part + options_.parts - 1, request.rank)};
  }
  for (const Applicant& other : others) {
    if (other.request.rank == request.rank) {
      return Error{Errc::kPeer, fmt::format("rank {} has attached already", request.rank)};
    }
  }
  return others.empty() ? Status() : check_same_run(request.run, others.front().request.run);
}

void HostService::Impl::admit_or_refuse(Result<Applicant> arrival, std::vector<Applicant>& applicants) {
  if (!arrival.ok()) {
    say("refused: " + arrival.error().message);
    return;
  }
  Applicant& applicant = arrival.value();
  const Status fits = check(applicant, applicants);
  if (!fits.ok()) {
    say(fmt::format("refused rank {}: {}", applicant.request.rank, fits.error().message));
    applicant.refuse(fits.error());
    return;
  }
  say(fmt::format("rank {} attached", applicant.request.rank));
  figures_.attached(applicant.request.rank);
  applicants.push_back(std::move(applicant));
}

void HostService::Impl::let_go(std::vector<Applicant>& applicants, const Error& why) {
  for (Applicant& applicant : applicants) {
    applicant.refuse(why);
    figures_.left(applicant.request.rank);
  }
  applicants.clear();
}

/// Waits for all of the host's trainers; in rank order.
Result<std::vector<Applicant>> HostService::Impl::gather_trainers() {
  std::vector<Applicant> applicants;
  std::optional<Deadline> deadline;
  for (;;) {
    while (applicants.size() < options_.parts) {
      auto arrival = reception_->take();
      if (!arrival) {
        break;
      }
      admit_or_refuse(*std::move(arrival), applicants);
    }
    if (stopping_.load(std::memory_order_relaxed)) {
      return Error{Errc::kCancelled, "the service was stopped"};
    }
    if (applicants.size() == options_.parts) {
      break;
    }
    if (!deadline && !applicants.empty()) {
      deadline = Deadline::in(options_.deadline);
    }
    if (deadline && deadline->passed()) {
      const Error late{Errc::kTimeout,
                       fmt::format("only {} of {} trainers attached within {:.1f} s", applicants.size(),
                                   options_.parts, to_seconds(options_.deadline))};
      let_go(applicants, late);
      say(late.message);
      deadline.reset();
    }
    wait(deadline);
  }
  std::ranges::sort(applicants, {}, [](const Applicant& a) { return a.request.rank; });
  return applicants;
}

Result<std::unique_ptr<HostBuffer>> HostService::Impl::make_buffer(const RunShape& run) {
  std::vector<PartId> parts(options_.parts);
  std::iota(parts.begin(), parts.end(), options_.first_part);
  return HostBuffer::create(graph_, parts, plane_, run, options_.buffer, shared_row_memory());
}

HostService::Impl::Trainers HostService::Impl::start(std::vector<Applicant> applicants, const RunShape& run,
                                                     HostBuffer& buffer) {
  Trainers trainers;
  for (std::size_t i = 0; i < applicants.size(); ++i) {
    auto supply = buffer.supply(i);
    // One that is gone by now ends its threads at once.
    static_cast<void>(applicants[i].control.send(static_cast<std::uint32_t>(ServiceFrame::kWelcome),
                                                 encode_terms(supply->terms())));
    trainers.push_back(std::make_unique<ServedTrainer>(
        std::move(applicants[i]), std::move(supply),
        std::make_unique<TrainerFigures>(plane_.options(), options_.buffer.policy, options_.first_part + i),
        ServedTrainer::Setting{.steps = run.steps,
                               .nodes = graph_.book().nodes(),
                               .owned_begin = graph_.book().begin(options_.first_part),
                               .owned_end = graph_.book().end(options_.first_part + options_.parts - 1),
                               .ended = [this] { wake(); }}));
    trainers.back()->start();
  }
  return trainers;
}

void HostService::Impl::collect_ended(Trainers& trainers, ServedRun& total) {
  std::erase_if(trainers, [&](const std::unique_ptr<ServedTrainer>& trainer) {
    if (!trainer->ended()) {
      return false;
    }
    total.counts += trainer->counts();
    total.transfer += trainer->transfer();
    figures_.left(trainer->rank());
    say(trainer->failure()
            ? fmt::format("rank {} left early: {}", trainer->rank(), trainer->failure()->message)
            : fmt::format("rank {} left", trainer->rank()));
    return true;
  });
}

void HostService::Impl::refuse_latecomers() {
  while (auto arrival = reception_->take()) {
    if (arrival->ok()) {
      arrival->value().refuse(Error{Errc::kPeer, "a run of all this host's trainers is under way"});
    } else {
      say("refused: " + arrival->error().message);
    }
  }
}

Result<ServedRun> HostService::Impl::serve(std::vector<Applicant> applicants, const RunShape& run,
                                           HostBuffer& buffer) {
  ServedRun total;
  total.steps = run.steps;
  Trainers trainers = start(std::move(applicants), run, buffer);
  while (!trainers.empty()) {
    wait(std::nullopt);
    if (stopping_.load(std::memory_order_relaxed)) {
      const Error stopped{Errc::kCancelled, "the service was stopped"};
      buffer.fail(stopped);
      return stopped;  // the trainers' connections are closed, their threads joined
    }
    collect_ended(trainers, total);
    if (!trainers.empty()) {
      refuse_latecomers();
    }
  }
  if (const auto failure = buffer.failure()) {
    return *failure;
  }
  figures_.run_served();
  return total;
}

HostService::HostService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostService::~HostService() = default;

Result<std::unique_ptr<HostService>> HostService::open(const graph::PartitionedGraph& graph, Plane& plane,
                                                       ServiceOptions options) {
  RUDDER_CHECK(options.parts > 0 && options.first_part + options.parts <= graph.book().parts(),
               "a host's parts are parts of the graph");
  RUDDER_TRY(works_ahead(options.buffer));  // names the policy that cannot be served before anybody attaches
  RUDDER_ASSIGN(LocalListener listener, LocalListener::open(options.socket));
  Descriptor wake(::eventfd(0, EFD_CLOEXEC));
  if (!wake.valid()) {
    return Error{Errc::kResource, "no event descriptor: " + std::generic_category().message(errno)};
  }
  auto impl = std::make_unique<Impl>(graph, plane, std::move(options), std::move(wake));
  RUDDER_TRY(impl->open_reception(std::move(listener)));
  return std::unique_ptr<HostService>(new HostService(std::move(impl)));
}

Result<ServedRun> HostService::serve_run() {
  return impl_->serve_run();
}

void HostService::stop() noexcept {
  impl_->stop();
}

}  // namespace rudder::dataplane
