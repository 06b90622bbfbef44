// SPDX-License-Identifier: Apache-2.0
// What clients say that they should not.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/agent_fixture.h"

namespace rudder::llm {
namespace {

using ::testing::StartsWith;

TEST_F(Agent, RequestsThatCannotBeServedAreRefusedWithOneReason) {
  model_.open();
  const auto refuse = [&](std::string_view body, std::string_view why) {
    expect_refused(post(body), 400, why);
  };
  refuse("", "no JSON");
  refuse("[1]", "no JSON object");
  refuse("{\"messages\": [", "no JSON at byte");
  refuse("\xff\xfe{}", "no JSON");
  refuse(std::string(100000, '['), "nested");
  refuse("{}", "no messages");
  refuse(R"({"messages":[]})", "1 to 256");
  refuse(R"({"messages":null})", "1 to 256");
  refuse(R"({"messages":[1]})", "without a role");
  refuse(R"({"messages":[{"role":"wizard","content":"x"}]})", "wizard");
  refuse(R"({"messages":[{"role":"user"}]})", "without a text");
  refuse(R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})", "no text");
  refuse(chat("j", R"(,"stream":true)"), "stream can only be false");
  refuse(chat("j", R"(,"n":2)"), "n can only be 1");
  refuse(chat("j", R"(,"max_tokens":0)"), "max_tokens must be");
  refuse(chat("j", R"(,"max_tokens":1e9)"), "max_tokens must be");
  refuse(chat("j", R"(,"temperature":-1)"), "temperature must be");
  refuse(chat("j", R"(,"temperature":"hot")"), "temperature must be");
  refuse(chat("j", R"(,"seed":1.5)"), "seed must be");
  refuse(chat("j", R"(,"timeout":-1)"), "timeout must be");
  refuse(chat("j", R"(,"logprobs":1)"), "logprobs must be");
  refuse(chat("j", R"(,"temprature":1)"), "did you mean 'temperature'");
  refuse(chat("j", R"(,"response_format":{"type":"xml"})"), "response_format must be");
  refuse(chat("j", R"(,"response_format":{"type":"json_schema"})"), "json_schema.schema");
  refuse(chat(std::string(200, 'j')), "user must be");
  expect_refused("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 400, "Content-Type");
  expect_refused(post(chat("j"), "/v1/completions"), 404, "/v1/completions");
  expect_refused("GET / HTTP/1.1\r\n\r\n", 404, "");
  expect_refused("NONSENSE\r\n\r\n", 400, "");
  expect_refused(post(std::string((1 << 20) + 1, ' ')), 413, "more than");
  EXPECT_THAT(ask(post(chat("j"))), StartsWith("HTTP/1.1 200 ")) << "still there";
}

TEST_F(Agent, OddRequestsLeaveItStanding) {
  model_.open();
  const std::string ranges = "Range: bytes=0-1" + std::string(3900, ',') + "\r\n";
  std::string many = "Range: bytes=";
  for (int i = 0; i < 900; ++i) {
    many += "0-1,";
  }
  for (const std::string& request :
       {std::string(), std::string("\r\n\r\n"), std::string("POST"), std::string(100000, 'x'),
        "GET /" + std::string(20000, 'a') + " HTTP/1.1\r\n\r\n", "GET /health HTTP/1.1\r\n" + ranges + "\r\n",
        "GET /health HTTP/1.1\r\n" + many + "\r\n\r\n",
        std::string("POST /v1/chat/completions HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\n"
                    "Content-Length: 10\r\n\r\n0123456789"),
        std::string(
            "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Encoding: "
            "gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08"),
        std::string("POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
                    "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
        std::string("POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
                    "Content-Length: 18446744073709551615\r\n\r\n{}")}) {
    const Client client(socket());
    client.say(request);  // and leaves
  }
  EXPECT_THAT(ask(post(chat("j"))), StartsWith("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace rudder::llm
