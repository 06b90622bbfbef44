// SPDX-License-Identifier: Apache-2.0
#include "rudder/llm/endpoint.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::llm {
namespace {

Error bad(std::string_view text, std::string_view why) {
  return {Errc::kInvalidArgument,
          fmt::format("'{}' {}; write for example http://127.0.0.1:8080/v1, https://HOST/v1 or unix:PATH",
                      text, why)};
}

/// "HOST", "HOST:PORT", "[IPV6]:PORT".
Status parse_authority(std::string_view text, std::string_view authority, Endpoint& endpoint) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == authority.npos) {
      return bad(text, "has a [ without ]");
    }
    endpoint.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    endpoint.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (endpoint.host.empty()) {
    return bad(text, "names no host");
  }
  if (!port.empty()) {
    const auto number = port.front() == ':' ? parse_int(port.substr(1)) : std::nullopt;
    if (!number || *number < 1 || *number > 65535) {
      return bad(text, "has no port of 1..65535");
    }
    endpoint.port = static_cast<std::uint16_t>(*number);
  }
  return {};
}

}  // namespace

Result<Endpoint> parse_model_endpoint(std::string_view text) {
  Endpoint endpoint;
  endpoint.path = "/v1";
  endpoint.text = text;
  const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; });
  if (text.starts_with("unix:")) {
    endpoint.kind = Endpoint::Kind::kUnix;
    endpoint.host = text.substr(5);
    return endpoint.host.empty() ? Result<Endpoint>(bad(text, "names no socket")) : endpoint;
  }
  std::string_view rest;
  if (text.starts_with("http://")) {
    endpoint.port = 80;
    rest = text.substr(7);
  } else if (text.starts_with("https://")) {
    endpoint.kind = Endpoint::Kind::kHttps;
    endpoint.port = 443;
    rest = text.substr(8);
  } else {
    return bad(text, "is no http:, https: or unix: address");
  }
  if (!plain || rest.find_first_of("@?#") != rest.npos) {
    return Error{Errc::kInvalidArgument,
                 "an address with blanks, '@', '?' or '#'; keys go into the variable RUDDER_AGENT_API_KEY"};
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  RUDDER_TRY(parse_authority(text, rest.substr(0, slash), endpoint));
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) {
    path.remove_suffix(1);
  }
  if (!path.empty()) {
    endpoint.path = path;
  }
  return endpoint;
}

std::string api_key_from_environment(const Endpoint& endpoint) {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  std::string key = variable("RUDDER_AGENT_API_KEY");
  if (key.empty() && endpoint.kind == Endpoint::Kind::kHttps) {
    key = variable("OPENAI_API_KEY");
  }
  return key;
}

}  // namespace rudder::llm
