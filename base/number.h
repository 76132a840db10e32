// Numbers are written and read independently of the locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace legacy {

// Returns the shortest text that reads back as the same number.
std::string FormatNumber(double value);

// Returns the number in at most six digits, as messages show limits.
std::string FormatLimit(double value);

// Returns the number that is the whole of `text` (no blanks, no sign "+"), correctly rounded, or
// nothing.
std::optional<double> ParseNumber(std::string_view text);

// Returns the least of 1, 2 and 5 times a power of ten that `span` has at most `most` times.
double RoundStep(double span, int most);

}  // namespace legacy
