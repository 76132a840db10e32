// CSV is read and written as RFC 4180 defines it, with numbers as text. Equal values give equal
// bytes in every locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace legacy::analysis {

// Returns the shortest text that reads back to the same double: positional for 1e-7 <= |value| <
// 1e16, else with an exponent; "nan", "inf" or "-inf" for values that are not finite.
std::string CsvNumber(double value);

// Returns one record with its line feed. Fields that have a comma, a quote or a line break are
// quoted.
std::string CsvLine(const std::vector<std::string>& fields);

struct CsvRecord {
  int64_t line = 0;  // line of the file where the record starts, from 1
  std::vector<std::string> fields;
};

// A CsvParser splits text into records, one for each call. Lines end with LF or CRLF.
class CsvParser {
 public:
  // `name` (a path) is for messages; `text` must outlive the parser.
  CsvParser(std::string name, std::string_view text);

  // Reads the next record. Returns false at the end. Throws Error, with name and line, on a stray
  // quote.
  bool Next(CsvRecord& record);

  // Returns the line at which an unfinished last record starts, or 0 where the text ends with a
  // whole record. A record without its line break may lack digits, so Next never returns it.
  int64_t truncated_line() const { return truncated_line_; }

 private:
  enum class End {
    kField,
    kRecord,
    kText
  };  // what follows a field: another field, the line's end, nothing
  End ReadField(std::string& field);
  bool ReadQuoted(std::string& field);  // false where the text ends inside
  End AfterField();

  std::string name_;
  std::string_view text_;
  size_t position_ = 0;
  int64_t line_ = 1;
  int64_t truncated_line_ = 0;
};

}  // namespace legacy::analysis
