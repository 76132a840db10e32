// Summaries are shown as tables for people (text, Markdown) and for programs (CSV).
#pragma once

#include <string>
#include <vector>

#include "analysis/summary.h"

namespace legacy::analysis {

// Return three tables (accuracy and time, volume and step time, network) with a heading and the
// notes. Policy names are shortened in the middle where a table would not fit.
std::string TextTable(const Summary& summary);
std::string MarkdownTable(const Summary& summary);

// Returns one line for each policy in plain units (fractions, seconds), with a mean and a deviation
// column for each quantity. Unknown values are empty fields.
std::string CsvTable(const Summary& summary);

// Return the number of decimals (0 to 9) that show `value` with `digits` significant digits, and
// `value` with that number of decimals, "-" where it is nan.
int Decimals(double value, int digits);
std::string Fixed(double value, int decimals, bool sign = false);

}  // namespace legacy::analysis
