#include "analysis/study/sqlite.h"

#include <sqlite3.h>

#include <type_traits>

#include "base/error.h"

namespace legacy::analysis {
namespace {

constexpr int kWaitMilliseconds = 60000;

}  // namespace

void SqliteFile::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteFile::SqliteFile(const std::filesystem::path& path, Mode mode) : path_(path) {
  const int flags =
      mode == Mode::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
  sqlite3* database = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  database_.reset(database);
  if (result != SQLITE_OK) Fail();
  sqlite3_busy_timeout(database, kWaitMilliseconds);
  Execute("PRAGMA foreign_keys = ON");
}

void SqliteFile::Execute(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) Fail();
}

int64_t SqliteFile::ChangedRows() const { return sqlite3_changes(database_.get()); }

void SqliteFile::Fail() const {
  throw Error(path_.string() + ": " + sqlite3_errmsg(database_.get()));
}

SqliteStatement::SqliteStatement(SqliteFile& file, const std::string& sql) : file_(file) {
  sqlite3_stmt* statement = nullptr;
  const auto size = static_cast<int>(sql.size());
  if (sqlite3_prepare_v2(file.database_.get(), sql.data(), size, &statement, nullptr) !=
      SQLITE_OK) {
    file_.Fail();
  }
  statement_.reset(statement);
}

void SqliteStatement::Bind(const std::vector<Cell>& cells) {
  sqlite3_stmt* statement = statement_.get();
  sqlite3_reset(statement);
  for (size_t i = 0; i < cells.size(); ++i) {
    const int index = static_cast<int>(i) + 1;
    const int result = std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::monostate>)
            return sqlite3_bind_null(statement, index);
          else if constexpr (std::is_same_v<Value, int64_t>)
            return sqlite3_bind_int64(statement, index, value);
          else if constexpr (std::is_same_v<Value, double>)
            return sqlite3_bind_double(statement, index, value);
          else
            return sqlite3_bind_text64(statement, index, value.data(), value.size(),
                                       SQLITE_TRANSIENT, SQLITE_UTF8);
        },
        cells[i]);
    if (result != SQLITE_OK) file_.Fail();
  }
}

bool SqliteStatement::Step() {
  const int result = sqlite3_step(statement_.get());
  if (result != SQLITE_ROW && result != SQLITE_DONE) file_.Fail();
  return result == SQLITE_ROW;
}

std::vector<Cell> SqliteStatement::Row() const {
  sqlite3_stmt* statement = statement_.get();
  std::vector<Cell> cells(static_cast<size_t>(sqlite3_column_count(statement)));
  for (size_t i = 0; i < cells.size(); ++i) {
    const int column = static_cast<int>(i);
    switch (sqlite3_column_type(statement, column)) {
      case SQLITE_NULL:
        break;
      case SQLITE_INTEGER:
        cells[i] = static_cast<int64_t>(sqlite3_column_int64(statement, column));
        break;
      case SQLITE_FLOAT:
        cells[i] = sqlite3_column_double(statement, column);
        break;
      default:  // a blob, which is never written here, becomes a text
        const void* bytes = sqlite3_column_blob(statement, column);
        const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
        cells[i] = size == 0 ? std::string() : std::string(static_cast<const char*>(bytes), size);
    }
  }
  return cells;
}

void SqliteStatement::Run(const std::vector<Cell>& cells) {
  Bind(cells);
  while (Step()) {
  }
  sqlite3_reset(statement_.get());
}

SqliteTransaction::SqliteTransaction(SqliteFile& file, Kind kind) : file_(file) {
  file_.Execute(kind == Kind::kRead ? "BEGIN" : "BEGIN IMMEDIATE");
}

SqliteTransaction::~SqliteTransaction() {
  if (!open_) return;
  try {
    file_.Execute("ROLLBACK");
  } catch (const Error&) {
    // SQLite rolls back by itself after some errors, and then there is nothing to roll back.
  }
}

void SqliteTransaction::Commit() {
  file_.Execute("COMMIT");
  open_ = false;
}

}  // namespace legacy::analysis
