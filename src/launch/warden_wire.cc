// SPDX-License-Identifier: Apache-2.0
#include "launch/warden_wire.h"

#include <algorithm>
#include <csignal>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/text.h"

namespace rudder::launch {
namespace {

using Json = nlohmann::ordered_json;

Result<std::string> dump(std::string_view prefix, const Json& object) {
  try {
    return fmt::format("{}{}", prefix, object.dump());
  } catch (const Json::type_error&) {  // the library's only way to say so
    return Error{Errc::kInvalidArgument, "the command and variables of ranks on other hosts must be UTF-8"};
  }
}

/// Reads the members of one object; the first problem is kept.
class Reader {
 public:
  Reader(std::string_view text, std::string_view what) : what_(what) {
    object_ = Json::parse(text, nullptr, false);
    if (!object_.is_object()) {
      problem_ = "is not an object";
    }
  }

  std::string text(const char* name) {
    const Json* value = member(name);
    return value != nullptr && check(value->is_string(), name) ? value->get<std::string>() : std::string();
  }
  bool truth(const char* name) {
    const Json* value = member(name);
    return value != nullptr && check(value->is_boolean(), name) && value->get<bool>();
  }
  std::uint64_t number(const char* name, std::uint64_t low, std::uint64_t high) {
    const Json* value = member(name);
    if (value == nullptr || !check(value->is_number_unsigned(), name)) {
      return low;
    }
    const auto found = value->get<std::uint64_t>();
    check(found >= low && found <= high, name);
    return found;
  }
  double seconds(const char* name) {
    const Json* value = member(name);
    if (value == nullptr || !check(value->is_number(), name)) {
      return 0;
    }
    const auto found = value->get<double>();
    check(found >= 0 && found <= 1e6, name);
    return found;
  }
  std::vector<std::string> texts(const char* name) {
    std::vector<std::string> all;
    const Json* value = member(name);
    if (value != nullptr && check(value->is_array(), name)) {
      for (const Json& entry : *value) {
        all.push_back(check(entry.is_string(), name) ? entry.get<std::string>() : std::string());
      }
    }
    return all;
  }

  Status status() const {
    return problem_.empty() ? Status() : Error{Errc::kInvalidData, fmt::format("{} {}", what_, problem_)};
  }

 private:
  const Json* member(const char* name) {
    if (!problem_.empty()) {
      return nullptr;
    }
    const auto found = object_.find(name);
    return check(found != object_.end(), name) ? &*found : nullptr;
  }
  bool check(bool good, const char* name) {
    if (!good && problem_.empty()) {
      problem_ = fmt::format("has no valid '{}'", name);
    }
    return good;
  }

  std::string what_;
  Json object_;
  std::string problem_;
};

/// The next word of `text`, which loses it and the blank behind it.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

bool take_number(std::string_view& text, std::int64_t high, std::int64_t& number) {
  const auto found = parse_int(take_word(text));
  number = found.value_or(-1);
  return number >= 0 && number <= high;
}

}  // namespace

Result<std::string> encode(const Hello& hello) {
  return dump(kHello, {{"directory", hello.directory}, {"master", hello.master}, {"silence", hello.silence}});
}

Result<Hello> parse_hello(std::string_view text) {
  Reader reader(text, "the launcher's hello");
  Hello hello{reader.text("directory"), reader.text("master"), reader.seconds("silence")};
  RUDDER_TRY(reader.status());
  return hello;
}

Result<std::string> encode(const Ready& ready) {
  return dump(kGreeting, {{"version", ready.version},
                          {"address", ready.address},
                          {"loopback", ready.loopback},
                          {"port", ready.port},
                          {"error", ready.error}});
}

Result<Ready> parse_ready(std::string_view text) {
  Reader reader(text, "the warden's greeting");
  Ready ready;
  ready.version = reader.text("version");
  ready.address = reader.text("address");
  ready.loopback = reader.truth("loopback");
  ready.port =
      static_cast<std::uint16_t>(reader.number("port", 0, std::numeric_limits<std::uint16_t>::max()));
  ready.error = reader.text("error");
  RUDDER_TRY(reader.status());
  return ready;
}

Result<std::string> encode(const Start& start) {
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const auto& [name, value] : start.spec.environment) {
    names.push_back(name);
    values.push_back(value);
  }
  return dump(kStart, {{"command", start.spec.command},
                       {"own", start.spec.own},
                       {"names", names},
                       {"values", values},
                       {"world", start.spec.world},
                       {"first", start.ranks.first},
                       {"count", start.ranks.count},
                       {"master", start.spec.master_address},
                       {"port", start.spec.master_port},
                       {"secret", start.spec.secret.hex()},
                       {"grace", to_seconds(start.spec.grace)}});
}

Result<Start> parse_start(std::string_view text) {
  Reader reader(text, "the launcher's order to start");
  Start start;
  start.spec.command = reader.texts("command");
  start.spec.own = reader.truth("own");
  const std::vector<std::string> names = reader.texts("names");
  const std::vector<std::string> values = reader.texts("values");
  start.spec.world = static_cast<Rank>(reader.number("world", 1, kMostRanks));
  start.ranks.first = static_cast<Rank>(reader.number("first", 0, start.spec.world - 1));
  start.ranks.count = static_cast<Rank>(reader.number("count", 1, start.spec.world));
  start.spec.master_address = reader.text("master");
  start.spec.master_port = static_cast<std::uint16_t>(reader.number("port", 1, 65535));
  const std::string secret = reader.text("secret");
  start.spec.grace = from_seconds(reader.seconds("grace"));
  RUDDER_TRY(reader.status());
  if (names.size() != values.size() || start.ranks.first + start.ranks.count > start.spec.world ||
      start.spec.command.empty()) {
    return Error{Errc::kInvalidData, "the launcher's order to start contradicts itself"};
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    start.spec.environment.emplace_back(names[i], values[i]);
  }
  RUDDER_ASSIGN(start.spec.secret, Secret::parse(secret));
  return start;
}

std::string encode_line(Rank rank, Stream stream, std::string_view text) {
  return fmt::format("{} {} {}", stream == Stream::kOut ? "out" : "err", rank, text);
}

std::string encode_exit(Rank rank, const Exit& exit) {
  return fmt::format("exit {} {} {} {}", rank, exit.code, exit.signal, exit.stopped ? 1 : 0);
}

std::string encode_ended(int signal) {
  return fmt::format("ended {}", signal);
}

Result<Event> parse_event(std::string_view line) {
  Event event;
  std::string_view rest = line;
  const std::string_view kind = take_word(rest);
  std::int64_t rank = 0;
  if (line == kAlive) {
    return event;
  }
  if (kind == "error") {
    event.kind = Event::Kind::kError;
    event.text = rest;
    return event;
  }
  if ((kind == "out" || kind == "err") && take_number(rest, kMostRanks - 1, rank)) {
    event.kind = Event::Kind::kLine;
    event.rank = static_cast<Rank>(rank);
    event.stream = kind == "out" ? Stream::kOut : Stream::kErr;
    event.text = rest;
    return event;
  }
  std::int64_t code = 0, signal = 0, stopped = 0;
  if (kind == "exit" && take_number(rest, kMostRanks - 1, rank) && take_number(rest, 255, code) &&
      take_number(rest, 127, signal) && take_number(rest, 1, stopped) && rest.empty()) {
    event.kind = Event::Kind::kExit;
    event.rank = static_cast<Rank>(rank);
    event.exit.code = static_cast<int>(code);
    event.exit.signal = static_cast<int>(signal);
    event.exit.stopped = stopped != 0;
    return event;
  }
  if (kind == "ended" && take_number(rest, 127, signal) && rest.empty()) {
    event.kind = Event::Kind::kEnded;
    event.exit.signal = static_cast<int>(signal);
    return event;
  }
  constexpr std::size_t kShown = 60;
  return Error{Errc::kInvalidData,
               fmt::format("'{}' is no line of a warden", printable(line.substr(0, kShown)))};
}

int parse_signal(std::string_view line) {
  if (!line.starts_with(kSignal)) {
    return 0;
  }
  const auto number = parse_int(line.substr(kSignal.size()));
  return number && *number > 0 && *number < NSIG ? static_cast<int>(*number) : 0;
}

}  // namespace rudder::launch
