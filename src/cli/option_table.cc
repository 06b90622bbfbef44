// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rudder/core/check.h"
#include "rudder/core/files.h"
#include "rudder/core/text.h"

namespace rudder::cli {
namespace {

std::string environment_name(std::string_view key) {
  std::string name = "RUDDER_";
  for (const char c : key) {
    name.push_back(c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  return name;
}

Error bad_value(const std::string& text, const std::string& expected) {
  return {Errc::kInvalidArgument, fmt::format("'{}' is not {}", text, expected)};
}

template <class Integer>
std::optional<Integer> parse_bounded(std::string_view text, Integer low, Integer high) {
  if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) == 8) {
    // Seeds use all 64 bits.
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
      return std::nullopt;
    }
    return value;
  } else {
    const auto value = parse_int(text);
    if (!value || *value < static_cast<std::int64_t>(low) || *value > static_cast<std::int64_t>(high)) {
      return std::nullopt;
    }
    return static_cast<Integer>(*value);
  }
}

template <class Integer>
std::string range_text(Integer low, Integer high) {
  return sizeof(Integer) > 2 && high == std::numeric_limits<Integer>::max()
             ? fmt::format("at least {}", low)
             : fmt::format("{}..{}", low, high);
}

std::string nearest_key(const std::string& key, const std::vector<Option>& options) {
  std::vector<std::string_view> keys;
  for (const Option& option : options) {
    keys.emplace_back(option.key);
  }
  const std::string near = nearest_name(key, keys);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

}  // namespace

template <class Integer>
void OptionTable::integer(std::string key, Integer& target, Integer low, Integer high, std::string help) {
  const std::string bounds = range_text(low, high);
  custom({.key = std::move(key),
          .metavar = "N",
          .help = std::move(help),
          .bounds = bounds,
          .parse = [&target, low, high, bounds](const std::string& text) -> Status {
            const auto value = parse_bounded<Integer>(text, low, high);
            if (!value) {
              return bad_value(text, "a whole number, " + bounds);
            }
            target = *value;
            return {};
          },
          .show = [&target] { return fmt::format("{}", target); },
          .is_switch = false});
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

template void OptionTable::integer<int>(std::string, int&, int, int, std::string);
template void OptionTable::integer<std::uint16_t>(std::string, std::uint16_t&, std::uint16_t, std::uint16_t,
                                                  std::string);
template void OptionTable::integer<std::uint32_t>(std::string, std::uint32_t&, std::uint32_t, std::uint32_t,
                                                  std::string);
template void OptionTable::integer<std::uint64_t>(std::string, std::uint64_t&, std::uint64_t, std::uint64_t,
                                                  std::string);
template void OptionTable::integer<std::int64_t>(std::string, std::int64_t&, std::int64_t, std::int64_t,
                                                 std::string);

void OptionTable::real(std::string key, double& target, double low, double high, std::string help) {
  const std::string bounds = fmt::format("{}..{}", low, high);
  custom({.key = std::move(key),
          .metavar = "X",
          .help = std::move(help),
          .bounds = bounds,
          .parse = [&target, low, high, bounds](const std::string& text) -> Status {
            const auto value = parse_double(text);
            if (!value || *value < low || *value > high) {
              return bad_value(text, "a number in " + bounds);
            }
            target = *value;
            return {};
          },
          .show = [&target] { return fmt::format("{}", target); },
          .is_switch = false});
}

void OptionTable::text(std::string key, std::string metavar, std::string& target, std::string help) {
  custom({.key = std::move(key),
          .metavar = std::move(metavar),
          .help = std::move(help),
          .bounds = {},
          .parse = [&target](const std::string& value) -> Status {
            target = value;
            return {};
          },
          .show = [&target] { return target; },
          .is_switch = false});
}

void OptionTable::path(std::string key, std::filesystem::path& target, std::string help) {
  custom({.key = std::move(key),
          .metavar = "PATH",
          .help = std::move(help),
          .bounds = {},
          .parse = [&target](const std::string& value) -> Status {
            target = value;
            return {};
          },
          .show = [&target] { return target.string(); },
          .is_switch = false});
}

void OptionTable::choice(std::string key, std::string& target, std::vector<std::string> choices,
                         std::string help) {
  const std::string bounds = fmt::format("{}", fmt::join(choices, ", "));
  custom({.key = std::move(key),
          .metavar = "NAME",
          .help = std::move(help),
          .bounds = bounds,
          .parse = [&target, choices = std::move(choices), bounds](const std::string& value) -> Status {
            if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
              const std::vector<std::string_view> names(choices.begin(), choices.end());
              const std::string near = nearest_name(value, names);
              return bad_value(value,
                               "one of " + bounds + (near.empty() ? "" : "; did you mean '" + near + "'?"));
            }
            target = value;
            return {};
          },
          .show = [&target] { return target; },
          .is_switch = false});
}

void OptionTable::integers(std::string key, std::vector<int>& target, int low, int high, std::string help) {
  const std::string bounds = fmt::format("numbers {}..{}, separated by commas", low, high);
  custom({.key = std::move(key),
          .metavar = "N,N",
          .help = std::move(help),
          .bounds = bounds,
          .parse = [&target, low, high, bounds](const std::string& text) -> Status {
            std::vector<int> values;
            for (const std::string& part : split_list(text)) {
              const auto value = parse_bounded<int>(part, low, high);
              if (!value) {
                return bad_value(text, bounds);
              }
              values.push_back(*value);
            }
            target = std::move(values);
            return {};
          },
          .show = [&target] { return fmt::format("{}", fmt::join(target, ",")); },
          .is_switch = false});
}

void OptionTable::toggle(std::string key, bool& target, std::string help) {
  custom({.key = std::move(key),
          .metavar = {},
          .help = std::move(help),
          .bounds = {},
          .parse = [&target](const std::string& text) -> Status {
            if (text != "true" && text != "false") {
              return bad_value(text, "true or false");
            }
            target = text == "true";
            return {};
          },
          .show = [&target] { return std::string(target ? "true" : "false"); },
          .is_switch = true});
}

void OptionTable::custom(Option option) {
  origins_[option.key] = "default";
  options_.push_back(std::move(option));
}

void OptionTable::bind(CLI::App& command) {
  for (const Option& option : options_) {
    const std::string flag = "--" + option.key;
    std::string help = option.help;
    if (!option.bounds.empty()) {
      help += fmt::format(" ({})", option.bounds);
    }
    const auto keep = [this, key = option.key](const std::string& value) { given_[key] = value; };
    if (option.is_switch) {
      command.add_flag_callback(
          flag, [keep] { keep("true"); }, help);
    } else {
      const std::string shown = option.show();
      if (!shown.empty()) {
        help += fmt::format(" [{}]", shown);
      }
      command.add_option_function<std::string>(flag, keep, help)->type_name(option.metavar)->take_last();
    }
  }
  command
      .add_option("--config", config_path_,
                  "JSON object of option values; flags and RUDDER_* variables go first")
      ->type_name("FILE");
  command.add_flag("--print-config", print_config_,
                   "Print every option's value and where it came from, then stop");
}

Result<std::map<std::string, std::string>> OptionTable::read_config() const {
  std::map<std::string, std::string> values;
  if (config_path_.empty()) {
    return values;
  }
  RUDDER_ASSIGN(const std::string text, read_text(config_path_, std::size_t{1} << 20));
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object()) {
    return Error{Errc::kInvalidArgument, config_path_ + ": not a JSON object"};
  }
  for (const auto& [key, value] : parsed.items()) {
    const bool known = std::any_of(options_.begin(), options_.end(),
                                   [&, &k = key](const Option& option) { return option.key == k; });
    if (!known) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: unknown key '{}'{}", config_path_, key, nearest_key(key, options_))};
    }
    if (value.is_structured() || value.is_null()) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: '{}' must be text, a number or a truth value", config_path_, key)};
    }
    values[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return values;
}

Status OptionTable::resolve(const std::function<const char*(const char*)>& environment) {
  RUDDER_ASSIGN(const auto config, read_config());
  std::string problems;
  for (const Option& option : options_) {
    const auto take = [&](const std::string& value, const std::string& origin) {
      origins_[option.key] = origin;
      if (const Status parsed = option.parse(value); !parsed) {
        problems += fmt::format("{}--{} from {}: {}", problems.empty() ? "" : "\n", option.key, origin,
                                parsed.error().message);
      }
    };
    const std::string variable = environment_name(option.key);
    if (const auto found = given_.find(option.key); found != given_.end()) {
      take(found->second, "the command line");
    } else if (const char* value = environment(variable.c_str()); value != nullptr) {
      take(value, variable);
    } else if (const auto entry = config.find(option.key); entry != config.end()) {
      take(entry->second, config_path_);
    }
  }
  if (!problems.empty()) {
    return Error{Errc::kInvalidArgument, problems};
  }
  return {};
}

std::string OptionTable::value(std::string_view key) const {
  const auto found =
      std::find_if(options_.begin(), options_.end(), [&](const Option& option) { return option.key == key; });
  RUDDER_CHECK(found != options_.end(), "no such option");
  return found->show();
}

std::string OptionTable::config_text() const {
  std::string text;
  for (const Option& option : options_) {
    text += fmt::format("{} = {}  ({})\n", option.key, option.show(), origins_.at(option.key));
  }
  return text;
}

}  // namespace rudder::cli
