#include "scenarios/study/quantity.h"

#include <charconv>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/metric.h"
#include "base/parse.h"
#include "base/units.h"

namespace legacy {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
constexpr int kLogDigits = 3;
// These are enough digits for any step in a text, and drop the rounding errors of sums.
constexpr int kLinearDigits = 12;
constexpr int64_t kMaxValues = 10'000;

struct Scale {
  const char* unit;
  double factor;
};
constexpr Scale kRates[] = {
    {"bps", 1}, {"kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12}};
constexpr Scale kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Scale kSizes[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};

std::string ScaledText(double base, std::span<const Scale> scales) {
  const double whole = std::round(base);
  const Scale* best = &scales.front();
  for (const Scale& scale : scales) {
    if (whole >= scale.factor) best = &scale;
  }
  return FormatNumber(whole / best->factor) + best->unit;
}

double Rounded(double value, int digits) {
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific, digits - 1);
  return *ParseNumber(std::string_view(text, end.ptr - text));
}

// Returns the value unless it is infinite or NaN, which ParseNumber also reads.
std::optional<double> FiniteOf(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

double Required(OptionKind kind, const std::string& text, const char* what) {
  const std::optional<double> value = QuantityOf(kind, text);
  if (value) return *value;
  static constexpr const char* kAllowed[] = {"",
                                             "an integer",
                                             "a number",
                                             "a percentage or a fraction",
                                             "a rate such as 1Gbps",
                                             "a time such as 10us",
                                             "a size such as 64KiB",
                                             "a target such as 85% or perplexity=120"};
  throw Error(what, text, kAllowed[static_cast<size_t>(kind)]);
}

void Append(std::vector<std::string>& texts, std::string text) {
  if (!texts.empty() && texts.back() == text) {
    throw Error::Refusal("points: too many between from and to: " + text + " would stand twice");
  }
  texts.push_back(std::move(text));
}

}  // namespace

std::string UnitOf(OptionKind kind) {
  switch (kind) {
    case OptionKind::kFraction:
      return "fraction";
    case OptionKind::kRate:
      return "bit/s";
    case OptionKind::kTime:
      return "s";
    case OptionKind::kBytes:
      return "B";
    default:
      return "";
  }
}

std::optional<double> QuantityOf(OptionKind kind, const std::string& text) {
  try {
    switch (kind) {
      case OptionKind::kText:
        return std::nullopt;
      case OptionKind::kInteger:
        return static_cast<double>(ParseInteger(text, "", INT64_MIN, INT64_MAX));
      case OptionKind::kNumber:
        return FiniteOf(ParseNumber(text));
      case OptionKind::kFraction:
        return ParseFraction(text, "");
      case OptionKind::kRate:
        return static_cast<double>(ParseRate(text, ""));
      case OptionKind::kTime:
        return static_cast<double>(ParseTime(text, "")) / kNanosecondsPerSecond;
      case OptionKind::kBytes:
        return static_cast<double>(ParseBytes(text, ""));
      case OptionKind::kTarget:
        return ParseTarget(text).value;
    }
  } catch (const Error&) {
  }
  return std::nullopt;
}

std::string QuantityText(OptionKind kind, double value) {
  switch (kind) {
    case OptionKind::kInteger:
      return std::to_string(std::llround(value));
    case OptionKind::kFraction:
      return FormatPercent(value);
    case OptionKind::kRate:
      return ScaledText(value, kRates);
    case OptionKind::kTime:
      return ScaledText(value * kNanosecondsPerSecond, kTimes);
    case OptionKind::kBytes:
      return ScaledText(value, kSizes);
    default:
      return FormatNumber(value);
  }
}

std::vector<std::string> LogSteps(OptionKind kind, const std::string& from, const std::string& to,
                                  int64_t points) {
  const double first = Required(kind, from, "from");
  const double last = Required(kind, to, "to");
  if (points < 2 || points > kMaxValues) {
    throw Error("points", std::to_string(points), "2 to " + std::to_string(kMaxValues));
  }
  if (first <= 0) throw Error("from", from, "above 0, where points divide the logarithm");
  if (last <= first) throw Error("to", to, "above from, " + from);
  std::vector<std::string> texts = {from};
  for (int64_t i = 1; i < points - 1; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(points - 1);
    const double value = first * std::pow(last / first, part);
    const bool whole = kind == OptionKind::kInteger;
    Append(texts, QuantityText(kind, whole ? value : Rounded(value, kLogDigits)));
  }
  Append(texts, to);
  return texts;
}

std::vector<std::string> LinearSteps(OptionKind kind, const std::string& from,
                                     const std::string& to, const std::string& step) {
  const double first = Required(kind, from, "from");
  const double last = Required(kind, to, "to");
  const double width = Required(kind, step, "step");
  if (width <= 0) throw Error("step", step, "above 0");
  if (last <= first) throw Error("to", to, "above from, " + from);
  const double steps = std::round((last - first) / width);
  if (steps >= kMaxValues) {
    throw Error("step", step, "at most " + std::to_string(kMaxValues) + " values");
  }
  if (std::abs(first + steps * width - last) > 1e-9 * std::abs(last)) {
    throw Error("to", to, "from and a whole number of steps of " + step);
  }
  std::vector<std::string> texts = {from};
  for (int64_t i = 1; i < static_cast<int64_t>(steps); ++i) {
    const double value = first + static_cast<double>(i) * width;
    Append(texts, QuantityText(kind, Rounded(value, kLinearDigits)));
  }
  Append(texts, to);
  return texts;
}

}  // namespace legacy
