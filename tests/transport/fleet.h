// SPDX-License-Identifier: Apache-2.0
// Endpoints with mailboxes, for the tests of transports.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/transport/transport.h"

namespace rudder::transport {

/// Makes the endpoints of all ranks of a world, unstarted.
struct Kind {
  std::string name;
  std::function<std::vector<std::unique_ptr<Transport>>(Rank world)> make;
};
inline void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

/// Loopback behind links of this rate.
[[nodiscard]] inline Kind shaped_loopback(double bits_per_second, std::size_t burst_bytes) {
  return {"shaped", [=](Rank world) {
            auto ends = make_loopback_transports(world);
            for (auto& end : ends) {
              end = make_shaped_transport(std::move(end), bits_per_second, burst_bytes);
            }
            return ends;
          }};
}

/// What every transport must do, whatever carries its messages: the tests in conformance.cc. Programs that
/// compile it instantiate the suite for their transports.
class TransportConformance : public testing::TestWithParam<Kind> {};

[[nodiscard]] inline Deadline soon() {
  return Deadline::in(std::chrono::seconds(30));
}

struct Letter {
  Rank from = 0;
  std::vector<std::byte> header;
  std::vector<std::byte> body;
};

/// Keeps what arrives, and checks the promises about the calling thread.
class Mailbox final : public Receiver {
 public:
  /// Called before each letter is kept, on the progress thread.
  std::function<void(const Letter&)> on_letter;
  /// Called for every non-empty body; true refuses it.
  std::function<bool(Rank, std::span<const std::byte>)> refuses;

  std::byte* landing(Rank from, std::span<const std::byte> header, std::size_t body_bytes) override;
  void received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) override;
  void peer_failed(Rank peer, const Error& error) override;

  /// Waits until `count` letters have arrived in all, then hands over those not taken yet.
  std::vector<Letter> take(std::size_t count);
  /// Waits until that many bodies have been refused, and says how many have.
  [[nodiscard]] std::size_t wait_refused(std::size_t count);
  /// Waits for a peer's failure; nothing when there is none in time.
  [[nodiscard]] std::optional<Error> wait_failed(Rank peer, Deadline deadline);
  /// Whether every call came from one thread, never two at a time, and bodies landed where they were told.
  [[nodiscard]] testing::AssertionResult kept_promises() const;

 private:
  class Call;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Letter> letters_;
  std::size_t arrived_ = 0;
  std::size_t refused_ = 0;
  std::map<const std::byte*, std::vector<std::byte>> landings_;
  std::map<Rank, Error> failed_;
  std::set<std::thread::id> threads_;
  std::vector<std::string> broken_;
  bool busy_ = false;
};

/// Started and connected endpoints with a mailbox each. Endpoints go before mailboxes.
struct Fleet {
  explicit Fleet(const Kind& kind, Rank world);

  void send(Rank from, Rank to, std::string_view header, std::span<const std::byte> body);
  [[nodiscard]] Status flush_all();

  std::vector<std::unique_ptr<Mailbox>> boxes;
  std::vector<std::unique_ptr<Transport>> ends;
};

/// `size` bytes that depend on `seed` and the position.
[[nodiscard]] std::vector<std::byte> pattern(std::uint64_t seed, std::size_t size);
[[nodiscard]] AlignedBytes copy_of(std::span<const std::byte> bytes);
[[nodiscard]] std::span<const std::byte> as_header(std::string_view text);
[[nodiscard]] std::string as_text(std::span<const std::byte> bytes);

}  // namespace rudder::transport
