// SPDX-License-Identifier: Apache-2.0
// Messages between two processes over UCX (TCP loopback unless UCX_TLS says otherwise) and between two
// endpoints of one process.
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/transport/transport.h"

namespace rudder::transport {
namespace {

constexpr std::byte kEcho{1};  ///< send the body back
constexpr std::byte kAck{2};   ///< send an empty message back
constexpr std::byte kQuit{3};

[[nodiscard]] Deadline soon() {
  return Deadline::in(std::chrono::seconds(60));
}

void expect(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::exit(1);
  }
}

/// Answers as the header says, or counts answers on the measuring side. Body memory goes round.
class Party final : public Receiver {
 public:
  std::unique_ptr<Transport> end;

  std::byte* landing(Rank, std::span<const std::byte>, std::size_t body_bytes) override {
    AlignedBytes room = take_room(body_bytes);
    std::byte* const place = room.data();
    landed_.emplace(place, std::move(room));
    return place;
  }

  void received(Rank from, std::span<const std::byte> header, std::span<std::byte> body) override {
    AlignedBytes room;
    if (!body.empty()) {
      room = std::move(landed_.extract(body.data()).mapped());
    }
    const std::byte order = header.empty() ? std::byte{0} : header[0];
    if (order == kEcho) {
      end->send(from, {}, std::move(room), body.size(), [this](AlignedBytes back) { keep(std::move(back)); });
      return;
    }
    if (order == kAck) {
      end->send(from, {}, {}, 0, {});
    }
    keep(std::move(room));
    {
      const std::lock_guard lock(mutex_);
      ++answers_;
      quit_ = quit_ || order == kQuit;
    }
    changed_.notify_all();
  }

  void peer_failed(Rank, const Error&) override {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_all();
  }

  void send(std::byte order, std::size_t body_bytes) {
    end->send(1, std::span(&order, 1), take_room(body_bytes), body_bytes,
              [this](AlignedBytes back) { keep(std::move(back)); });
  }

  /// Waits until answers beyond `pending` fewer than asked for have come.
  void wait_answers(std::size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, soon().at(), [&] { return answers_ >= count || quit_; }) || quit_) {
      std::fprintf(stderr, "the other side does not answer\n");
      std::exit(1);
    }
  }
  [[nodiscard]] std::size_t answers() {
    const std::lock_guard lock(mutex_);
    return answers_;
  }
  void wait_quit() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return quit_; });
  }

 private:
  AlignedBytes take_room(std::size_t size) {
    const std::lock_guard lock(mutex_);
    AlignedBytes room;
    if (!rooms_.empty()) {
      room = std::move(rooms_.back());
      rooms_.pop_back();
    }
    const std::size_t before = room.size();
    room.ensure(size);
    if (room.size() != before) {
      std::memset(room.data(), 1, room.size());
    }
    return room;
  }
  void keep(AlignedBytes room) {
    const std::lock_guard lock(mutex_);
    if (room.size() != 0) {
      rooms_.push_back(std::move(room));
    }
  }

  std::map<const std::byte*, AlignedBytes> landed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<AlignedBytes> rooms_;
  std::size_t answers_ = 0;
  bool quit_ = false;
};

void write_address(int fd, const std::string& address) {
  const std::size_t size = address.size();
  if (write(fd, &size, sizeof(size)) != static_cast<ssize_t>(sizeof(size)) ||
      write(fd, address.data(), size) != static_cast<ssize_t>(size)) {
    std::exit(1);
  }
}

[[nodiscard]] std::string read_address(int fd) {
  std::size_t size = 0;
  if (read(fd, &size, sizeof(size)) != static_cast<ssize_t>(sizeof(size))) {
    std::exit(1);
  }
  std::string address(size, '\0');
  if (read(fd, address.data(), size) != static_cast<ssize_t>(size)) {
    std::exit(1);
  }
  return address;
}

void join(Party& party, Rank rank, int in, int out) {
  auto made = make_ucx_transport(rank, 2);
  if (!made.ok()) {
    expect(made.error());
  }
  party.end = std::move(made).value();
  write_address(out, party.end->address());
  std::array<std::string, 2> addresses;
  addresses[rank] = party.end->address();
  addresses[1 - rank] = read_address(in);
  expect(party.end->start(party));
  expect(party.end->connect(addresses, soon()));
}

void ping_pong(benchmark::State& state, Party& party) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    const std::size_t before = party.answers();
    party.send(kEcho, bytes);
    party.wait_answers(before + 1);
  }
  state.SetLabel("round trip");
}

void stream(benchmark::State& state, Party& party) {
  constexpr std::size_t kInFlight = 8;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::size_t before = party.answers();
  std::size_t sent = 0;
  for (auto _ : state) {
    party.send(kAck, bytes);
    if (++sent > kInFlight) {
      party.wait_answers(before + sent - kInFlight);
    }
  }
  party.wait_answers(before + sent);
  state.SetBytesProcessed(static_cast<std::int64_t>(sent * bytes));
}

void register_all(const std::string& name, Party& party) {
  const auto add = [&](const char* what, void (*body)(benchmark::State&, Party&)) {
    return benchmark::RegisterBenchmark((name + what).c_str(),
                                        [body, &party](benchmark::State& state) { body(state, party); })
        ->UseRealTime();
  };
  add("/ping_pong", ping_pong)->Arg(0)->Arg(1 << 10)->Arg(64 << 10)->Arg(1 << 20);
  add("/stream", stream)->Arg(1 << 10)->Arg(64 << 10)->Arg(1 << 20)->Arg(16 << 20);
}

int run(int argc, char** argv) {
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  if (pipe(down.data()) != 0 || pipe(up.data()) != 0) {
    return 1;
  }
  const pid_t child = fork();
  if (child == 0) {
    Party party;
    join(party, 1, down[0], up[1]);
    party.wait_quit();
    return 0;
  }
  Party party;
  join(party, 0, up[0], down[1]);

  auto ends = make_loopback_transports(2);
  Party here;
  Party there;
  here.end = std::move(ends[0]);
  there.end = std::move(ends[1]);
  expect(here.end->start(here));
  expect(there.end->start(there));

  register_all("ucx", party);
  register_all("loopback", here);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  party.send(kQuit, 0);
  expect(party.end->flush(soon()));
  waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace rudder::transport

int main(int argc, char** argv) {
  return rudder::transport::run(argc, argv);
}
