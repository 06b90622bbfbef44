// SPDX-License-Identifier: Apache-2.0
#include "steer/sqlite.h"

#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "rudder/core/text.h"

namespace rudder::steer {
namespace {

constexpr int kMostBytes = 1 << 20;  ///< of one value or row
constexpr int kMostSql = 1 << 16;

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  sqlite3_finalize(statement);
}

Statement& Statement::bind(int position, std::string_view text) {
  const int code =
      sqlite3_bind_text64(handle_.get(), position, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  error_ = error_ != 0 ? error_ : code;
  return *this;
}

Statement& Statement::bind(int position, std::int64_t value) {
  const int code = sqlite3_bind_int64(handle_.get(), position, value);
  error_ = error_ != 0 ? error_ : code;
  return *this;
}

Statement& Statement::bind(int position, std::span<const std::byte> bytes) {
  const int code = sqlite3_bind_blob64(handle_.get(), position, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  error_ = error_ != 0 ? error_ : code;
  return *this;
}

Statement& Statement::bind_if(int position, const std::optional<std::string>& text) {
  return text.has_value() ? bind(position, std::string_view(*text)) : *this;  // unbound parameters are NULL
}

Result<bool> Statement::step() {
  if (error_ != 0) {
    return database_->error_of(error_);
  }
  const int code = sqlite3_step(handle_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    return database_->error_of(code);
  }
  return code == SQLITE_ROW;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* const data = sqlite3_column_text(handle_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column));
  return data == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size);
}

std::span<const std::byte> Statement::bytes(int column) const {
  const void* const data = sqlite3_column_blob(handle_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column));
  return data == nullptr ? std::span<const std::byte>()
                         : std::span(static_cast<const std::byte*>(data), size);
}

bool Statement::null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* handle) const noexcept {
  sqlite3_close_v2(handle);
}

Error Database::error_of(int code) const {
  const std::string what = fmt::format("{}: {}", name_, printable(sqlite3_errmsg(handle_.get())));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Errc::kTimeout,
              fmt::format("{}: other processes kept it locked for {} s", name_, to_seconds(busy_))};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
      return {Errc::kInvalidData, what};
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return {Errc::kResource, what};
    default:
      return {Errc::kIo, what};
  }
}

Result<Database> Database::open(const std::filesystem::path& path, Mode mode, Duration busy) {
  const bool in_memory = mode == Mode::kInMemory;
  const std::string file = in_memory ? ":memory:" : std::filesystem::absolute(path).string();
  sqlite3* handle = nullptr;
  // Connections are used under the store's own lock.
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mode == Mode::kExisting ? 0 : SQLITE_OPEN_CREATE);
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags, nullptr);
  if (handle == nullptr) {
    return Error{Errc::kResource, fmt::format("{}: no memory for SQLite", file)};
  }
  Database database(in_memory ? "memory" : path.string(), busy, handle);
  if (code != SQLITE_OK) {
    return database.error_of(code);
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(busy).count()));
  // Files come from anywhere: nothing in one may run code or allocate at will.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, kMostSql);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  RUDDER_TRY(database.run("PRAGMA cell_size_check = ON"));
  RUDDER_TRY(database.run("PRAGMA mmap_size = 0"));
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) {
    return error_of(code);
  }
  return Statement(this, statement);
}

Status Database::run(const char* sql) const {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    return error_of(code);
  }
  return {};
}

Result<Transaction> Transaction::begin(const Database& database, Kind kind) {
  RUDDER_TRY(database.run(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(&database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) {
    static_cast<void>(database_->run("ROLLBACK"));  // it may be over already, after an error
  }
}

Status Transaction::commit() {
  RUDDER_TRY(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace rudder::steer
