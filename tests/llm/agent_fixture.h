// SPDX-License-Identifier: Apache-2.0
// An agent with a model that does what the test says, and clients that say what it says.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/llm/agent.h"

namespace rudder::llm {

/// Answers one call after another, each when the test lets it, and remembers whose they were.
class GatedModel final : public Model {
 public:
  Result<ChatReply> complete(const ChatRequest& request) override {
    std::unique_lock lock(mutex_);
    served_.push_back(request.job);
    last_ = request;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_ || permits_ > 0 || stopped_; });
    permits_ -= open_ ? 0 : 1;
    if (stopped_) {
      return Error{Errc::kCancelled, "gated: was stopped"};
    }
    if (failure_) {
      return *failure_;
    }
    ChatReply reply;
    reply.text = "reply to " + request.messages.back().content;
    reply.prompt_tokens = 10;
    reply.cached_tokens = 4;
    reply.reply_tokens = 3;
    reply.tokens = {{.text = "reply", .choices = {{"reply", 0.75}, {"no", 0.25}}, .allowed = 0.5}};
    return reply;
  }
  void stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] std::string name() const override { return "gated"; }

  /// Lets all calls pass from here on.
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void let_pass(int calls) {
    const std::lock_guard lock(mutex_);
    permits_ += calls;
    changed_.notify_all();
  }
  void fail_with(Error error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
  }
  /// Waits until so many calls have begun; whose they were.
  std::vector<std::string> wait_for_calls(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return served_.size() >= count; }));
    return served_;
  }
  [[nodiscard]] ChatRequest last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> served_;
  ChatRequest last_;
  std::optional<Error> failure_;
  bool open_ = false;
  bool stopped_ = false;
  int permits_ = 0;
};

/// A client that says what the test wants.
class Client {
 public:
  explicit Client(const std::string& socket) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
        << std::strerror(errno);
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        return;
      }
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  [[nodiscard]] std::string hear() const {
    std::string all;
    std::array<char, 4096> chunk;
    for (ssize_t n = 0; (n = ::recv(fd_, chunk.data(), chunk.size(), 0)) > 0;) {
      all.append(chunk.data(), static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  int fd_;
};

inline std::string post(std::string_view body, std::string_view path = "/v1/chat/completions") {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", path,
      body.size(), body);
}

inline std::string chat(std::string_view job, std::string_view more = "") {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"hello"}}],"user":"{}"{}}})", job, more);
}

inline nlohmann::json body_of(const std::string& response) {
  return nlohmann::json::parse(response.substr(response.find("\r\n\r\n") + 4));
}

class Agent : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create("rudder-agent");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(folder).value());
    options_.socket = folder_->path() / "agent.sock";
    options_.queue = 3;
    options_.patience = from_seconds(120);
    start();
  }
  void start() {
    auto started = AgentServer::start(model_, registry_, options_);
    ASSERT_TRUE(started.ok()) << started.error().message;
    server_ = std::move(started).value();
  }
  [[nodiscard]] std::string socket() const { return options_.socket.string(); }
  [[nodiscard]] std::string ask(std::string_view request) const {
    const Client client(socket());
    client.say(request);
    return client.hear();
  }
  void expect_refused(std::string_view request, int status, std::string_view why) const {
    const std::string response = ask(request);
    EXPECT_THAT(response, testing::StartsWith(fmt::format("HTTP/1.1 {} ", status))) << request.substr(0, 300);
    if (!why.empty()) {
      EXPECT_THAT(body_of(response)["error"]["message"].get<std::string>(),
                  testing::HasSubstr(std::string(why)));
    }
  }
  /// Waits until the registry's text has this line.
  void wait_for_figure(const std::string& line) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (registry_.text().find(line) == std::string::npos) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << line << "\n" << registry_.text();
      std::this_thread::yield();
    }
  }

  std::optional<TemporaryDirectory> folder_;
  AgentOptions options_;
  GatedModel model_;
  metrics::Registry registry_;
  std::unique_ptr<AgentServer> server_;
};

}  // namespace rudder::llm
