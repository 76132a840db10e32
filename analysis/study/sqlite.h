// Studies use SQLite through these classes, which throw Error naming the file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analysis/study/columns.h"

struct sqlite3;
struct sqlite3_stmt;

namespace legacy::analysis {

// A SqliteFile is a connection. It waits up to a minute where another program has locked the file.
// A child process must not use it after a fork.
class SqliteFile {
 public:
  enum class Mode {
    kCreate,
    kExisting
  };  // kExisting opens the file for reading alone where it may not be written
  SqliteFile(const std::filesystem::path& path, Mode mode);

  void Execute(const std::string& sql);
  int64_t ChangedRows() const;  // number of rows that the last statement changed
  const std::filesystem::path& path() const { return path_; }
  [[noreturn]] void Fail() const;  // throws Error with SQLite's message

 private:
  friend class SqliteStatement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
};

// A SqliteStatement is a prepared statement. `file` must outlive it.
class SqliteStatement {
 public:
  SqliteStatement(SqliteFile& file, const std::string& sql);

  // Sets the values of all parameters ?, and resets the statement.
  void Bind(const std::vector<Cell>& cells);
  bool Step();  // returns false where no row is left
  std::vector<Cell> Row() const;
  void Run(const std::vector<Cell>& cells);  // calls Bind, then Step until the end

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteFile& file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A SqliteTransaction is undone by its destructor unless it was committed.
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
