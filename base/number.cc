#include "base/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace legacy {

std::string FormatNumber(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string FormatLimit(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

double RoundStep(double span, int most) {
  const double decade = std::pow(10, std::floor(std::log10(span / most)));
  for (const double digit : {1, 2, 5}) {
    if (digit * decade * most >= span) return digit * decade;
  }
  return 10 * decade;
}

}  // namespace legacy
