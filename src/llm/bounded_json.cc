// SPDX-License-Identifier: Apache-2.0
#include "llm/bounded_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/text.h"

namespace rudder::llm {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;

struct TooDeep {};

}  // namespace

Result<Json> parse_bounded_json(std::string_view text) {
  const auto guard = [](int depth, Json::parse_event_t event, Json&) {
    const bool opens =
        event == Json::parse_event_t::array_start || event == Json::parse_event_t::object_start;
    return opens && depth >= kMaxDepth ? throw TooDeep() : true;
  };
  try {
    return Json::parse(text, guard);
  } catch (const TooDeep&) {
    return Error{Errc::kInvalidData, fmt::format("JSON nested more than {} deep", kMaxDepth)};
  } catch (const Json::parse_error& error) {
    return Error{Errc::kInvalidData, fmt::format("no JSON at byte {}", error.byte)};
  } catch (const Json::exception&) {
    return Error{Errc::kInvalidData, "JSON with a number that is too large"};
  }
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json* find_member(const Json& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(key);
  return found != object.end() ? &*found : nullptr;
}

std::string excerpt(std::string_view text, std::size_t limit) {
  std::string cut(text.substr(0, limit));
  if (cut.size() < text.size()) {
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    while (!cut.empty() && continues(text[cut.size()])) {
      cut.pop_back();
    }
    cut += "...";
  }
  if (Json::parse(to_text(cut)).get<std::string>() != cut) {  // some of it was replaced
    std::erase_if(cut, [](char c) { return static_cast<unsigned char>(c) > 0x7F; });
  }
  std::ranges::replace(cut, '\n', ' ');
  return printable(cut);
}

}  // namespace rudder::llm
