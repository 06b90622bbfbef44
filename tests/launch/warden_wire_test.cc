// SPDX-License-Identifier: Apache-2.0
#include "launch/warden_wire.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rudder::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Start example() {
  Start start;
  start.spec.command = {"train", "parts with blanks", "--epochs", "3", "a\nb"};
  start.spec.own = true;
  start.spec.environment = {{"UCX_TLS", "tcp"}, {"RUDDER_HOST", "alpha"}};
  start.spec.world = 5;
  start.spec.master_address = "10.0.0.1";
  start.spec.master_port = 29400;
  start.spec.grace = from_seconds(1.5);
  start.ranks = {3, 2};
  return start;
}

TEST(WardenWire, OrdersComeBack) {
  const Start sent = example();
  const std::string line = encode(sent).value();
  ASSERT_TRUE(line.starts_with(kStart));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto got = parse_start(line.substr(kStart.size()));
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->spec.command, sent.spec.command);
  EXPECT_TRUE(got->spec.own);
  EXPECT_EQ(got->spec.environment, sent.spec.environment);
  EXPECT_EQ(got->spec.world, 5U);
  EXPECT_EQ(got->spec.master_address, "10.0.0.1");
  EXPECT_EQ(got->spec.master_port, 29400);
  EXPECT_EQ(got->spec.grace, from_seconds(1.5));
  EXPECT_EQ(got->spec.secret.hex(), sent.spec.secret.hex());
  EXPECT_EQ(got->ranks, sent.ranks);
}

TEST(WardenWire, GreetingsComeBack) {
  const auto hello = parse_hello(encode(Hello{"/a b", "alpha", 2.5}).value().substr(kHello.size()));
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->directory, "/a b");
  EXPECT_EQ(hello->master, "alpha");
  EXPECT_EQ(hello->silence, 2.5);
  const auto ready =
      parse_ready(encode(Ready{"1.2", "10.0.0.1", true, 77, "no"}).value().substr(kGreeting.size()));
  ASSERT_TRUE(ready.ok());
  EXPECT_EQ(ready->version, "1.2");
  EXPECT_EQ(ready->address, "10.0.0.1");
  EXPECT_TRUE(ready->loopback);
  EXPECT_EQ(ready->port, 77);
  EXPECT_EQ(ready->error, "no");
}

TEST(WardenWire, WhatIsNotUtf8CannotBeSent) {
  Start start = example();
  start.spec.command.emplace_back("\xff");
  const auto line = encode(start);
  ASSERT_FALSE(line.ok());
  EXPECT_THAT(line.error().message, HasSubstr("UTF-8"));
}

TEST(WardenWire, BrokenOrdersAreErrorsWithoutTheSecret) {
  const Start sent = example();
  const std::string whole = encode(sent).value().substr(kStart.size());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = whole;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::string secret = sent.spec.secret.hex();
  for (const std::string& text :
       {std::string(), std::string("[]"), whole.substr(0, whole.size() / 2),
        with("\"world\":5", "\"world\":0"), with("\"world\":5", "\"world\":4097"),
        with("\"world\":5", "\"world\":4"), with("\"first\":3", "\"first\":-1"),
        with("\"first\":3", "\"first\":5"), with("\"count\":2", "\"count\":3"),
        with("\"count\":2", "\"count\":0"), with("\"port\":29400", "\"port\":0"),
        with("\"port\":29400", "\"port\":65536"), with("\"own\":true", "\"own\":1"),
        with("\"names\":[", "\"names\":[3,"), with("\"names\":[", "\"names\":[\"A\","),
        with("\"grace\":1.5", "\"grace\":-1"), with("\"secret\":\"", "\"secret\":\"00"),
        with("\"command\":", "\"comand\":")}) {
    const auto start = parse_start(text);
    ASSERT_FALSE(start.ok()) << text;
    EXPECT_THAT(start.error().message, Not(HasSubstr(secret.substr(0, 8))));
  }
}

TEST(WardenWire, EventsComeBack) {
  const std::string written = encode_line(3, Stream::kErr, "a  line with \x1b and \xff ");
  const auto line = parse_event(written);
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->kind, Event::Kind::kLine);
  EXPECT_EQ(line->rank, 3U);
  EXPECT_EQ(line->stream, Stream::kErr);
  EXPECT_EQ(line->text, "a  line with \x1b and \xff ");
  const std::string nothing = encode_line(0, Stream::kOut, "");
  EXPECT_EQ(parse_event(nothing)->text, "");
  Exit killed;
  killed.code = 137;
  killed.signal = 9;
  killed.stopped = true;
  const auto exit = parse_event(encode_exit(7, killed));
  ASSERT_TRUE(exit.ok());
  EXPECT_EQ(exit->kind, Event::Kind::kExit);
  EXPECT_EQ(exit->rank, 7U);
  EXPECT_EQ(exit->exit.code, 137);
  EXPECT_EQ(exit->exit.signal, 9);
  EXPECT_TRUE(exit->exit.stopped);
  EXPECT_EQ(parse_event(encode_ended(15))->exit.signal, 15);
  EXPECT_EQ(parse_event("alive")->kind, Event::Kind::kAlive);
  EXPECT_EQ(parse_event("error no such file")->text, "no such file");
}

TEST(WardenWire, OtherLinesAreErrorsThatShowThem) {
  for (const char* line :
       {"", "alive ", "out", "out x y", "out -1 y", "out 4096 y", "exit 1 2 3", "exit 1 256 0 0",
        "exit 1 0 0 2", "exit 1 0 0 0 0", "ended x", "ended 128", "hello {}", "Last login: today"}) {
    const auto event = parse_event(line);
    ASSERT_FALSE(event.ok()) << line;
    EXPECT_THAT(event.error().message, HasSubstr(std::string("'") + line + "' is no line of a warden"));
  }
}

TEST(WardenWire, SignalsAreNumbersOfSignals) {
  EXPECT_EQ(parse_signal("signal 15"), 15);
  for (const char* line : {"signal", "signal x", "signal 0", "signal -9", "signal 100000", "alive"}) {
    EXPECT_EQ(parse_signal(line), 0) << line;
  }
}

}  // namespace
}  // namespace rudder::launch
