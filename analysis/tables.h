// Summaries are shown as tables for people (text, Markdown) and for programs (CSV).
#pragma once

#include <string>
#include <vector>

#include "analysis/summary.h"
#include "analysis/table_text.h"

namespace legacy::analysis {

// Returns three tables: metric and time, volume and step time, network. Only where `verbose` is
// true the last counts what its engine did: events, packets, steps simulated and memoised, marks.
std::vector<Table> SummaryTables(const Summary& summary, bool verbose = false);
// Return them as text, with a heading and the notes. Policy names are shortened in the middle where
// a table would not fit.
std::string TextTable(const Summary& summary, bool verbose = false);
std::string MarkdownTable(const Summary& summary, bool verbose = false);

// Returns one line for each policy in plain units (fractions, seconds), with a mean and a deviation
// column for each quantity. Unknown values are empty fields.
std::string CsvTable(const Summary& summary);

// Return the number of decimals (0 to 9) that show `value` with `digits` significant digits, and
// `value` with that number of decimals, "-" where it is nan.
int Decimals(double value, int digits);
std::string Fixed(double value, int decimals, bool sign = false);

// Returns the number of decimals with which a value of a metric is shown: two of a per cent, or as
// many as four significant digits need.
int MetricDecimals(const Metric& metric, double value);
// Returns the header of such values: "final %", or "final" where the metric is not a fraction.
std::string MetricHeader(const std::string& what, const Metric& metric);

}  // namespace legacy::analysis
