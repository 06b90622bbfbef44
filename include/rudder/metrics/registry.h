// SPDX-License-Identifier: Apache-2.0
// Figures of a running program: counters, gauges and histograms, and their text for Prometheus.
//
// A figure is registered once, under a lock, by whoever measures; changing it is lock-free, allocates nothing
// and may happen on any thread. Reading takes no lock that a writer needs. Of figures that one thread changes
// one after another, whoever sees the later change sees the earlier one too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rudder::metrics {

/// A whole number that only grows.
class Counter {
 public:
  void add(std::uint64_t count = 1) noexcept { value_.fetch_add(count, std::memory_order_release); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Seconds that only grow.
class TimeCounter {
 public:
  void add(double seconds) noexcept { value_.fetch_add(seconds, std::memory_order_release); }
  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<double> value_{0};
};

/// Seconds that grow while it runs, read or not. One thread at a time starts and stops it.
class Stopwatch {
 public:
  void start() noexcept;
  /// Does nothing unless it runs; start() neither when it does.
  void stop() noexcept;
  [[nodiscard]] double value() const noexcept;

 private:
  [[nodiscard]] static bool runs(std::int64_t word) noexcept { return (word & 1) != 0; }
  /// Twice the nanoseconds so far; or, while it runs, twice what is to be added to the clock, plus one.
  std::atomic<std::int64_t> word_{0};
};

/// A figure that rises and falls.
class Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_release); }
  void add(double change) noexcept { value_.fetch_add(change, std::memory_order_release); }
  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<double> value_{0};
};

/// Counts of values by upper bound. O(log bounds) a value.
class Histogram {
 public:
  /// Ascending, finite; what lies above the last one is counted too.
  explicit Histogram(std::span<const double> bounds);
  void observe(double value) noexcept;
  [[nodiscard]] std::span<const double> bounds() const noexcept { return bounds_; }
  /// Values up to bounds()[i] and above the bound before it; i = bounds().size() for the rest.
  [[nodiscard]] std::uint64_t count(std::size_t i) const noexcept;
  [[nodiscard]] double sum() const noexcept { return sum_.load(std::memory_order_acquire); }

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

/// Bounds for the time of a request between hosts: 50 us to 10 s, 1-2-5.
[[nodiscard]] std::span<const double> latency_bounds() noexcept;

/// Name and value, as written; values may hold anything.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// Thread-safe. Figures live as long as the registry and stay where they are.
///
/// The same name and labels give the same figure again. Names are Prometheus's: [a-z_][a-z0-9_]*, counters
/// end in _total, units are base units and part of the name (_seconds, _bytes). A broken name, or one that is
/// another kind already, is a programmer's error and ends the program.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// `help` of the first registration of a name is kept.
  Counter& counter(std::string_view name, std::string_view help, const Labels& labels = {});
  TimeCounter& seconds(std::string_view name, std::string_view help, const Labels& labels = {});
  Stopwatch& stopwatch(std::string_view name, std::string_view help, const Labels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, std::span<const double> bounds,
                       const Labels& labels = {});

  /// Prometheus's text exposition format 0.0.4: families by name, their series in order of registration.
  [[nodiscard]] std::string text() const;

 private:
  using Figure = std::variant<std::unique_ptr<Counter>, std::unique_ptr<TimeCounter>, std::unique_ptr<Gauge>,
                              std::unique_ptr<Histogram>, std::unique_ptr<Stopwatch>>;
  struct Family {
    std::string help;
    std::vector<std::pair<std::string, Figure>> series;  ///< labels as text without braces, and the figure
  };
  template <class Kind, class... Arguments>
  Kind& figure(std::string_view name, std::string_view help, const Labels& labels, Arguments... arguments);
  static void append(std::string& out, std::string_view name, const std::string& labels, const Figure& held);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace rudder::metrics
