// SPDX-License-Identifier: Apache-2.0
// What comes over a service's socket: trainers' applications and offers, the service's answers to them, and
// the figures that it shows to watchers, up to what is drawn of them.
#include <algorithm>
#include <string>
#include <vector>

#include "rudder/metrics/page.h"
#include "rudder/report/service_view.h"

#include "dataplane/service_wire.h"
#include "fuzz_input.h"

namespace rudder::dataplane {
namespace {

bool same(const std::vector<std::byte>& a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void texts(std::span<const std::byte> bytes) {
  if (const auto request = decode_attach(bytes); request.ok()) {
    const auto again = decode_attach(encode_attach(*request));
    RUDDER_CHECK(again.ok() && again->rank == request->rank && again->run.fanout == request->run.fanout &&
                     again->graph_digest == request->graph_digest,
                 "applications come back");
  }
  if (const auto terms = decode_terms(bytes); terms.ok()) {
    const auto again = decode_terms(encode_terms(*terms));
    RUDDER_CHECK(again.ok() && again->policy == terms->policy && again->parts == terms->parts,
                 "terms come back");
  }
  const Error failure = decode_failure(bytes);
  const Error again = decode_failure(encode_failure(failure));
  RUDDER_CHECK(again.code == failure.code && again.message == failure.message, "reasons come back");
}

void blocks(std::span<const std::byte> bytes) {
  if (const auto notice = decode_block(bytes); notice.ok()) {
    RUDDER_CHECK(same(encode_block(*notice), bytes), "a notice of memory has one form");
  }
}

void rows(fuzz::Input& input) {
  const std::size_t count = input.integer(1);
  const auto bytes = input.rest();
  if (const auto notice = decode_rows(bytes, count); notice.ok()) {
    std::vector<std::byte> again;
    encode_rows(*notice, again);
    RUDDER_CHECK(notice->places.size() == count && same(again, bytes), "a notice of rows has one form");
  }
}

void offer(fuzz::Input& input) {
  const auto nodes = static_cast<NodeId>(input.integer(4));
  const auto begin = static_cast<NodeId>(input.integer(4));
  const NodeId end = begin + static_cast<NodeId>(input.integer(2));
  const auto bytes = input.rest();
  if (const auto ids = decode_offer(bytes, nodes, begin, end); ids.ok()) {
    RUDDER_CHECK(std::ranges::none_of(*ids, [&](NodeId id) { return id >= begin && id < end; }),
                 "nobody offers what the host owns");
    std::vector<std::byte> again;
    encode_offer(*ids, again);
    RUDDER_CHECK(same(again, bytes), "an offer has one form");
  }
}

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    out += c == '\n' ? "\\n" : c == '"' ? "\\\"" : c == '\\' ? "\\\\" : std::string(1, c);
  }
  return out;
}

void page(const metrics::Page& page, const metrics::Page& before) {
  std::string text;
  for (const metrics::Sample& sample : page.samples()) {
    text += sample.name;
    for (std::size_t i = 0; i < sample.labels.size(); ++i) {
      const auto& [name, value] = sample.labels[i];
      text += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", name, escaped(value));
    }
    text += fmt::format("{} {}\n", sample.labels.empty() ? "" : "}", 7);
  }
  const auto again = metrics::Page::parse(text);
  RUDDER_CHECK(again.ok() && again->samples().size() == page.samples().size(), "what was read can be read");
  for (std::size_t i = 0; i < page.samples().size(); ++i) {
    RUDDER_CHECK(again->samples()[i].name == page.samples()[i].name &&
                     again->samples()[i].labels == page.samples()[i].labels,
                 "and is the same");
  }
  const auto view = report::view_service({Duration(0), before}, {Duration(1), page});
  const std::string screen = report::service_screen(view, 40, 12) + report::service_line(view);
  RUDDER_CHECK(std::ranges::all_of(screen, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }),
               "nothing but text is drawn");
}

void figures(std::span<const std::byte> bytes) {
  const auto notice = decode_figures(bytes);
  if (!notice.ok()) {
    return;
  }
  RUDDER_CHECK(same(encode_figures(*notice), bytes), "figures have one form");
  if (const auto now = metrics::Page::parse(notice->page); now.ok()) {
    page(*now, metrics::Page());
    page(*now, *now);
  }
}

}  // namespace
}  // namespace rudder::dataplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(5)) {
    case 0:
      rudder::dataplane::texts(input.rest());
      break;
    case 1:
      rudder::dataplane::blocks(input.rest());
      break;
    case 2:
      rudder::dataplane::rows(input);
      break;
    case 3:
      rudder::dataplane::offer(input);
      break;
    default:
      rudder::dataplane::figures(input.rest());
  }
  return 0;
}
