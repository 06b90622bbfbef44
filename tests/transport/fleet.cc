// SPDX-License-Identifier: Apache-2.0
#include "transport/fleet.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/rng.h"

namespace rudder::transport {

// Marks the time inside a callback and notes a second one that overlaps.
class Mailbox::Call {
 public:
  explicit Call(Mailbox& box) : box_(box) {
    const std::lock_guard lock(box.mutex_);
    if (std::exchange(box.busy_, true)) {
      box.broken_.emplace_back("two calls at a time");
    }
    box.threads_.insert(std::this_thread::get_id());
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    const std::lock_guard lock(box_.mutex_);
    box_.busy_ = false;
  }

 private:
  Mailbox& box_;
};

std::byte* Mailbox::landing(Rank from, std::span<const std::byte> header, std::size_t body_bytes) {
  const Call call(*this);
  const bool refuse = refuses && refuses(from, header);
  const std::lock_guard lock(mutex_);
  if (body_bytes == 0) {
    broken_.emplace_back("landing() for an empty body");
  }
  if (refuse) {
    ++refused_;
    changed_.notify_all();
    return nullptr;
  }
  std::vector<std::byte> room(body_bytes);
  std::byte* const place = room.data();
  landings_.emplace(place, std::move(room));
  return place;
}

void Mailbox::received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) {
  const Call call(*this);
  Letter letter{from, {header.begin(), header.end()}, {}};
  if (!body.empty()) {
    const std::lock_guard lock(mutex_);
    const auto found = landings_.find(body.data());
    if (found == landings_.end() || found->second.size() != body.size()) {
      broken_.emplace_back("received() elsewhere than landing() said");
      return;
    }
    letter.body = std::move(found->second);
    landings_.erase(found);
  }
  if (on_letter) {
    on_letter(letter);
  }
  {
    const std::lock_guard lock(mutex_);
    ++arrived_;
    letters_.push_back(std::move(letter));
  }
  changed_.notify_all();
}

void Mailbox::peer_failed(Rank peer, const Error& error) {
  const Call call(*this);
  {
    const std::lock_guard lock(mutex_);
    if (!failed_.emplace(peer, error).second) {
      broken_.push_back(fmt::format("peer_failed({}) twice", peer));
    }
  }
  changed_.notify_all();
}

std::vector<Letter> Mailbox::take(std::size_t count) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, soon().at(), [&] { return arrived_ >= count; })) {
    ADD_FAILURE() << "only " << arrived_ << " of " << count << " letters arrived";
  }
  return std::exchange(letters_, {});
}

std::size_t Mailbox::wait_refused(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, soon().at(), [&] { return refused_ >= count; });
  return refused_;
}

std::optional<Error> Mailbox::wait_failed(Rank peer, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline.at(), [&] { return failed_.contains(peer); })) {
    return std::nullopt;
  }
  return failed_.at(peer);
}

testing::AssertionResult Mailbox::kept_promises() const {
  const std::lock_guard lock(mutex_);
  if (threads_.size() > 1) {
    return testing::AssertionFailure() << "calls from " << threads_.size() << " threads";
  }
  if (!broken_.empty()) {
    return testing::AssertionFailure() << fmt::format("{}", fmt::join(broken_, "; "));
  }
  return testing::AssertionSuccess();
}

Fleet::Fleet(const Kind& kind, Rank world) : ends(kind.make(world)) {
  std::vector<std::string> addresses;
  for (auto& end : ends) {
    boxes.push_back(std::make_unique<Mailbox>());
    addresses.push_back(end->address());
    const Status started = end->start(*boxes.back());
    EXPECT_TRUE(started.ok()) << started.error().message;
  }
  std::vector<std::jthread> threads;
  for (auto& end : ends) {
    threads.emplace_back([&addresses, &end] {
      const Status connected = end->connect(addresses, soon());
      EXPECT_TRUE(connected.ok()) << connected.error().message;
    });
  }
}

void Fleet::send(Rank from, Rank to, std::string_view header, std::span<const std::byte> body) {
  ends[from]->send(to, as_header(header), copy_of(body), body.size(), {});
}

Status Fleet::flush_all() {
  for (auto& end : ends) {
    RUDDER_TRY(end->flush(soon()));
  }
  return {};
}

std::vector<std::byte> pattern(std::uint64_t seed, std::size_t size) {
  CounterRng rng(seed);
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = rng();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), size - at));
  }
  return bytes;
}

AlignedBytes copy_of(std::span<const std::byte> bytes) {
  AlignedBytes copy(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.data());
  return copy;
}

std::span<const std::byte> as_header(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string as_text(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), text.begin(), [](std::byte b) { return static_cast<char>(b); });
  return text;
}

}  // namespace rudder::transport
