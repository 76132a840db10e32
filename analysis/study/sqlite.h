// The little of SQLite that studies need, with errors as Error naming the file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analysis/study/columns.h"

struct sqlite3;
struct sqlite3_stmt;

namespace legacy::analysis {

// A connection; waits a minute where another program has the file locked. Not to be used in a child
// process after a fork.
class SqliteFile {
 public:
  enum class Mode {
    kCreate,
    kExisting
  };  // kExisting: for reading alone where the file may not be written
  SqliteFile(const std::filesystem::path& path, Mode mode);

  void Execute(const std::string& sql);
  int64_t ChangedRows() const;  // of the last statement
  const std::filesystem::path& path() const { return path_; }
  [[noreturn]] void Fail() const;  // throws what SQLite says

 private:
  friend class SqliteStatement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
};

// A prepared statement; `file` must outlive it.
class SqliteStatement {
 public:
  SqliteStatement(SqliteFile& file, const std::string& sql);

  // Values of the parameters ?, all of them, and from the start.
  void Bind(const std::vector<Cell>& cells);
  bool Step();  // false: no row is left
  std::vector<Cell> Row() const;
  void Run(const std::vector<Cell>& cells);  // Bind, then Step to the end

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteFile& file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// All or nothing: undone unless committed.
class SqliteTransaction {
 public:
  enum class Kind { kRead, kWrite };
  SqliteTransaction(SqliteFile& file, Kind kind);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  void Commit();

 private:
  SqliteFile& file_;
  bool open_ = true;
};

}  // namespace legacy::analysis
