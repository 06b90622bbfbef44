// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "rudder/llm/endpoint.h"

#include "llm/agent_fixture.h"

namespace rudder::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

TEST_F(Agent, AnswersChats) {
  model_.open();
  const std::string response =
      ask(post(chat("j", R"(,"logprobs":true,"top_logprobs":8,"seed":7,"temperature":0.5,
    "max_tokens":3,"grammar":"root ::= \"x\"","timeout":50)")));
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 "));
  const Json body = body_of(response);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["model"], "gated");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "reply to hello");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["total_tokens"], 13);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
  const Json token = body["choices"][0]["logprobs"]["content"][0];
  EXPECT_NEAR(token["logprob"].get<double>(), std::log(0.75), 1e-12);
  EXPECT_EQ(token["allowed"], 0.5);
  EXPECT_EQ(token["top_logprobs"].size(), 2U);
  const ChatRequest seen = model_.last();
  EXPECT_EQ(seen.job, "j");
  EXPECT_EQ(seen.seed, 7U);
  EXPECT_EQ(seen.temperature, 0.5);
  EXPECT_EQ(seen.max_tokens, 3U);
  EXPECT_EQ(seen.grammar, "root ::= \"x\"");
  EXPECT_LE(seen.timeout, from_seconds(50));
  EXPECT_GT(seen.timeout, from_seconds(0));
}

TEST_F(Agent, SpeaksWithItsOwnClient) {
  model_.open();
  auto opened = open_endpoint({.url = server_->address(), .model = "m", .api_key = {}});
  ASSERT_TRUE(opened.ok());
  ChatRequest request;
  request.messages = {{"user", "q"}};
  request.json_schema = R"({"type":"object"})";
  request.grammar = "root ::= \"{}\"";
  request.job = "mine";
  const auto reply = (*opened)->complete(request);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->text, "reply to q");
  EXPECT_EQ(reply->cached_tokens, 4U);
  ASSERT_EQ(reply->tokens.size(), 1U);
  EXPECT_NEAR(reply->tokens[0].choices[0].probability, 0.75, 1e-12);
  EXPECT_EQ(reply->tokens[0].allowed, 0.5);
  EXPECT_EQ(model_.last().grammar, request.grammar);
  EXPECT_EQ(Json::parse(model_.last().json_schema), Json::parse(request.json_schema));
}

TEST_F(Agent, TellsItsModelItsHealthAndItsFigures) {
  model_.open();
  EXPECT_EQ(body_of(ask("GET /v1/models HTTP/1.1\r\n\r\n"))["data"][0]["id"], "gated");
  EXPECT_EQ(body_of(ask("GET /health HTTP/1.1\r\n\r\n"))["status"], "ok");
  static_cast<void>(ask(post(chat("j"))));
  const std::string figures = ask("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(figures, HasSubstr("rudder_agent_calls_total{result=\"answered\"} 1\n"));
  EXPECT_THAT(figures, HasSubstr("rudder_agent_tokens_total{kind=\"cached\"} 4\n"));
  const AgentTotals totals = server_->totals();
  EXPECT_EQ(totals.answered, 1U);
  EXPECT_EQ(totals.prompt_tokens, 10U);
  EXPECT_EQ(totals.reply_tokens, 3U);
}

TEST_F(Agent, JobsTakeTurns) {
  std::vector<std::thread> clients;
  const auto start_client = [&](const std::string& job) {
    clients.emplace_back([this, job] { EXPECT_THAT(ask(post(chat(job))), StartsWith("HTTP/1.1 200 ")); });
  };
  start_client("first");
  model_.wait_for_calls(1);  // at work; the others wait
  for (int i = 1; i <= 3; ++i) {
    start_client("greedy");
    wait_for_figure(fmt::format("rudder_agent_waiting {}\n", i));
  }
  start_client("modest");
  wait_for_figure("rudder_agent_waiting 4\n");
  model_.open();
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_THAT(model_.wait_for_calls(5), ElementsAre("first", "greedy", "modest", "greedy", "greedy"));
}

TEST_F(Agent, AJobsQueueIsBounded) {
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {  // one at work, three wait
    clients.emplace_back([this] { EXPECT_THAT(ask(post(chat("j"))), StartsWith("HTTP/1.1 200 ")); });
    if (i == 0) {
      model_.wait_for_calls(1);
    }
  }
  wait_for_figure("rudder_agent_waiting 3\n");
  expect_refused(post(chat("j")), 429, "too many calls of 'j'");
  clients.emplace_back([this] { EXPECT_THAT(ask(post(chat("other"))), StartsWith("HTTP/1.1 200 ")); });
  wait_for_figure("rudder_agent_waiting 4\n");
  model_.open();
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(server_->totals().refused, 1U);
}

TEST_F(Agent, CallsOfClientsThatHaveGoneAreNotComputed) {
  std::thread first([this] { EXPECT_THAT(ask(post(chat("first"))), StartsWith("HTTP/1.1 200 ")); });
  model_.wait_for_calls(1);
  {
    const Client client(socket());
    client.say(post(chat("gone")));
    wait_for_figure("rudder_agent_waiting 1\n");
  }
  wait_for_figure("rudder_agent_calls_total{result=\"dropped\"} 1\n");
  model_.open();
  first.join();
  EXPECT_THAT(ask(post(chat("last"))), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(model_.wait_for_calls(2), ElementsAre("first", "last"));
}

TEST_F(Agent, CallsWhoseTimeIsUpAreNotComputed) {
  std::thread first([this] { EXPECT_THAT(ask(post(chat("first"))), StartsWith("HTTP/1.1 200 ")); });
  model_.wait_for_calls(1);
  expect_refused(post(chat("late", R"(,"timeout":0.05)")), 504, "no time");
  model_.open();
  first.join();
  EXPECT_EQ(server_->totals().dropped, 1U);
  EXPECT_THAT(model_.wait_for_calls(1), ElementsAre("first"));
}

TEST_F(Agent, ErrorsOfTheModelKeepTheirMeaning) {
  model_.open();
  const std::vector<std::pair<Errc, int>> statuses = {
      {Errc::kInvalidArgument, 400}, {Errc::kTimeout, 504}, {Errc::kPeer, 502}, {Errc::kInternal, 500}};
  for (const auto& [code, status] : statuses) {
    model_.fail_with({code, "the reason"});
    expect_refused(post(chat("j")), status, "the reason");
  }
  EXPECT_EQ(server_->totals().failed, statuses.size());
}

TEST_F(Agent, SilentClientsDoNotKeepOthersWaiting) {
  model_.open();
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(std::make_unique<Client>(socket()));
    silent.back()->say("POST /v1/chat");
  }
  EXPECT_THAT(ask(post(chat("j"))), StartsWith("HTTP/1.1 200 "));
}

TEST_F(Agent, EndsWithWaitingAndSilentClients) {
  const Client silent(socket());
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([this] { expect_refused(post(chat("j")), 503, ""); });
  }
  model_.wait_for_calls(1);
  wait_for_figure("rudder_agent_waiting 2\n");
  server_.reset();
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_FALSE(std::filesystem::exists(options_.socket));
}

TEST_F(Agent, TheSocketIsTheUsersAloneAndHeldByOne) {
  struct stat info {};
  ASSERT_EQ(::stat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const auto second = AgentServer::start(model_, registry_, options_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr(socket()));
}

TEST_F(Agent, APortServesTheSame) {
  model_.open();
  AgentOptions options = options_;
  options.socket.clear();
  metrics::Registry registry;
  auto started = AgentServer::start(model_, registry, options);
  ASSERT_TRUE(started.ok()) << started.error().message;
  EXPECT_THAT((*started)->address(), StartsWith("http://127.0.0.1:"));
  auto opened = open_endpoint({.url = (*started)->address(), .model = {}, .api_key = {}});
  ASSERT_TRUE(opened.ok());
  ChatRequest request;
  request.messages = {{"user", "q"}};
  const auto reply = (*opened)->complete(request);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->text, "reply to q");
}

}  // namespace
}  // namespace rudder::llm
