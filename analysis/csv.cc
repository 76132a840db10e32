#include "analysis/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace legacy::analysis {

std::string CsvNumber(double value) {
  if (std::isnan(value)) return "nan";
  const double magnitude = std::abs(value);
  const bool positional = value == 0 || (magnitude >= 1e-7 && magnitude < 1e16);
  std::array<char, 64> text;
  const auto format = positional ? std::chars_format::fixed : std::chars_format::scientific;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value, format);
  return std::string(text.data(), result.ptr);
}

std::string CsvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != fields.data()) line += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      line += field;
      continue;
    }
    line += '"';
    for (const char c : field) {
      if (c == '"') line += '"';
      line += c;
    }
    line += '"';
  }
  return line + '\n';
}

CsvParser::CsvParser(std::string name, std::string_view text)
    : name_(std::move(name)), text_(text) {}

bool CsvParser::Next(CsvRecord& record) {
  record.fields.clear();
  record.line = line_;
  if (position_ == text_.size()) return false;
  End end = End::kField;
  while (end == End::kField) {
    record.fields.emplace_back();
    end = ReadField(record.fields.back());
  }
  if (end == End::kRecord) return true;
  truncated_line_ = record.line;
  record.fields.clear();
  return false;
}

CsvParser::End CsvParser::ReadField(std::string& field) {
  if (position_ < text_.size() && text_[position_] == '"') {
    if (!ReadQuoted(field)) return End::kText;
    return AfterField();
  }
  const size_t end = std::min(text_.find_first_of(",\"\r\n", position_), text_.size());
  field = text_.substr(position_, end - position_);
  position_ = end;
  return AfterField();
}

bool CsvParser::ReadQuoted(std::string& field) {
  ++position_;
  while (position_ < text_.size()) {
    const char c = text_[position_++];
    if (c == '"') {
      if (position_ == text_.size() || text_[position_] != '"') return true;
      ++position_;
    }
    if (c == '\n') ++line_;
    field += c;
  }
  return false;
}

CsvParser::End CsvParser::AfterField() {
  if (position_ == text_.size()) return End::kText;
  const char c = text_[position_++];
  if (c == ',') return End::kField;
  if (c == '\r') {
    if (position_ == text_.size()) return End::kText;
    if (text_[position_] == '\n')
      ++position_;
    else
      throw Error(name_ + ":" + std::to_string(line_), "\\r", "line breaks LF or CRLF");
  } else if (c != '\n') {
    throw Error(name_ + ":" + std::to_string(line_), std::string(1, c),
                "quotes around a whole field, doubled inside it");
  }
  ++line_;
  return End::kRecord;
}

}  // namespace legacy::analysis
