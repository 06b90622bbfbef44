// SPDX-License-Identifier: Apache-2.0
// A rank in a process of its own: ucx_peer RANK WORLD. Prints its address in hex, reads all ranks' addresses
// from stdin in the same form, prints "connected", and then does what the headers of arriving messages say:
// "echo" sends the body back, "flood" sends 16 MiB bodies without end, "quit" ends.
#include <charconv>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "rudder/core/text.h"
#include "rudder/transport/transport.h"

namespace rudder::transport {
namespace {

constexpr std::size_t kFloodBytes = std::size_t{16} << 20;

class Servant final : public Receiver {
 public:
  void serve(Transport& transport) { transport_ = &transport; }

  std::byte* landing(Rank, std::span<const std::byte>, std::size_t body_bytes) override {
    AlignedBytes room(body_bytes);
    std::byte* const place = room.data();
    rooms_.emplace(place, std::move(room));
    return place;
  }

  void received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) override {
    std::string order;
    for (const std::byte byte : header) {
      order.push_back(static_cast<char>(byte));
    }
    AlignedBytes room;
    if (const auto found = rooms_.find(body.data()); found != rooms_.end()) {
      room = std::move(found->second);
      rooms_.erase(found);
    }
    if (order == "echo") {
      transport_->send(from, header, std::move(room), body.size(), {});
    } else if (order == "flood") {
      flood(from, AlignedBytes(kFloodBytes));
    } else if (order == "quit") {
      end();
    }
  }

  void peer_failed(Rank, const Error&) override { end(); }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_; });
  }

 private:
  // Each body that has left goes out again.
  void flood(Rank to, AlignedBytes body) {
    transport_->send(to, {}, std::move(body), kFloodBytes,
                     [this, to](AlignedBytes back) { flood(to, std::move(back)); });
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  Transport* transport_ = nullptr;
  std::map<const std::byte*, AlignedBytes> rooms_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

[[nodiscard]] std::string to_hex_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

[[nodiscard]] std::string from_hex_text(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at + 2 <= text.size(); at += 2) {
    unsigned value = 0;
    std::from_chars(text.data() + at, text.data() + at + 2, value, 16);
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

int run(Rank rank, Rank world) {
  Servant servant;
  auto made = make_ucx_transport(rank, world);
  if (!made.ok()) {
    std::cerr << made.error().message << '\n';
    return 1;
  }
  const std::unique_ptr<Transport> end = std::move(made).value();
  servant.serve(*end);
  std::cout << to_hex_text(end->address()) << std::endl;
  std::vector<std::string> addresses;
  for (std::string line; addresses.size() < world && std::getline(std::cin, line);) {
    addresses.push_back(from_hex_text(line));
  }
  Status status = end->start(servant);
  if (status.ok()) {
    status = end->connect(addresses, Deadline::in(std::chrono::seconds(30)));
  }
  if (!status.ok()) {
    std::cerr << status.error().message << '\n';
    return 1;
  }
  std::cout << "connected" << std::endl;
  servant.wait();
  return 0;
}

}  // namespace
}  // namespace rudder::transport

int main(int argc, char** argv) {
  const auto rank = argc == 3 ? rudder::parse_int(argv[1]) : std::nullopt;
  const auto world = argc == 3 ? rudder::parse_int(argv[2]) : std::nullopt;
  if (!rank || !world) {
    std::cerr << "ucx_peer RANK WORLD\n";
    return 2;
  }
  return rudder::transport::run(static_cast<rudder::Rank>(*rank), static_cast<rudder::Rank>(*world));
}
