// SPDX-License-Identifier: Apache-2.0
#include "rudder/steer/memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "rudder/core/files.h"
#include "rudder/core/interrupt.h"
#include "rudder/core/text.h"

#include "steer/experience_codec.h"
#include "steer/sqlite.h"

namespace rudder::steer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kApplication = 0x5264'7245;  ///< "RdrE" in the file's header
constexpr std::uint32_t kVersion = 1;
constexpr std::int64_t kMostPlace = std::int64_t{1} << 62;
/// Experiences of an action set have consecutive places, so that the oldest are found without counting. The
/// index holds all that a search looks at.
constexpr const char* kWindowsTable =
    "CREATE TABLE experience (id INTEGER PRIMARY KEY, action_set TEXT NOT NULL, place INTEGER NOT NULL, "
    "run TEXT NOT NULL, graph TEXT NOT NULL, sequence INTEGER NOT NULL, features BLOB NOT NULL, "
    "costs BLOB NOT NULL, best INTEGER NOT NULL, report TEXT NOT NULL, decision TEXT, observed TEXT) STRICT";
constexpr const char* kIndex =
    "CREATE UNIQUE INDEX experience_search ON experience (action_set, place, run, features)";
constexpr std::string_view kColumns =
    "run, graph, action_set, sequence, features, costs, best, report, decision, observed, place";

Error not_a_store(const std::string& name, const std::string& why) {
  return {Errc::kInvalidData, fmt::format("{}: not a store of steering experiences: {}", name, why)};
}

/// By the file's own bytes, so that nothing foreign is ever given to the library, which might change it.
Status check_header(const fs::path& path) {
  std::array<unsigned char, 100> header{};
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{Errc::kIo, fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno))};
  }
  file.read(reinterpret_cast<char*>(header.data()), static_cast<std::streamsize>(header.size()));
  const auto word = [&](std::size_t at) {
    return static_cast<std::uint32_t>(header[at]) << 24 | static_cast<std::uint32_t>(header[at + 1]) << 16 |
           static_cast<std::uint32_t>(header[at + 2]) << 8 | static_cast<std::uint32_t>(header[at + 3]);
  };
  if (file.gcount() < static_cast<std::streamsize>(header.size()) ||
      std::memcmp(header.data(), "SQLite format 3", 16) != 0 || word(68) != kApplication) {
    return not_a_store(path.string(), file.gcount() == 0 ? "it is empty" : "it begins otherwise");
  }
  if (word(60) != kVersion) {
    return not_a_store(path.string(), fmt::format("version {}, this program writes {}", word(60), kVersion));
  }
  return {};
}

Status make_schema(const Database& database) {
  RUDDER_ASSIGN(Transaction transaction, Transaction::begin(database, Transaction::Kind::kWrite));
  RUDDER_TRY(database.run(fmt::format("PRAGMA application_id = {}", kApplication).c_str()));
  RUDDER_TRY(database.run(fmt::format("PRAGMA user_version = {}", kVersion).c_str()));
  RUDDER_TRY(database.run(kWindowsTable));
  RUDDER_TRY(database.run(kIndex));
  return transaction.commit();
}

/// A whole new store under a temporary name, then linked: of several processes that do this at once one wins,
/// and none ever sees half a store.
Status create_store(const fs::path& path) {
  const PendingPath temporary(fmt::format("{}.tmp.{}", path.string(), ::getpid()));
  std::error_code ignored;
  fs::remove(temporary.path(), ignored);  // of a process of that number that was killed
  {
    RUDDER_ASSIGN(const Database database,
                  Database::open(temporary.path(), Database::Mode::kCreate, Memory::kBusyTimeout));
    RUDDER_TRY(database.run("PRAGMA journal_mode = WAL"));
    RUDDER_TRY(make_schema(database));
  }
  const int code = ::link(temporary.path().c_str(), path.c_str()) == 0 ? 0 : errno;
  fs::remove(temporary.path(), ignored);
  if (code != 0 && code != EEXIST) {
    return Error{Errc::kIo, fmt::format("{}: cannot be created: {}", path.string(), std::strerror(code))};
  }
  return {};
}

/// That the store holds our table and nothing else, and that its pages fit together.
Status check_store(const Database& database) {
  {
    RUDDER_ASSIGN(Statement schema, database.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid"));
    for (const std::string_view wanted : {kWindowsTable, kIndex}) {
      RUDDER_ASSIGN(const bool more, schema.step());
      if (!more || schema.text(0) != wanted) {
        return not_a_store(database.name(), "its tables are others");
      }
    }
    RUDDER_ASSIGN(const bool more, schema.step());
    if (more) {
      return not_a_store(database.name(), "it has more tables");
    }
  }
  RUDDER_ASSIGN(Statement check, database.prepare("PRAGMA quick_check(1)"));
  RUDDER_ASSIGN(const bool any, check.step());
  if (!any || check.text(0) != "ok") {
    return not_a_store(database.name(), fmt::format("damaged: {}", printable(check.text(0))));
  }
  return {};
}

Result<Database> open_store(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error) && !error) {
    RUDDER_TRY(create_store(path));
  }
  RUDDER_TRY(check_header(path));
  RUDDER_ASSIGN(Database database, Database::open(path, Database::Mode::kExisting, Memory::kBusyTimeout));
  if (const Status status = check_store(database); !status) {
    return status.error();
  }
  {
    RUDDER_ASSIGN(Statement mode, database.prepare("PRAGMA journal_mode = WAL"));
    RUDDER_ASSIGN(const bool any, mode.step());
    if (!any || mode.text(0) != "wal") {
      return Error{Errc::kUnsupported,
                   fmt::format("{}: its file system does not allow a shared log (WAL)", path.string())};
    }
  }
  RUDDER_TRY(database.run("PRAGMA synchronous = NORMAL"));
  RUDDER_TRY(database.run("PRAGMA journal_size_limit = 4194304"));
  return database;
}

Result<Experience> decode(const Statement& row, std::size_t actions) {
  Experience experience;
  experience.run = row.text(0);
  experience.graph = row.text(1);
  experience.action_set = row.text(2);
  experience.sequence = static_cast<std::uint64_t>(row.integer(3));
  RUDDER_ASSIGN(experience.features, features_of_bytes(row.bytes(4)));
  RUDDER_ASSIGN(experience.costs, costs_of_bytes(row.bytes(5)));
  experience.best = static_cast<std::size_t>(row.integer(6));
  RUDDER_ASSIGN(experience.report, report_of_json(row.text(7)));
  if (!row.null(8)) {
    RUDDER_ASSIGN(experience.decision, decision_of_text(row.text(8)));
  }
  if (!row.null(9)) {
    RUDDER_ASSIGN(experience.observed, expected_of_text(row.text(9)));
  }
  if (const std::string fault = fault_of(experience); !fault.empty()) {
    return Error{Errc::kInvalidData, fault};
  }
  if (experience.costs.size() != actions) {
    return Error{Errc::kInvalidData,
                 fmt::format("{} costs for {} actions", experience.costs.size(), actions)};
  }
  return experience;
}

class SqliteMemory final : public Memory {
 public:
  SqliteMemory(Database database, std::size_t limit) : database_(std::move(database)), limit_(limit) {}

  Status add(const Experience& experience) override {
    if (const std::string fault = fault_of(experience); !fault.empty()) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("experience of window {}: {}", experience.sequence, fault)};
    }
    const std::lock_guard lock(mutex_);
    RUDDER_ASSIGN(Transaction transaction, Transaction::begin(database_, Transaction::Kind::kWrite));
    RUDDER_ASSIGN(const std::int64_t place, next_place(experience.action_set));
    RUDDER_TRY(insert(experience, place));
    if (place > static_cast<std::int64_t>(limit_)) {
      RUDDER_ASSIGN(Statement trim,
                    database_.prepare("DELETE FROM experience WHERE action_set = ? AND place <= ?"));
      trim.bind(1, experience.action_set).bind(2, place - static_cast<std::int64_t>(limit_));
      RUDDER_TRY(trim.step());
    }
    return transaction.commit();
  }

  Result<std::vector<Experience>> nearest(const ActionSet& actions, const Features& features, std::size_t k,
                                          const std::string& except_run) const override {
    const std::string key = actions.key();
    const std::lock_guard lock(mutex_);
    // One view of the store for both steps, whatever others add and drop meanwhile.
    RUDDER_ASSIGN(const Transaction view, Transaction::begin(database_, Transaction::Kind::kRead));
    RUDDER_ASSIGN(const std::vector<std::int64_t> places, nearest_places(key, features, k, except_run));
    std::vector<Experience> found;
    for (const std::int64_t place : places) {
      RUDDER_ASSIGN(Statement row,
                    database_.prepare(fmt::format(
                        "SELECT {} FROM experience WHERE action_set = ? AND place = ?", kColumns)));
      row.bind(1, key).bind(2, place);
      RUDDER_TRY(read(row, actions.actions.size(), {}, found));
    }
    return found;
  }

  Result<std::vector<Experience>> all(const ActionSet& actions, const std::string& graph) const override {
    const std::lock_guard lock(mutex_);
    RUDDER_ASSIGN(Statement rows,
                  database_.prepare(fmt::format(
                      "SELECT {} FROM experience WHERE action_set = ? ORDER BY place", kColumns)));
    rows.bind(1, actions.key());
    std::vector<Experience> found;
    RUDDER_TRY(read(rows, actions.actions.size(), graph, found));
    return found;
  }

 private:
  struct Near {
    double similarity;
    std::int64_t place;
    /// The more similar one first, of equal ones the newer.
    friend bool operator<(const Near& a, const Near& b) {
      return a.similarity != b.similarity ? a.similarity > b.similarity : a.place > b.place;
    }
  };

  Result<std::int64_t> next_place(const std::string& key) const {
    RUDDER_ASSIGN(Statement last,
                  database_.prepare("SELECT coalesce(max(place), 0) FROM experience WHERE action_set = ?"));
    last.bind(1, key);
    RUDDER_TRY(last.step());
    if (last.integer(0) < 0 || last.integer(0) > kMostPlace) {
      return not_a_store(database_.name(), fmt::format("an experience has place {}", last.integer(0)));
    }
    return last.integer(0) + 1;
  }

  Status insert(const Experience& experience, std::int64_t place) const {
    RUDDER_ASSIGN(Statement row,
                  database_.prepare(fmt::format(
                      "INSERT INTO experience ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kColumns)));
    const auto optional_text = [](const auto& value) {
      return value.has_value() ? std::optional(text_of(*value)) : std::nullopt;
    };
    row.bind(1, experience.run)
        .bind(2, experience.graph)
        .bind(3, experience.action_set)
        .bind(4, static_cast<std::int64_t>(experience.sequence))
        .bind(5, bytes_of(experience.features))
        .bind(6, bytes_of(experience.costs))
        .bind(7, static_cast<std::int64_t>(experience.best))
        .bind(8, json_of(experience.report))
        .bind_if(9, optional_text(experience.decision))
        .bind_if(10, optional_text(experience.observed))
        .bind(11, place);
    RUDDER_TRY(row.step());
    return {};
  }

  Result<std::vector<std::int64_t>> nearest_places(const std::string& key, const Features& features,
                                                   std::size_t k, const std::string& except_run) const {
    RUDDER_ASSIGN(Statement rows,
                  database_.prepare("SELECT place, run, features FROM experience WHERE action_set = ?"));
    rows.bind(1, key);
    std::vector<Near> near;
    while (true) {
      RUDDER_ASSIGN(const bool more, rows.step());
      if (!more) {
        break;
      }
      if (!except_run.empty() && rows.text(1) == except_run) {
        continue;
      }
      auto stored = features_of_bytes(rows.bytes(2));
      if (!stored) {
        return fault(stored.error(), rows.integer(0));
      }
      near.push_back({similarity(*stored, features), rows.integer(0)});
    }
    const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(k, near.size()));
    std::partial_sort(near.begin(), end, near.end());
    std::vector<std::int64_t> places;
    std::transform(near.begin(), end, std::back_inserter(places),
                   [](const Near& each) { return each.place; });
    return places;
  }

  Status read(Statement& rows, std::size_t actions, const std::string& graph,
              std::vector<Experience>& found) const {
    while (true) {
      RUDDER_ASSIGN(const bool more, rows.step());
      if (!more) {
        return {};
      }
      if (!graph.empty() && rows.text(1) != graph) {
        continue;
      }
      auto experience = decode(rows, actions);
      if (!experience) {
        return fault(experience.error(), rows.integer(10));
      }
      found.push_back(std::move(experience).value());
    }
  }

  [[nodiscard]] Error fault(const Error& error, std::int64_t place) const {
    return {Errc::kInvalidData,
            fmt::format("{}: experience {}: {}", database_.name(), place, printable(error.message))};
  }

  Database database_;
  std::size_t limit_;
  mutable std::mutex mutex_;  ///< of the connection
};

}  // namespace

Memory::~Memory() = default;

Result<std::unique_ptr<Memory>> Memory::open(const fs::path& path, std::size_t limit) {
  if (limit < 1) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: a store of no experiences", path.string())};
  }
  if (path.empty()) {
    RUDDER_ASSIGN(Database database, Database::open({}, Database::Mode::kInMemory, kBusyTimeout));
    RUDDER_TRY(make_schema(database));
    return std::unique_ptr<Memory>(std::make_unique<SqliteMemory>(std::move(database), limit));
  }
  RUDDER_ASSIGN(Database database, open_store(path));
  return std::unique_ptr<Memory>(std::make_unique<SqliteMemory>(std::move(database), limit));
}

}  // namespace rudder::steer
