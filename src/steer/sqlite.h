// SPDX-License-Identifier: Apache-2.0
// SQLite with errors as values and handles that close themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/clock.h"
#include "rudder/core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rudder::steer {

class Database;

/// A prepared statement. Outlived by its database. Positions of parameters count from 1, of columns from 0.
class Statement {
 public:
  /// Bound texts and bytes are copied.
  Statement& bind(int position, std::string_view text);
  Statement& bind(int position, std::int64_t value);
  Statement& bind(int position, std::span<const std::byte> bytes);
  Statement& bind_if(int position, const std::optional<std::string>& text);  ///< nothing: NULL
  /// True: there is a row; false: the statement is done.
  [[nodiscard]] Result<bool> step();

  [[nodiscard]] std::int64_t integer(int column) const;
  /// Valid until the next step.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::span<const std::byte> bytes(int column) const;
  [[nodiscard]] bool null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  Statement(const Database* database, sqlite3_stmt* statement) : database_(database), handle_(statement) {}

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int error_ = 0;  ///< of a bind
};

/// One connection, for one thread at a time. Errors carry the store's name: kTimeout when others kept it
/// locked, kInvalidData when it is not what it should be, kResource when the disk is full, else kIo.
class Database {
 public:
  enum class Mode : std::uint8_t { kInMemory, kCreate, kExisting };
  /// `path` is made absolute, so that no name of a file means anything else to the library.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, Mode mode, Duration busy);

  [[nodiscard]] Result<Statement> prepare(std::string_view sql) const;
  /// Statements whose rows do not matter.
  [[nodiscard]] Status run(const char* sql) const;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  Database(std::string name, Duration busy, sqlite3* handle)
      : name_(std::move(name)), busy_(busy), handle_(handle) {}
  [[nodiscard]] Error error_of(int code) const;

  std::string name_;
  Duration busy_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Rolled back unless committed.
class Transaction {
 public:
  enum class Kind : std::uint8_t { kRead, kWrite };
  [[nodiscard]] static Result<Transaction> begin(const Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  [[nodiscard]] Status commit();

 private:
  explicit Transaction(const Database* database) : database_(database) {}
  const Database* database_;
};

}  // namespace rudder::steer
