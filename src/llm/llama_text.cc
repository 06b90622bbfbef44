// SPDX-License-Identifier: Apache-2.0
#include "llm/llama_text.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <llama.h>

#include "rudder/core/log.h"

namespace rudder::llm {
namespace {

std::vector<llama_chat_message> views_of(const std::vector<Message>& chat) {
  std::vector<llama_chat_message> views;
  for (const Message& message : chat) {
    views.push_back({message.role.c_str(), message.content.c_str()});
  }
  return views;
}

/// What `tmpl` makes of the chat, or nothing when it is of no form that llama.cpp knows.
std::string apply_template(const std::string& tmpl, const std::vector<Message>& chat) {
  const std::vector<llama_chat_message> views = views_of(chat);
  std::string text;
  for (int room = 4096;;) {
    text.resize(static_cast<std::size_t>(room));
    const int length =
        llama_chat_apply_template(tmpl.c_str(), views.data(), views.size(), true, text.data(), room);
    if (length <= room) {
      text.resize(static_cast<std::size_t>(std::max(length, 0)));
      return text;
    }
    room = length;
  }
}

}  // namespace

LlamaText::LlamaText(const llama_model& model, std::string name)
    : name_(std::move(name)), vocab_(llama_model_get_vocab(&model)) {
  if (const char* const own = llama_model_chat_template(&model, nullptr); own != nullptr) {
    template_ = own;
  }
  if (template_.empty() || apply_template(template_, {{"user", "x"}}).empty()) {
    log_warning(fmt::format("{}: no chat template that is known; chats are written as ROLE: TEXT", name_));
    template_.clear();
  }
  for (std::int32_t token = 0; token < llama_vocab_n_tokens(vocab_); ++token) {
    const std::string text = llama_vocab_is_control(vocab_, token) ? llama_vocab_get_text(vocab_, token) : "";
    if (text.size() > 1) {
      control_texts_.push_back(text);
    }
  }
}

std::string LlamaText::harmless(std::string text) const {
  std::ranges::replace(text, '\0', ' ');  // llama.cpp takes C strings
  for (const std::string& control : control_texts_) {
    for (std::size_t at = 0; (at = text.find(control, at)) != text.npos; at += control.size()) {
      text.insert(at + 1, 1, ' ');
    }
  }
  return text;
}

std::string LlamaText::rendered(const std::vector<Message>& chat) const {
  std::vector<Message> safe;
  for (const Message& message : chat) {
    safe.push_back({harmless(message.role), harmless(message.content)});
  }
  if (!template_.empty()) {
    return apply_template(template_, safe);
  }
  std::string text;
  for (const Message& message : safe) {
    text += fmt::format("{}: {}\n", message.role, message.content);
  }
  return text + "assistant:";
}

/// `special`: with the model's first token, and control texts are control tokens. Empty on failure.
std::vector<std::int32_t> LlamaText::tokenized(const std::string& text, bool special) const {
  const auto bytes = static_cast<std::int32_t>(text.size());
  std::vector<std::int32_t> tokens(text.size() + 8);  // hardly ever more tokens than bytes
  const auto tokenize = [&] {
    return llama_tokenize(vocab_, text.data(), bytes, tokens.data(), static_cast<std::int32_t>(tokens.size()),
                          special, special);
  };
  int count = tokenize();
  if (count < 0 && count != std::numeric_limits<std::int32_t>::min()) {
    tokens.resize(static_cast<std::size_t>(-count));
    count = tokenize();
  }
  tokens.resize(static_cast<std::size_t>(std::max(count, 0)));
  return tokens;
}

Result<std::vector<std::int32_t>> LlamaText::tokens_of(const std::vector<Message>& chat) const {
  const std::string text = rendered(chat);
  if (text.size() > std::size_t{std::numeric_limits<std::int32_t>::max()} / 2) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: a chat of {} bytes", name_, text.size())};
  }
  std::vector<std::int32_t> tokens = tokenized(text, true);
  if (tokens.empty()) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: the chat has no tokens", name_)};
  }
  return tokens;
}

std::vector<std::int32_t> LlamaText::tokens_of(const std::string& piece) const {
  std::vector<std::int32_t> tokens = tokenized(piece, false);
  std::string whole;
  for (const std::int32_t token : tokens) {
    whole += text_of(token);
  }
  return whole == piece ? tokens : std::vector<std::int32_t>();
}

std::string LlamaText::text_of(std::int32_t token) const {
  std::string text(32, '\0');
  int length =
      llama_token_to_piece(vocab_, token, text.data(), static_cast<std::int32_t>(text.size()), 0, false);
  if (length < 0) {
    text.resize(static_cast<std::size_t>(-length));
    length =
        llama_token_to_piece(vocab_, token, text.data(), static_cast<std::int32_t>(text.size()), 0, false);
  }
  text.resize(static_cast<std::size_t>(std::max(length, 0)));
  return text;
}

bool LlamaText::is_end(std::int32_t token) const {
  return llama_vocab_is_eog(vocab_, token);
}

}  // namespace rudder::llm
