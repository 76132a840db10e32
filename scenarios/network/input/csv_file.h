// CSV files that people write: flows, matrices.
#pragma once

#include <string>
#include <vector>

#include "analysis/csv.h"

namespace legacy {

// Returns the records of the file, without blanks around fields, empty lines, and lines that start
// with '#'. The last line needs no line break. Throws Error with file and line.
std::vector<analysis::CsvRecord> ReadCsvFile(const std::string& path);

}  // namespace legacy
