// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/registry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "rudder/core/check.h"
#include "rudder/core/clock.h"

namespace rudder::metrics {
namespace {

bool is_name(std::string_view name) {
  return !name.empty() && (name[0] < '0' || name[0] > '9') &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
}

/// Bytes of the UTF-8 character that `text` begins with; 0 when it begins with none.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) {
    return 0;
  }
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    // Above the first continuation byte's own limits lie surrogates, overlong forms and what is no Unicode.
    const unsigned low = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (next < low || next > high) {
      return 0;
    }
  }
  return bytes;
}

/// The format is UTF-8 with backslash escapes; bytes that are no UTF-8 become '?'.
std::string escaped(std::string_view text, bool quoted) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const char c = text[0];
    if (c == '\\' || (c == '"' && quoted)) {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += bytes == 0 ? std::string_view("?") : text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  return out;
}

std::string labels_text(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    RUDDER_CHECK(is_name(name) && name != "le", "a label's name is of Prometheus's form and not le");
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escaped(value, true));
  }
  return out;
}

/// Shortest text that reads back as the same number.
std::string number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  return std::isinf(value) ? (value > 0 ? "+Inf" : "-Inf") : fmt::format("{}", value);
}

std::string sample(std::string_view name, std::string_view suffix, const std::string& labels,
                   std::string_view more, const std::string& value) {
  const std::string_view comma = labels.empty() || more.empty() ? "" : ",";
  const bool bare = labels.empty() && more.empty();
  return bare ? fmt::format("{}{} {}\n", name, suffix, value)
              : fmt::format("{}{}{{{}{}{}}} {}\n", name, suffix, labels, comma, more, value);
}

constexpr std::array<double, 17> kLatencyBounds = {5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2,
                                                   5e-2, 0.1,  0.2,  0.5,  1,    2,    5,    10};

}  // namespace

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {
  RUDDER_CHECK(std::ranges::adjacent_find(bounds, std::greater_equal<>()) == bounds.end() &&
                   std::ranges::all_of(bounds, [](double bound) { return std::isfinite(bound); }),
               "a histogram's bounds ascend");
}

void Histogram::observe(double value) noexcept {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  sum_.fetch_add(value, std::memory_order_release);
  counts_[static_cast<std::size_t>(bound - bounds_.begin())].fetch_add(1, std::memory_order_release);
}

std::uint64_t Histogram::count(std::size_t i) const noexcept {
  return counts_[i].load(std::memory_order_acquire);
}

std::span<const double> latency_bounds() noexcept {
  return kLatencyBounds;
}

void Stopwatch::start() noexcept {
  const std::int64_t word = word_.load(std::memory_order_relaxed);
  if (!runs(word)) {
    const std::int64_t now = steady_clock().now().time_since_epoch().count();
    word_.store((word / 2 - now) * 2 + 1, std::memory_order_release);
  }
}

void Stopwatch::stop() noexcept {
  const std::int64_t word = word_.load(std::memory_order_relaxed);
  if (runs(word)) {
    const std::int64_t now = steady_clock().now().time_since_epoch().count();
    word_.store(((word >> 1) + now) * 2, std::memory_order_release);
  }
}

double Stopwatch::value() const noexcept {
  const std::int64_t word = word_.load(std::memory_order_acquire);
  const std::int64_t now = runs(word) ? steady_clock().now().time_since_epoch().count() : 0;
  return to_seconds(Duration((word >> 1) + now));
}

template <class Kind, class... Arguments>
Kind& Registry::figure(std::string_view name, std::string_view help, const Labels& labels,
                       Arguments... arguments) {
  RUDDER_CHECK(is_name(name), "a metric's name is of Prometheus's form");
  const std::string text = labels_text(labels);
  const std::lock_guard lock(mutex_);
  const auto [family, is_new] = families_.try_emplace(std::string(name));
  if (is_new) {
    family->second.help = help;
  }
  for (auto& [known, held] : family->second.series) {
    RUDDER_CHECK(std::holds_alternative<std::unique_ptr<Kind>>(held), "a metric's name has one kind");
    if (known == text) {
      return **std::get_if<std::unique_ptr<Kind>>(&held);
    }
  }
  auto made = std::make_unique<Kind>(arguments...);
  Kind& result = *made;
  family->second.series.emplace_back(text, std::move(made));
  return result;
}

Counter& Registry::counter(std::string_view name, std::string_view help, const Labels& labels) {
  RUDDER_CHECK(name.ends_with("_total"), "a counter's name ends in _total");
  return figure<Counter>(name, help, labels);
}

TimeCounter& Registry::seconds(std::string_view name, std::string_view help, const Labels& labels) {
  RUDDER_CHECK(name.ends_with("_seconds_total"), "the name of a time ends in _seconds_total");
  return figure<TimeCounter>(name, help, labels);
}

Stopwatch& Registry::stopwatch(std::string_view name, std::string_view help, const Labels& labels) {
  RUDDER_CHECK(name.ends_with("_seconds_total"), "the name of a time ends in _seconds_total");
  return figure<Stopwatch>(name, help, labels);
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, const Labels& labels) {
  RUDDER_CHECK(!name.ends_with("_total"), "only counters' names end in _total");
  return figure<Gauge>(name, help, labels);
}

Histogram& Registry::histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                               const Labels& labels) {
  return figure<Histogram>(name, help, labels, bounds);
}

void Registry::append(std::string& out, std::string_view name, const std::string& labels,
                      const Figure& held) {
  if (const auto* counter = std::get_if<std::unique_ptr<Counter>>(&held)) {
    out += sample(name, "", labels, "", fmt::to_string((*counter)->value()));
  } else if (const auto* time = std::get_if<std::unique_ptr<TimeCounter>>(&held)) {
    out += sample(name, "", labels, "", number((*time)->value()));
  } else if (const auto* watch = std::get_if<std::unique_ptr<Stopwatch>>(&held)) {
    out += sample(name, "", labels, "", number((*watch)->value()));
  } else if (const auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&held)) {
    out += sample(name, "", labels, "", number((*gauge)->value()));
  } else if (const auto* buckets = std::get_if<std::unique_ptr<Histogram>>(&held)) {
    const Histogram& histogram = **buckets;
    std::uint64_t below = 0;  // the last line and the count agree whatever is observed meanwhile
    for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
      below += histogram.count(i);
      const std::string bound = i < histogram.bounds().size() ? number(histogram.bounds()[i]) : "+Inf";
      out += sample(name, "_bucket", labels, fmt::format("le=\"{}\"", bound), fmt::to_string(below));
    }
    out += sample(name, "_sum", labels, "", number(histogram.sum()));
    out += sample(name, "_count", labels, "", fmt::to_string(below));
  }
}

std::string Registry::text() const {
  constexpr std::array<std::string_view, 5> kTypes = {"counter", "counter", "gauge", "histogram", "counter"};
  std::string out;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) {
    const std::size_t kind = family.series.front().second.index();
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(family.help, false), name, kTypes[kind]);
    for (const auto& [labels, held] : family.series) {
      append(out, name, labels, held);
    }
  }
  return out;
}

}  // namespace rudder::metrics
