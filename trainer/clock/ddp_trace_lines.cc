#include "trainer/clock/ddp_trace_lines.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/number.h"

namespace legacy {

DdpTraceLines::DdpTraceLines(const std::string& path, std::string text)
    : lines_(path, std::move(text), {'#', true}) {}

bool DdpTraceLines::NextLine() {
  const int64_t last = lines_.LineNumber();
  if (!lines_.Advance()) {
    if (lines_.LineNumber() != last) end_ = {"", 1};
    return false;
  }
  for (const PlacedWord& word : lines_.Words()) {
    if (std::ranges::any_of(word.text, IsControl) || !IsUtf8(word.text)) {
      Fail(word, "word", "printable characters");
    }
  }
  end_ = {"", lines_.Words().back().column + lines_.Words().back().text.size()};
  return true;
}

void DdpTraceLines::Fail(const PlacedWord& word, const std::string& what,
                         const std::string& allowed) const {
  throw Error(lines_.Location(word) + ": " + what, Shown(word.text), allowed);
}

void DdpTraceLines::RequireValues(size_t least, size_t most, const char* usage) const {
  if (Values() < least) Fail(end_, "end of line", usage);
  if (Values() > most) Fail(Value(most), "word", std::string("no more than ") + usage);
}

int64_t DdpTraceLines::Whole(const PlacedWord& word, const char* what, int64_t least,
                             int64_t most) const {
  int64_t value = 0;
  const char* end = word.text.data() + word.text.size();
  const auto [stop, failure] = std::from_chars(word.text.data(), end, value);
  if (failure != std::errc() || stop != end || value < least || value > most) {
    Fail(word, what,
         "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

double DdpTraceLines::Number(const PlacedWord& word, const char* what, double least,
                             double most) const {
  const std::optional<double> value = ParseNumber(word.text);
  if (!value || !(*value >= least && *value <= most)) {
    Fail(word, what, "a number from " + FormatNumber(least) + " to " + FormatNumber(most));
  }
  return *value;
}

double DdpTraceLines::Loss(const PlacedWord& word, const char* what) const {
  const std::optional<double> value = ParseNumber(word.text);
  if (!value) Fail(word, what, "a number, nan, inf");
  return *value;
}

}  // namespace legacy
