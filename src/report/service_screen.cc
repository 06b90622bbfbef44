// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "rudder/core/text.h"
#include "rudder/report/service_view.h"
#include "rudder/report/table.h"

namespace rudder::report {
namespace {

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}
std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.2f}", 1e3 * *seconds) : "-";
}
std::string whole(double number) {
  return fmt::format("{:.0f}", number);
}
std::string bytes_a_second(double bytes) {
  return human_bytes(bytes) + "/s";
}

const char* state_of(const TrainerView& trainer) {
  if (!trainer.attached) {
    return "absent";
  }
  return trainer.waiting ? "waits" : "fed";
}

std::string head(const ServiceView& view) {
  std::string text = view.host ? fmt::format("host {}", *view.host) : "a host";
  if (!view.policy.empty()) {
    text += ", policy " + view.policy;
  }
  // It comes from another process.
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string trainers_table(const ServiceView& view) {
  TextTable table({"trainer", "state", "batches/s", "rows/s", "waiting", "ahead", "batches", "rows"});
  for (const TrainerView& trainer : view.trainers) {
    table.add({std::to_string(trainer.trainer), state_of(trainer),
               fmt::format("{:.2f}", trainer.batches.per_second), whole(trainer.rows.per_second),
               percent(trainer.wait_share), whole(trainer.ahead), whole(trainer.batches.total),
               whole(trainer.rows.total)});
  }
  return table.text();
}

std::string peers_table(const ServiceView& view) {
  TextTable table(
      {"peer", "requests/s", "rows/s", "bytes/s", "p50 ms", "p95 ms", "in flight", "queued", "rows"});
  for (const PeerView& peer : view.peers) {
    table.add({std::to_string(peer.peer), fmt::format("{:.1f}", peer.requests.per_second),
               whole(peer.rows.per_second), bytes_a_second(peer.payload_bytes.per_second),
               milliseconds(peer.latency_p50), milliseconds(peer.latency_p95),
               fmt::format("{:.0f} of {:.0f}", peer.in_flight, view.credits), whole(peer.queued),
               whole(peer.rows.total)});
  }
  return table.text();
}

/// The first `lines` lines of at most `columns` bytes each. All that is shown is ASCII.
std::string cut(std::string_view text, std::size_t columns, std::size_t lines) {
  std::string out;
  for (; lines > 0 && !text.empty(); --lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += text.substr(0, std::min(end, columns));
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string service_screen(const ServiceView& view, std::size_t columns, std::size_t lines) {
  std::string text =
      fmt::format("{}, {:.0f} runs served; over {:.1f} s:\n\n", head(view), view.runs, view.seconds);
  text += fmt::format("rows     {:.0f}/s requested, {} hit, {:.0f}/s fetched, {:.0f}/s bypassed\n",
                      view.requested.per_second, percent(view.hit_share()), view.fetched.per_second,
                      view.bypassed.per_second);
  text += fmt::format("network  {} of rows, {} on the wire, {:.0f} messages/s\n",
                      bytes_a_second(view.payload_bytes.per_second),
                      bytes_a_second(view.wire_bytes.per_second), view.messages.per_second);
  text += fmt::format("buffer   {:.0f} of {:.0f} rows, {:.0f} plans in flight\n", view.occupied, view.slots,
                      view.plans_in_flight);
  if (!view.trainers.empty()) {
    text += '\n';
    text += trainers_table(view);
  }
  if (!view.peers.empty()) {
    text += '\n';
    text += peers_table(view);
  }
  return cut(text, columns, lines);
}

std::string service_line(const ServiceView& view) {
  const auto waiting =
      std::ranges::count_if(view.trainers, [](const TrainerView& t) { return t.attached && t.waiting; });
  const auto attached = std::ranges::count_if(view.trainers, &TrainerView::attached);
  double queued = 0;
  for (const PeerView& peer : view.peers) {
    queued += peer.queued;
  }
  return fmt::format(
      "{}: {:.0f} rows/s, {} hit, {:.0f} fetched/s, {}; buffer {:.0f} of {:.0f}, {:.0f} plans in flight, "
      "{:.0f} requests queued; {} of {} trainers attached, {} waiting",
      head(view), view.requested.per_second, percent(view.hit_share()), view.fetched.per_second,
      bytes_a_second(view.payload_bytes.per_second), view.occupied, view.slots, view.plans_in_flight, queued,
      attached, view.trainers.size(), waiting);
}

}  // namespace rudder::report
