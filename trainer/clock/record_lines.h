// Lines of a record are JSON objects. RecordFields(line, row) lists the fields of a row once, for
// both directions: a RowWriter makes the object, and a RowReader reads it. Only the latter checks:
// every number before anything is sized or indexed by it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/json.h"

namespace legacy {

// Largest number of elements, bytes or launches in a record; sums stay far below 2^63.
inline constexpr int64_t kMostRecorded = int64_t{1} << 44;

// The whole numbers that a field may have.
struct Allowed {
  int64_t least = 0;
  int64_t most = kMostRecorded;
};
inline constexpr Allowed kAnyCount = {0, INT64_MAX};

// Returns the value, which is made where there is none yet.
template <class T>
T& Emplaced(std::optional<T>& value) {
  return value ? *value : value.emplace();
}

// A RowWriter changes no value.
class RowWriter {
 public:
  // Returns the object of a row. `more` goes to RecordFields.
  template <class Row, class... More>
  static nlohmann::json Line(const Row& row, const More&... more) {
    RowWriter writer;
    RecordFields(writer, const_cast<Row&>(row), more...);
    return std::move(writer.line_);
  }

  // True where a field is there that may be left out.
  bool Has(const char* /*key*/, bool there) const { return there; }
  // Write a number, a text, JSON, or a list of numbers or texts; `Amount` one of at least 0.
  template <class T>
  void Field(const char* key, const T& value, Allowed = {}) {
    line_[key] = value;
  }
  void Amount(const char* key, double value) { line_[key] = value; }
  // Writes a value that may be left out.
  template <class T>
  void Optional(const char* key, const std::optional<T>& value, Allowed = {}) {
    if (value) line_[key] = *value;
  }
  // Writes the name of an enumerator.
  template <class Enum, size_t count>
  void Choice(const char* key, Enum value, const std::array<const char*, count>& names) {
    line_[key] = names[static_cast<size_t>(value)];
  }
  // Writes a list of rows.
  template <class Row, class... More>
  void Rows(const char* key, const std::vector<Row>& rows, const More&... more) {
    nlohmann::json& list = line_[key] = nlohmann::json::array();
    for (const Row& row : rows) list.push_back(Line(row, more...));
  }
  void Require(bool /*ok*/, const std::string& /*what*/) const {}

 private:
  nlohmann::json line_ = nlohmann::json::object();
};

// A RowReader reads what a RowWriter has written, and throws Error "file:line: ..." on missing keys
// and values that are not allowed.
class RowReader {
 public:
  // `line` and `place`, the file and the line, outlive the reader.
  RowReader(const nlohmann::json& line, const std::string& place) : line_(line), place_(place) {}

  bool Has(const char* key, bool /*there*/ = true) const { return line_.contains(key); }
  template <class T>
  void Field(const char* key, T& value, Allowed allowed = {}) const {
    Read(At(key), key, value, allowed);
  }
  void Amount(const char* key, double& value) const;
  template <class T>
  void Optional(const char* key, std::optional<T>& value, Allowed allowed = {}) const {
    if (Has(key)) Field(key, value.emplace(), allowed);
  }
  template <class Enum, size_t count>
  void Choice(const char* key, Enum& value, const std::array<const char*, count>& names) const {
    std::string name, all;
    Field(key, name);
    for (size_t i = 0; i < count; ++i) {
      value = static_cast<Enum>(i);
      if (name == names[i]) return;
      all += (i ? ", " : "") + std::string(names[i]);
    }
    Fail(key, name, all);
  }
  template <class Row, class... More>
  void Rows(const char* key, std::vector<Row>& rows, const More&... more) const {
    for (const nlohmann::json& entry : List(At(key), key)) {
      RowReader reader(entry, place_);
      RecordFields(reader, rows.emplace_back(), more...);
    }
  }
  void Require(bool ok, const std::string& what) const;

 private:
  [[noreturn]] void Fail(const char* key, const nlohmann::json& value,
                         const std::string& allowed) const;
  const nlohmann::json& At(const char* key) const;
  const nlohmann::json& List(const nlohmann::json& value, const char* key) const;

  template <std::integral T>
  void Read(const nlohmann::json& value, const char* key, T& number, Allowed allowed) const {
    number = static_cast<T>(WholeNumber(value, place_ + ": " + key, allowed.least, allowed.most));
  }
  void Read(const nlohmann::json& value, const char* key, double& number, Allowed) const;
  void Read(const nlohmann::json& value, const char* key, std::string& text, Allowed) const;
  void Read(const nlohmann::json& value, const char*, nlohmann::json& copy, Allowed) const {
    copy = value;
  }
  template <class T>
  void Read(const nlohmann::json& value, const char* key, std::vector<T>& values,
            Allowed allowed) const {
    for (const nlohmann::json& entry : List(value, key)) {
      Read(entry, key, values.emplace_back(), allowed);
    }
  }

  const nlohmann::json& line_;
  const std::string& place_;
};

}  // namespace legacy
