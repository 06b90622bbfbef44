// SPDX-License-Identifier: Apache-2.0
#include "rudder/metrics/exporter.h"

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/clock.h"
#include "rudder/core/text.h"

namespace rudder::metrics {
namespace {

std::uint16_t port_of(const Exporter& exporter) {
  const std::string& url = exporter.url();
  const std::size_t colon = url.rfind(':');
  return static_cast<std::uint16_t>(*parse_int(url.substr(colon + 1, url.rfind('/') - colon - 1)));
}

/// A client that says what the test wants, and reads for at most ten seconds.
class Client {
 public:
  explicit Client(const Exporter& exporter) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_of(exporter));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  void say(std::string_view text) const {
    static_cast<void>(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL));
  }
  /// Everything until the other side ends.
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
  bool connected_ = false;
};

class Exporting : public testing::Test {
 protected:
  void SetUp() override {
    registry_.counter("rows_total", "Rows").add(42);
    auto started = Exporter::start(registry_, {});
    ASSERT_TRUE(started.ok()) << started.error().message;
    exporter_ = std::move(started).value();
  }
  [[nodiscard]] std::string ask(std::string_view request) const {
    const Client client(*exporter_);
    client.say(request);
    return client.hear();
  }
  void expect_alive() const {
    EXPECT_NE(ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").find("rows_total 42\n"), std::string::npos);
  }

  Registry registry_;
  std::unique_ptr<Exporter> exporter_;
};

TEST_F(Exporting, AnswersWithThePage) {
  const std::string answer = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + registry_.text())) << answer;
  registry_.counter("rows_total", "Rows").add();
  EXPECT_TRUE(ask("GET /metrics HTTP/1.0\r\n\r\n").ends_with("rows_total 43\n"));
}

TEST_F(Exporting, OtherPathsAndMethodsAreRefused) {
  EXPECT_NE(ask("GET / HTTP/1.1\r\n\r\n").find("/metrics"), std::string::npos);
  EXPECT_TRUE(ask("GET /etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(ask("GET /../../etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(ask("POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").find("200 OK"),
            std::string::npos);
  EXPECT_EQ(ask("DELETE /metrics HTTP/1.1\r\n\r\n").find("200 OK"), std::string::npos);
  expect_alive();
}

TEST_F(Exporting, SurvivesWhatIsNoHttp) {
  const std::vector<std::string> hostile = {
      std::string(1 << 16, 'x'),
      std::string("\0\0\0\0\r\n\r\n", 8),
      "GET\r\n\r\n",
      "\r\n\r\n\r\n",
      "GET /metrics HTTP/9.9\r\n\r\n",
      "GET /metrics HTTP/1.1\r\n" + std::string(8000, 'h') + ": v\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "GET /" + std::string(4000, '%') + " HTTP/1.1\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
      "GET /metrics HTTP/1.1\r\nExpect: 100-continue\r\n\r\n"};
  for (const std::string& request : hostile) {
    static_cast<void>(ask(request));
  }
  expect_alive();
}

TEST_F(Exporting, RangesDoNotMultiplyThePage) {
  std::string ranges = "bytes=0-1";
  while (ranges.size() < 3900) {
    ranges += ",0-1";
  }
  const std::string answer = ask("GET /metrics HTTP/1.1\r\nRange: " + ranges + "\r\n\r\n");
  EXPECT_LT(answer.size(), registry_.text().size() + 1000);
  expect_alive();
}

TEST_F(Exporting, SilentAndSlowClientsOnlyWait) {
  const Client silent(*exporter_);
  const Client slow(*exporter_);
  slow.say("GET /metr");
  const TimePoint begin = steady_clock().now();
  expect_alive();  // behind them both, a second each
  EXPECT_LT(steady_clock().now() - begin, std::chrono::seconds(8));
  EXPECT_EQ(silent.hear(), "");
}

TEST_F(Exporting, AClientThatDoesNotReadIsLeft) {
  for (int i = 0; i < 100; ++i) {  // a page beyond what sockets hold
    registry_.gauge("much", "Much", {{"i", std::to_string(i)}, {"filling", std::string(100'000, 'x')}});
  }
  const Client deaf(*exporter_);
  deaf.say("GET /metrics HTTP/1.1\r\n\r\n");
  expect_alive();
}

TEST_F(Exporting, EndsAtOnceWhileClientsHang) {
  const Client silent(*exporter_);
  const Client another(*exporter_);
  ASSERT_TRUE(silent.connected());
  const TimePoint begin = steady_clock().now();
  exporter_.reset();
  EXPECT_LT(steady_clock().now() - begin, std::chrono::milliseconds(900));  // less than a connection's second
}

TEST_F(Exporting, APortInUseIsAnErrorThatNamesIt) {
  const Endpoint taken{.host = "127.0.0.1", .port = port_of(*exporter_)};
  const auto second = Exporter::start(registry_, taken);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find(std::to_string(taken.port)), std::string::npos);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos);
  exporter_.reset();
  EXPECT_TRUE(Exporter::start(registry_, taken).ok());  // free again at once
}

TEST(Exporter, UnknownHostsAndForeignAddressesAreErrors) {
  const Registry registry;
  EXPECT_FALSE(Exporter::start(registry, {.host = "no such host", .port = 0}).ok());
  const auto foreign = Exporter::start(registry, {.host = "192.0.2.1", .port = 0});
  ASSERT_FALSE(foreign.ok());
  EXPECT_NE(foreign.error().message.find("192.0.2.1"), std::string::npos);
}

TEST(ParseEndpoint, TakesPortsAndHosts) {
  EXPECT_EQ(parse_endpoint("9400")->host, "127.0.0.1");
  EXPECT_EQ(parse_endpoint("9400")->port, 9400);
  EXPECT_EQ(parse_endpoint("0")->port, 0);
  EXPECT_EQ(parse_endpoint("0.0.0.0:80")->host, "0.0.0.0");
  EXPECT_EQ(parse_endpoint("[::1]:80")->host, "::1");
  EXPECT_EQ(parse_endpoint("node-7.cluster:80")->host, "node-7.cluster");
  for (const char* text :
       {"", ":", "x", "65536", "-1", "host:", ":80", "::1:80", "[]:80", "1 2", "80 ", "host:80:x"}) {
    EXPECT_FALSE(parse_endpoint(text).ok()) << text;
  }
}

}  // namespace
}  // namespace rudder::metrics
