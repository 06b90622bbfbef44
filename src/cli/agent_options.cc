// SPDX-License-Identifier: Apache-2.0
#include "cli/agent_options.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "rudder/llm/endpoint.h"
#include "rudder/llm/retry.h"

namespace rudder::cli {
namespace {

constexpr Duration kLoadTime = std::chrono::minutes(5);

}  // namespace

void AgentOptions::add_to(OptionTable& table) {
  table.path("agent-socket", socket_, "Ask the language model that rudder agent serves at this Unix socket");
  table.text("agent-url", "URL", url_,
             "Ask the model of this OpenAI-style server: http://HOST:PORT/v1, https://HOST/v1; its key comes "
             "from RUDDER_AGENT_API_KEY");
  table.text("agent-model", "NAME", name_, "The server's name of the model; default: its own choice");
  table.real("agent-timeout", timeout_, 0.01, 86400, "Seconds that an answer of the model may take");
}

Result<std::unique_ptr<llm::Model>> AgentOptions::open() const {
  if (!socket_.empty() && !url_.empty()) {
    return Error{Errc::kInvalidArgument, "--agent-socket and --agent-url: one of them"};
  }
  if (!given()) {
    if (!name_.empty()) {
      return Error{Errc::kInvalidArgument, "--agent-model needs --agent-socket or --agent-url"};
    }
    return std::unique_ptr<llm::Model>();
  }
  const std::string url = url_.empty() ? fmt::format("unix:{}", socket_.string()) : url_;
  RUDDER_ASSIGN(std::unique_ptr<llm::Model> model, llm::open_endpoint(url, name_));
  return llm::with_retries(std::move(model), {});
}

Status wake(llm::Model& model) {
  llm::ChatRequest request;
  request.messages = {{"user", "Hello"}};
  request.max_tokens = 1;
  request.timeout = kLoadTime;
  const auto reply = model.complete(request);
  return reply.ok() ? Status() : Status(reply.error().in(fmt::format("model {}", model.name())));
}

}  // namespace rudder::cli
