// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rudder/llm/endpoint.h"

#include "llm/scripted_server.h"

namespace rudder::llm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr double kSoon = 8;  // seconds in which what must end at once has ended, on a machine that is busy

std::unique_ptr<Model> open(const std::string& url, const std::string& key = {}) {
  auto model = open_endpoint({.url = url, .model = "m", .api_key = key});
  EXPECT_TRUE(model.ok()) << model.error().message;
  return std::move(model).value();
}

ChatRequest hello(double seconds = 30) {
  ChatRequest request;
  request.messages = {{"system", "rules"}, {"user", "hello"}};
  request.grammar = "root ::= \"x\"";
  request.json_schema = R"({"type":"object"})";
  request.job = "job-1";
  request.timeout = from_seconds(seconds);
  return request;
}

Json body_of(const std::string& request) {
  return Json::parse(request.substr(request.find("\r\n\r\n") + 4));
}

/// What a server that does this to the first client makes of a call.
Result<ChatReply> after(const ScriptedServer::Script& script, double seconds = 30) {
  const ScriptedServer server(script);
  return open(server.url())->complete(hello(seconds));
}

void expect_peer_error(const Result<ChatReply>& reply, const std::string& words) {
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Errc::kPeer) << reply.error().message;
  EXPECT_THAT(reply.error().message, HasSubstr("http://127.0.0.1:"));
  EXPECT_THAT(reply.error().message, HasSubstr(words));
}

TEST(HttpModel, AsksInTheFormOfOpenAiAndReadsTheAnswer) {
  std::string heard;
  const ScriptedServer server([&](ServedClient& client, std::size_t) {
    heard = client.hear();  // before the reply, for which the test waits
    client.say_reply(200, R"({"choices":[{"message":{"content":"yes"},"logprobs":{"content":[
      {"token":"yes","logprob":-0.6931471805599453,"allowed":0.5,
       "top_logprobs":[{"token":"no","logprob":-1.3862943611198906},{"token":"yes","logprob":-0.6931471805599453}]}]}}],
      "usage":{"prompt_tokens":10,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}})");
  });
  const auto reply = open(server.url(), "secret-key")->complete(hello());
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_THAT(heard, HasSubstr("POST /v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_THAT(heard, HasSubstr("Authorization: Bearer secret-key\r\n"));
  const Json body = body_of(heard);
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["user"], "job-1");
  EXPECT_EQ(body["messages"][1]["content"], "hello");
  EXPECT_EQ(body["temperature"], 0);
  EXPECT_EQ(body["max_tokens"], 96);
  EXPECT_EQ(body["grammar"], "root ::= \"x\"");
  EXPECT_EQ(body["response_format"]["json_schema"]["schema"]["type"], "object");
  EXPECT_EQ(body["logprobs"], true);
  EXPECT_GT(body["timeout"], 0);
  EXPECT_EQ(reply->text, "yes");
  EXPECT_EQ(reply->prompt_tokens, 10U);
  EXPECT_EQ(reply->cached_tokens, 4U);
  EXPECT_EQ(reply->reply_tokens, 1U);
  ASSERT_EQ(reply->tokens.size(), 1U);
  ASSERT_EQ(reply->tokens[0].choices.size(), 2U);
  EXPECT_EQ(reply->tokens[0].choices[0].text, "yes");
  EXPECT_NEAR(reply->tokens[0].choices[0].probability, 0.5, 1e-12);
  EXPECT_EQ(reply->tokens[0].allowed, 0.5);
}

TEST(HttpModel, EndsByItsDeadlineWhenTheServerHangs) {
  for (const bool reads : {false, true}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto reply = after(
        [&](ServedClient& client, std::size_t) {
          if (reads) {
            client.hear();
          }
          client.hang();
        },
        0.2);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, Errc::kTimeout) << reply.error().message;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::duration<double>(kSoon));
  }
}

TEST(HttpModel, EndsByItsDeadlineWhenTheServerTrickles) {
  // A byte now and then, in the head or in the body, keeps a connection busy for ever.
  for (const std::string_view start : {"", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto reply = after(
        [&](ServedClient& client, std::size_t) {
          client.hear();
          for (bool there = client.say(start); there && !client.ending();) {
            there = client.say("x");
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        },
        0.3);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, Errc::kTimeout) << reply.error().message;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::duration<double>(kSoon));
  }
}

TEST(HttpModel, AConnectionThatBreaksOffIsWorthAnotherTry) {
  expect_peer_error(after([](ServedClient&, std::size_t) {}), "broke off");
  expect_peer_error(after([](ServedClient& client, std::size_t) {
                      client.hear();
                      client.say("HTTP/1.1 200 OK\r\nContent-Le");
                    }),
                    "broke off");
  expect_peer_error(after([](ServedClient& client, std::size_t) {
                      client.hear();
                      client.say("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"choices\":");
                    }),
                    "broke off");
}

TEST(HttpModel, NobodyThereIsWorthAnotherTry) {
  const auto gone = [] { return ScriptedServer([](ServedClient&, std::size_t) {}).url(); }();
  expect_peer_error(open(gone)->complete(hello()), "refused");
  const auto reply = open("unix:/nowhere/agent.sock")->complete(hello());
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Errc::kPeer);
  EXPECT_THAT(reply.error().message, HasSubstr("unix:/nowhere/agent.sock"));
}

TEST(HttpModel, FloodsAreCutOff) {
  const std::string much(1 << 20, 'x');
  const auto flood = [&](ServedClient& client, std::string_view start) {
    client.hear();
    for (bool there = client.say(start); there && !client.ending();) {
      there = client.say(much);
    }
  };
  for (const std::string_view start :
       {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n",
        "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 ", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 "}) {
    expect_peer_error(after([&](ServedClient& client, std::size_t) { flood(client, start); }), "more than");
  }
  // Short lines without end, too.
  expect_peer_error(after([&](ServedClient& client, std::size_t) {
                      client.hear();
                      for (bool there = client.say("HTTP/1.1 200 OK\r\n"); there && !client.ending();) {
                        there = client.say("X-Header: 0123456789\r\n");
                      }
                    }),
                    "more than");
}

TEST(HttpModel, WhatIsNoReplyIsOneClearError) {
  const auto with_body = [](const std::string& body) {
    return after([&](ServedClient& client, std::size_t) {
      client.hear();
      client.say_reply(200, body);
    });
  };
  expect_peer_error(with_body("no json at all"), "no JSON");
  expect_peer_error(with_body(""), "no JSON");
  expect_peer_error(with_body(good_reply("\xff\xfe")), "no JSON");
  expect_peer_error(with_body("{}"), "has no text");
  expect_peer_error(with_body("[]"), "has no text");
  expect_peer_error(with_body(R"({"choices":[]})"), "has no text");
  expect_peer_error(with_body(R"({"choices":[{"message":{"content":null}}]})"), "has no text");
  expect_peer_error(with_body(R"({"choices":[{"message":{"content":[1]}}]})"), "has no text");
  expect_peer_error(with_body(std::string(1 << 20, '[')), "nested");
  expect_peer_error(with_body("[1e999]"), "too large");
  expect_peer_error(with_body(good_reply(std::string(kMaxReplyBytes + 1, 'a'))), "bytes of text");
  expect_peer_error(after([](ServedClient& client, std::size_t) {
                      client.hear();
                      client.say("SSH-2.0-OpenSSH_9.2\r\n\r\n");
                    }),
                    "not HTTP");
  EXPECT_TRUE(with_body(good_reply(std::string(kMaxReplyBytes, 'a'))).ok());
}

TEST(HttpModel, StatusesSayWhetherToTryAgain) {
  const auto with_status = [](int status) {
    return after([&](ServedClient& client, std::size_t) {
      client.hear();
      client.say_reply(status, R"({"error":{"message":"why not"}})");
    });
  };
  for (const int status : {500, 502, 503, 504, 429, 408}) {
    expect_peer_error(with_status(status), "why not");
  }
  for (const int status : {400, 401, 403, 404, 413, 422, 302}) {
    const auto reply = with_status(status);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, Errc::kInvalidArgument) << status;
    EXPECT_THAT(reply.error().message, HasSubstr(std::to_string(status)));
  }
}

TEST(HttpModel, FieldsThatTheServerRefusesAreLeftOutFromThenOn) {
  std::mutex mutex;
  std::vector<Json> bodies;
  const ScriptedServer server([&](ServedClient& client, std::size_t) {
    const Json body = body_of(client.hear());
    {
      const std::lock_guard lock(mutex);
      bodies.push_back(body);
    }
    const bool good = !body.contains("grammar") && !body.contains("response_format");
    client.say_reply(good ? 200 : 400, good ? good_reply("ok") : R"({"error":{"message":"unknown field"}})");
  });
  const auto model = open(server.url());
  for (int call = 0; call < 2; ++call) {
    const auto reply = model->complete(hello());
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->text, "ok");
  }
  const std::lock_guard lock(mutex);
  ASSERT_EQ(bodies.size(), 5U);  // four tries, then one
  EXPECT_TRUE(bodies[0].contains("grammar"));
  EXPECT_FALSE(bodies[1].contains("grammar"));
  EXPECT_TRUE(bodies[1].contains("response_format") && bodies[1].contains("logprobs"));
  EXPECT_TRUE(bodies[2].contains("response_format"));
  EXPECT_FALSE(bodies[2].contains("logprobs"));
  EXPECT_EQ(bodies[3], bodies[4]);
  EXPECT_TRUE(bodies[4].contains("logprobs"));
}

TEST(HttpModel, ARequestThatIsRefusedInEveryFormChangesNothing) {
  std::atomic<bool> refuse{true};
  std::mutex mutex;
  Json last;
  const ScriptedServer server([&](ServedClient& client, std::size_t) {
    const Json body = body_of(client.hear());
    {
      const std::lock_guard lock(mutex);
      last = body;
    }
    client.say_reply(refuse ? 400 : 200, refuse ? R"({"error":"too long"})" : good_reply("ok"));
  });
  const auto model = open(server.url());
  const auto refused = model->complete(hello());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("too long"));
  refuse = false;
  ASSERT_TRUE(model->complete(hello()).ok());
  const std::lock_guard lock(mutex);
  EXPECT_TRUE(last.contains("grammar"));
}

TEST(HttpModel, TheKeyIsInNoError) {
  const ScriptedServer server([](ServedClient& client, std::size_t) {
    client.hear();
    client.say_reply(401, R"({"error":{"message":"sk-123 is not a key; sk-123?"}})");
  });
  const auto reply = open(server.url(), "sk-123")->complete(hello());
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.error().message, Not(HasSubstr("sk-123")));
  EXPECT_THAT(reply.error().message, HasSubstr("RUDDER_AGENT_API_KEY"));
  const auto odd = open_endpoint({.url = server.url(), .model = {}, .api_key = "two\nlines"});
  ASSERT_FALSE(odd.ok());
  EXPECT_THAT(odd.error().message, Not(HasSubstr("lines")));
}

TEST(HttpModel, StopEndsCallsNowAndLater) {
  const ScriptedServer server([](ServedClient& client, std::size_t) { client.hang(); });
  const auto model = open(server.url());
  std::thread stopper([&] { model->stop(); });
  const auto now = model->complete(hello(600));
  stopper.join();
  const auto later = model->complete(hello(600));
  for (const auto* const reply : {&now, &later}) {
    ASSERT_FALSE(reply->ok());
    EXPECT_EQ(reply->error().code, Errc::kCancelled) << reply->error().message;
  }
}

TEST(HttpModel, CallsRunSideBySide) {
  // Each answer waits for the other call to have arrived.
  std::atomic<int> arrived{0};
  const ScriptedServer server([&](ServedClient& client, std::size_t) {
    client.hear();
    for (++arrived; arrived < 2 && !client.ending();) {
      std::this_thread::yield();
    }
    client.say_reply(200, good_reply("ok"));
  });
  const auto model = open(server.url());
  std::thread other([&] { EXPECT_TRUE(model->complete(hello()).ok()); });
  EXPECT_TRUE(model->complete(hello()).ok());
  other.join();
}

TEST(HttpModel, ASchemaThatIsNoJsonIsTheCallersError) {
  ChatRequest request = hello();
  request.json_schema = "{";
  const auto reply = open("http://127.0.0.1:1")->complete(request);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Errc::kInvalidArgument);
}

TEST(ModelEndpoint, ReadsUrls) {
  const auto plain = parse_model_endpoint("http://127.0.0.1:8080/v1/");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, 8080);
  EXPECT_EQ(plain->path, "/v1");
  const auto cloud = parse_model_endpoint("https://api.example.com/openai/v3");
  ASSERT_TRUE(cloud.ok());
  EXPECT_EQ(cloud->kind, Endpoint::Kind::kHttps);
  EXPECT_EQ(cloud->port, 443);
  EXPECT_EQ(cloud->path, "/openai/v3");
  const auto six = parse_model_endpoint("http://[::1]:11434");
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->port, 11434);
  EXPECT_EQ(six->path, "/v1");
  const auto local = parse_model_endpoint("unix:/run/agent.sock");
  ASSERT_TRUE(local.ok());
  EXPECT_EQ(local->kind, Endpoint::Kind::kUnix);
  EXPECT_EQ(local->host, "/run/agent.sock");
  for (const char* const bad : {"", "x", "127.0.0.1:80", "ftp://x", "http://", "http://:80", "http://x:0",
                                "http://x:65536", "http://x:y", "http://[::1", "http://[::1]80",
                                "unix:", "http://user:word@host", "http://host/a b", "http://h/?k=v"}) {
    const auto endpoint = parse_model_endpoint(bad);
    ASSERT_FALSE(endpoint.ok()) << bad;
    EXPECT_EQ(endpoint.error().code, Errc::kInvalidArgument);
    EXPECT_THAT(endpoint.error().message, Not(HasSubstr("word"))) << "it may be a password";
  }
}

TEST(ModelEndpoint, KeysOfOpenAiGoNowhereInTheClear) {
  ::setenv("OPENAI_API_KEY", "o", 1);
  ::unsetenv("RUDDER_AGENT_API_KEY");
  EXPECT_EQ(api_key_from_environment(*parse_model_endpoint("https://x")), "o");
  EXPECT_EQ(api_key_from_environment(*parse_model_endpoint("http://x")), "");
  ::setenv("RUDDER_AGENT_API_KEY", "r", 1);
  EXPECT_EQ(api_key_from_environment(*parse_model_endpoint("https://x")), "r");
  EXPECT_EQ(api_key_from_environment(*parse_model_endpoint("http://x")), "r");
  ::unsetenv("OPENAI_API_KEY");
  ::unsetenv("RUDDER_AGENT_API_KEY");
}

}  // namespace
}  // namespace rudder::llm
