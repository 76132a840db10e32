// CSV is written as RFC 4180 defines it, with numbers as text. Equal values give equal bytes in
// every locale. base/files/csv_file.h reads it.
#pragma once

#include <string>
#include <vector>

namespace legacy::analysis {

// Returns the shortest text that reads back to the same double: positional for 1e-7 <= |value| <
// 1e16, else with an exponent; "nan", "inf" or "-inf" for values that are not finite.
std::string CsvNumber(double value);

// Returns one record with its line feed. Fields that have a comma, a quote or a line break are
// quoted.
std::string CsvLine(const std::vector<std::string>& fields);

}  // namespace legacy::analysis
