// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/asking.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace rudder::steer {
namespace {

/// Experiences looked through for one with another action, for each demonstration.
constexpr std::size_t kLookedThrough = 4;

}  // namespace

Result<std::vector<Experience>> demonstrations_for(const Memory& memory, const ActionSet& actions,
                                                   const Features& features, std::size_t k,
                                                   const std::string& except_run) {
  if (k == 0) {
    return std::vector<Experience>();
  }
  RUDDER_ASSIGN(std::vector<Experience> nearest,
                memory.nearest(actions, features, kLookedThrough * k, except_run));
  std::erase_if(nearest, [&](const Experience& each) { return each.best >= actions.actions.size(); });
  if (nearest.size() <= k) {
    return nearest;
  }
  const auto end = nearest.begin() + static_cast<std::ptrdiff_t>(k);
  const auto other = std::find_if(nearest.begin(), nearest.end(),
                                  [&](const Experience& each) { return each.best != nearest.front().best; });
  if (k > 1 && other != nearest.end() && other >= end) {
    std::iter_swap(end - 1, other);
  }
  nearest.erase(end, nearest.end());
  return nearest;
}

Asker::Asker(const ActionSet& actions, llm::Model& model, const Options& options)
    : actions_(actions), model_(model), prompt_(options.prompt) {
  request_.grammar = reply_grammar(actions, prompt_);
  // A schema has no place for reasoning before the object: servers that hold to it would leave no room.
  request_.json_schema = prompt_.reasoning ? "" : reply_schema(actions);
  request_.max_tokens = reply_tokens(actions, prompt_);
  request_.seed = options.seed;
  request_.job = options.job;
}

Result<ModelAnswer> Asker::ask(std::span<const Experience> demonstrations, std::span<const Episode> history,
                               const Report& report, Duration timeout) {
  const auto from = [&](const Error& error) { return error.in(fmt::format("model {}", model_.name())); };
  RUDDER_ASSIGN(request_.messages, make_prompt(actions_, demonstrations, history, report, prompt_));
  request_.timeout = timeout;
  const Result<llm::ChatReply> reply = model_.complete(request_);
  if (!reply.ok()) {
    return from(reply.error());
  }
  ModelAnswer answer;
  answer.prompt_tokens = reply->prompt_tokens;
  answer.cached_tokens = reply->cached_tokens;
  answer.reply_tokens = reply->reply_tokens;
  Result<ParsedReply> parsed = parse_reply(reply->text, actions_);
  if (parsed.ok()) {
    answer.confidence = confidence_of(*reply, actions_, parsed->action);
    answer.reply = std::move(parsed).value();
  } else {
    answer.refusal = from(parsed.error()).message;
  }
  return answer;
}

}  // namespace rudder::steer
