#include "analysis/csv.h"

#include <array>
#include <charconv>
#include <cmath>

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

}  // namespace legacy::analysis
