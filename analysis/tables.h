// Summaries as tables for people (text, Markdown) and for programs (CSV).
#pragma once

#include <string>
#include <vector>

#include "analysis/summary.h"

namespace legacy::analysis {

// Three tables (accuracy and time, volume and step time, network) with a heading and the notes.
// Policy names are shortened in the middle where a table would not fit.
std::string TextTable(const Summary& summary);
std::string MarkdownTable(const Summary& summary);

// One line a policy, plain units (fractions, seconds), a mean and a deviation column for each
// quantity; what is unknown is an empty field.
std::string CsvTable(const Summary& summary);

// Decimals (0 to 9) that show `value` with so many significant digits; and `value` with so many
// decimals, "-" where it is nan.
int Decimals(double value, int digits);
std::string Fixed(double value, int decimals, bool sign = false);

}  // namespace legacy::analysis
