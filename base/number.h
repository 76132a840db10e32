// Numbers in text, independent of the locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace legacy {

// The shortest text that reads back as the same number.
std::string FormatNumber(double value);

// The number that is the whole of `text` (no blanks, no sign "+"), or nothing. Correctly rounded.
std::optional<double> ParseNumber(std::string_view text);

}  // namespace legacy
