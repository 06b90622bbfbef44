// SPDX-License-Identifier: Apache-2.0
// A model behind an OpenAI-style HTTP interface: rudder agent, llama-server, vLLM, Ollama, a cloud's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "rudder/core/result.h"
#include "rudder/llm/model.h"

namespace rudder::llm {

/// Where a server is.
struct Endpoint {
  enum class Kind : std::uint8_t { kHttp, kHttps, kUnix };
  Kind kind = Kind::kHttp;
  std::string host;  ///< of kUnix the socket's path
  std::uint16_t port = 0;
  std::string path;  ///< before "/chat/completions": "/v1"
  std::string text;  ///< as given, for messages
};

/// "http://127.0.0.1:8080/v1", "https://api.example.com/v1", "http://[::1]:11434", "unix:/run/agent.sock". A
/// path that is left out is /v1. No user names or passwords.
[[nodiscard]] Result<Endpoint> parse_model_endpoint(std::string_view text);

struct EndpointOptions {
  std::string url;
  std::string model;    ///< the server's name for it; empty: the server's own choice
  std::string api_key;  ///< sent as a bearer token and never shown; empty: none
};

/// The variable RUDDER_AGENT_API_KEY; else, for https alone, OPENAI_API_KEY, which no server in the clear
/// shall see by accident; else empty.
[[nodiscard]] std::string api_key_from_environment(const Endpoint& endpoint);

/// Connects for each call anew, so a server may start later and start again. Whatever the server does, a call
/// ends by its timeout, keeps at most 4 MiB and yields text or one error. Servers that do not know the
/// request's newer fields (grammar, response_format, logprobs) are asked without; what a server refused is
/// remembered. Calls of several threads run side by side. Errors of the URL are kInvalidArgument; a host's
/// name is looked up at the first call and after connections failed.
[[nodiscard]] Result<std::unique_ptr<Model>> open_endpoint(const EndpointOptions& options);
/// The same with the key of api_key_from_environment().
[[nodiscard]] Result<std::unique_ptr<Model>> open_endpoint(const std::string& url, const std::string& model);

/// The model that a user names, in one of two ways.
struct ModelAddress {
  std::filesystem::path socket = {};  ///< of `rudder agent`
  std::string url = {};               ///< of an OpenAI-style server
  std::string name = {};              ///< the server's name of the model; empty: its own choice
  double timeout_seconds = 10;        ///< of one call
  [[nodiscard]] bool given() const { return !socket.empty() || !url.empty(); }
};

/// As open_endpoint(); null when no model is named. kInvalidArgument: named in both ways, or a model's name
/// without a server.
[[nodiscard]] Result<std::unique_ptr<Model>> open_model(const ModelAddress& address);

}  // namespace rudder::llm
