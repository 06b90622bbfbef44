// SPDX-License-Identifier: Apache-2.0
#include "rudder/sched/slurm_notes.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "rudder/core/sha256.h"
#include "rudder/core/text.h"

namespace rudder::sched {
namespace {

constexpr std::string_view kMark = "rudder:";
constexpr std::array<std::string_view, 10> kWords = {"shape",    "alpha",      "order",       "planned",
                                                     "estimate", "priority",   "preemptible", "checkpoint",
                                                     "restart",  "min-runtime"};
constexpr std::size_t kMostVictims = 64;  ///< AdminComment holds about 1,000 characters

struct Word {
  std::string_view key;
  std::string_view value;
  bool has_value = false;
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!word.empty()) {
      const std::size_t equals = std::min(word.find('='), word.size());
      words.push_back({.key = word.substr(0, equals),
                       .value = word.substr(std::min(equals + 1, word.size())),
                       .has_value = equals < word.size()});
    }
  }
  return words;
}

Error bad(const Word& word, std::string_view expected) {
  return {Errc::kInvalidData, fmt::format("'{}={}' is not {}", printable(word.key.substr(0, 40)),
                                          printable(word.value.substr(0, 80)), expected)};
}

Result<Time> duration_of(const Word& word) {
  std::string_view digits = word.value;
  Time unit = 1;
  for (const auto& [letter, seconds] :
       {std::pair{'s', Time{1}}, {'m', Time{60}}, {'h', Time{3600}}, {'d', Time{86'400}}}) {
    if (digits.ends_with(letter)) {
      digits.remove_suffix(1);
      unit = seconds;
      break;
    }
  }
  const std::optional<std::int64_t> number = parse_int(digits);
  if (!number || *number < 0 || *number > kMaxTime / unit) {
    return bad(word, "a duration, such as 90, 15m, 2h or 1d");
  }
  return *number * unit;
}

Result<place::Grid> grid_of(const Word& word) {
  const std::size_t cross = word.value.find('x');
  const std::optional<std::int64_t> rows = parse_int(word.value.substr(0, cross));
  const std::optional<std::int64_t> columns =
      cross == std::string_view::npos ? std::nullopt : parse_int(word.value.substr(cross + 1));
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (!rows || !columns || *rows < 1 || *columns < 1 || *rows > kMost || *columns > kMost) {
    return bad(word, "rows x columns of nodes, such as 4x2");
  }
  return place::Grid{.rows = static_cast<std::int32_t>(*rows),
                     .columns = static_cast<std::int32_t>(*columns)};
}

/// Seconds since 1970, or a local time of the form 2026-11-30T04:00[:00].
Result<Time> moment_of(const Word& word) {
  if (const std::optional<std::int64_t> seconds = parse_int(word.value)) {
    if (*seconds >= 0 && *seconds <= kMaxTime) {
      return *seconds;
    }
    return bad(word, "a time");
  }
  const std::string text(word.value);
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"}) {
    std::tm parts{};
    parts.tm_isdst = -1;
    const char* end = ::strptime(text.c_str(), format, &parts);
    if (end != nullptr && *end == '\0') {
      const std::time_t seconds = std::mktime(&parts);
      if (seconds >= 0) {
        return static_cast<Time>(seconds);
      }
    }
  }
  return bad(word, "a time, such as 2026-11-30T04:00:00 or seconds since 1970");
}

Status read_word(const Word& word, JobRequest& request) {
  if (word.key == "preemptible") {
    request.preemptible = true;
    return word.has_value ? Status(bad(word, "a word of this form; write 'preemptible' alone")) : Status();
  }
  if (word.key == "shape") {
    RUDDER_ASSIGN(request.grid, grid_of(word));
  } else if (word.key == "alpha") {
    const std::optional<double> alpha = parse_double(word.value);
    if (!alpha || !(*alpha >= 0 && *alpha <= 1)) {
      return bad(word, "a number from 0 to 1");
    }
    request.alpha = *alpha;
  } else if (word.key == "order") {
    Result<place::RankOrder> order = place::rank_order_from_name(word.value);
    if (!order) {
      return bad(word, "column-major or row-major");
    }
    request.order = *order;
  } else if (word.key == "planned") {
    RUDDER_ASSIGN(request.planned, moment_of(word));
  } else if (word.key == "priority") {
    const std::optional<std::int64_t> priority = parse_int(word.value);
    if (!priority || std::max(*priority, -*priority) > kMaxPriority) {
      return bad(word, fmt::format("a number from -{} to {}", kMaxPriority, kMaxPriority));
    }
    request.priority = static_cast<std::int32_t>(*priority);
  } else {
    RUDDER_ASSIGN(const Time seconds, duration_of(word));
    Time& target = word.key == "estimate"     ? request.estimate
                   : word.key == "checkpoint" ? request.checkpoint
                   : word.key == "restart"    ? request.restart
                                              : request.min_runtime;
    target = seconds;
  }
  return {};
}

constexpr std::array<std::pair<NoteKind, std::string_view>, 5> kKinds = {{
    {NoteKind::kZone, "zone"},
    {NoteKind::kPlaced, "placed"},
    {NoteKind::kLeaving, "leaving"},
    {NoteKind::kRejected, "rejected"},
    {NoteKind::kWaits, "waits"},
}};

using Fields = std::map<std::string_view, std::string_view>;

bool read_time(const Fields& fields, std::string_view key, Time& target) {
  const auto found = fields.find(key);
  const std::optional<std::int64_t> value = found == fields.end() ? std::nullopt : parse_int(found->second);
  if (!value || *value < 0 || *value > kNever) {
    return false;
  }
  target = *value;
  return true;
}

bool read_real(const Fields& fields, std::string_view key, double& target) {
  const auto found = fields.find(key);
  const std::optional<double> value = found == fields.end() ? std::nullopt : parse_double(found->second);
  target = value.value_or(0);
  return value.has_value();
}

bool read_victims(std::string_view list, std::vector<JobId>& victims) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::optional<std::int64_t> id = parse_int(list.substr(0, end));
    if (!id) {
      return false;
    }
    victims.push_back(*id);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
}

bool read_placement(const Fields& fields, SlurmNote& note) {
  if (const auto digest = fields.find("hosts"); digest != fields.end()) {
    note.digest = digest->second;
  }
  if (const auto kind = fields.find("zone"); kind != fields.end()) {
    note.has_zone = true;
    note.zone = kind->second == "claim" ? ZoneKind::kClaim : ZoneKind::kPlanned;
    if (!read_time(fields, "arrival", note.arrival) || !read_time(fields, "end", note.end) ||
        !read_time(fields, "expires", note.expires)) {
      return false;
    }
  }
  const auto victims = fields.find("victims");
  return read_real(fields, "J", note.objective) && read_real(fields, "bound", note.bound) &&
         (victims == fields.end() || read_victims(victims->second, note.victims)) &&
         (note.kind != NoteKind::kZone || note.has_zone);
}

}  // namespace

bool is_marked(std::string_view comment) noexcept {
  return comment.starts_with(kMark);
}

Result<JobRequest> parse_request(std::string_view comment) {
  JobRequest request;
  comment.remove_prefix(std::min(kMark.size(), comment.size()));
  std::vector<std::string_view> seen;
  for (const Word& word : words_of(comment)) {
    if (std::find(kWords.begin(), kWords.end(), word.key) == kWords.end()) {
      const std::string near = nearest_name(word.key, kWords);
      return Error{Errc::kInvalidData,
                   fmt::format("unknown word '{}'{}", printable(word.key.substr(0, 40)),
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
    }
    if (std::find(seen.begin(), seen.end(), word.key) != seen.end()) {
      return Error{Errc::kInvalidData, fmt::format("'{}' occurs twice", word.key)};
    }
    seen.push_back(word.key);
    RUDDER_TRY(read_word(word, request));
  }
  return request;
}

std::string to_text(const SlurmNote& note) {
  const auto* kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& one) { return one.first == note.kind; });
  if (kind == kKinds.end()) {
    return {};
  }
  std::string text = fmt::format("{} {}", kMark, kind->second);
  if (note.kind == NoteKind::kRejected) {
    return text + " " + printable(std::string_view(note.why).substr(0, 200));
  }
  if (note.kind == NoteKind::kLeaving) {
    return fmt::format("{} since={} for={}", text, note.since, note.in_favour);
  }
  if (note.kind == NoteKind::kWaits) {
    return text;
  }
  text += fmt::format(" J={:.6g} bound={:.6g} hosts={}", note.objective, note.bound, note.digest);
  if (note.has_zone) {
    text += fmt::format(" zone={} arrival={} end={} expires={}",
                        note.zone == ZoneKind::kClaim ? "claim" : "planned", note.arrival, note.end,
                        note.expires);
  }
  if (!note.victims.empty()) {
    const auto shown = std::span(note.victims).first(std::min(kMostVictims, note.victims.size()));
    text += fmt::format(" victims={}", fmt::join(shown, ","));
  }
  return text;
}

SlurmNote parse_note(std::string_view text) {
  SlurmNote note;
  if (!text.starts_with(kMark)) {
    return note;
  }
  const std::vector<Word> words = words_of(text.substr(kMark.size()));
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& one) {
    return !words.empty() && one.second == words.front().key;
  });
  if (kind == kKinds.end()) {
    return note;
  }
  note.kind = kind->first;
  Fields fields;
  for (const Word& word : std::span(words).subspan(1)) {
    fields.emplace(word.key, word.value);
  }
  bool valid = true;
  if (note.kind == NoteKind::kRejected) {
    const std::size_t at = text.find(kind->second) + kind->second.size();
    note.why = text.substr(std::min(at + 1, text.size()));
  } else if (note.kind == NoteKind::kLeaving) {
    valid = read_time(fields, "since", note.since) && read_time(fields, "for", note.in_favour);
  } else if (note.kind != NoteKind::kWaits) {
    valid = read_placement(fields, note);
  }
  return valid ? note : SlurmNote{};
}

std::string digest_of(const std::vector<std::string>& hosts) {
  Sha256 sha;
  for (const std::string& host : hosts) {
    sha.update(std::as_bytes(std::span(host)));
    sha.update(std::as_bytes(std::span(",", 1)));
  }
  return sha.hex().substr(0, 16);
}

}  // namespace rudder::sched
