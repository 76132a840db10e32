// CSV as RFC 4180 has it, and numbers as text. Deterministic: equal values give equal bytes, in
// every locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace legacy::analysis {

// The shortest text that reads back to the same double: positional for 1e-7 <= |value| < 1e16, else
// with an exponent; "nan", "inf" and "-inf" for what is not finite.
std::string CsvNumber(double value);

// One record with its line feed; fields that hold a comma, a quote or a line break are quoted.
std::string CsvLine(const std::vector<std::string>& fields);

struct CsvRecord {
  int64_t line = 0;  // of the file, from 1, where the record starts
  std::vector<std::string> fields;
};

// Splits text into records, one call a record. Lines end with LF or CRLF.
class CsvParser {
 public:
  // `name` (a path) is for messages; `text` must outlive the parser.
  CsvParser(std::string name, std::string_view text);

  // False at the end. Throws Error, with name and line, on a stray quote.
  bool Next(CsvRecord& record);

  // The line at which an unfinished last record starts, 0 where the text ends with a whole record.
  // A record without its line break may lack digits, so it is never given out.
  int64_t truncated_line() const { return truncated_line_; }

 private:
  enum class End {
    kField,
    kRecord,
    kText
  };  // what follows a field: another, the line's end, nothing
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
