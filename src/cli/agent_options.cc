// SPDX-License-Identifier: Apache-2.0
#include "cli/agent_options.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/clock.h"
#include "rudder/core/log.h"
#include "rudder/llm/endpoint.h"
#include "rudder/llm/retry.h"

namespace rudder::cli {
namespace {

constexpr Duration kAnswersSoon = std::chrono::seconds(3);
constexpr Duration kLoadTime = std::chrono::minutes(5);

}  // namespace

void add_agent_options(OptionTable& table, llm::ModelAddress& address, const std::string& who) {
  table.path("agent-socket", address.socket,
             who + "Ask the language model that rudder agent serves at this Unix socket");
  table.text(
      "agent-url", "URL", address.url,
      who +
          "Ask the model of this OpenAI-style server: http://HOST:PORT/v1, https://HOST/v1; its key comes "
          "from RUDDER_AGENT_API_KEY");
  table.text("agent-model", "NAME", address.name,
             who + "The server's name of the model; default: its own choice");
  table.real("agent-timeout", address.timeout_seconds, 0.01, 86400,
             who + "Seconds that an answer of the model may take");
}

Result<std::unique_ptr<llm::Model>> open_patiently(const llm::ModelAddress& address) {
  RUDDER_ASSIGN(std::unique_ptr<llm::Model> model, llm::open_model(address));
  return model == nullptr ? std::move(model) : llm::with_retries(std::move(model), {});
}

Status wake(llm::Model& model) {
  llm::ChatRequest request;
  request.messages = {{"user", "Hello"}};
  request.max_tokens = 1;
  request.timeout = kAnswersSoon;
  auto reply = model.complete(request);
  if (!reply.ok()) {
    log_warning(fmt::format("model {} is waited for, for at most {:.0f} s: {}", model.name(),
                            to_seconds(kLoadTime), reply.error().message));
    request.timeout = kLoadTime;
    reply = model.complete(request);
  }
  return reply.ok() ? Status() : Status(reply.error().in(fmt::format("model {}", model.name())));
}

}  // namespace rudder::cli
