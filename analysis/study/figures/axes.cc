#include "analysis/study/figures/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/csv.h"
#include "analysis/drawing.h"

namespace legacy::analysis {
namespace {

constexpr int kTickGap = 34;  // least room of a tick's label, in thousandths of its axis

struct Prefix {
  const char* name;
  double size;
};
constexpr std::array<Prefix, 8> kPrefixes = {{{"n", 1e-9},
                                              {"µ", 1e-6},
                                              {"m", 1e-3},
                                              {"", 1},
                                              {"k", 1e3},
                                              {"M", 1e6},
                                              {"G", 1e9},
                                              {"T", 1e12}}};

constexpr Prefix kUnity = {"", 1};

// Returns ticks at 1, 2 and 5 of each power of ten if these are few, else only at the powers.
std::vector<double> LogarithmicTicks(double low, double high) {
  const double decades = std::log10(high / low);
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const int stride = std::max(1, static_cast<int>(decades / 7 + 0.5));
  std::vector<double> ticks;
  for (int power = first; power <= last; ++power) {
    for (const int digit : {1, 2, 5}) {
      const double tick = digit * std::pow(10, power);
      const bool shown = digit == 1 ? (power - first) % stride == 0 : decades < 1.6;
      if (shown && tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

// Returns `value` with the prefix that suits `reference`. If `plain` is true, a value below 9999
// has no prefix.
std::string WithPrefixOf(double value, double reference, bool plain) {
  const double magnitude = std::abs(reference);
  Prefix prefix = kUnity;
  if (magnitude > 0 && !(plain && magnitude < 9999)) {
    prefix = kPrefixes[0];
    for (const Prefix& candidate : kPrefixes) {
      if (magnitude >= candidate.size * 0.9999) prefix = candidate;
    }
  }
  const double scaled = value / prefix.size;
  if (scaled == 0) return "0";
  const bool large = std::abs(scaled) >= 999.5;
  return (large ? fmt::format("{:.0f}", scaled) : fmt::format("{:.3g}", scaled)) + prefix.name;
}

// Returns small ticks without a label at 2 to 9 of each power of ten.
std::string MinorTicks(double low, double high) {
  std::string text;
  if (high / low > 1e6) return text;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (int digit = 1; digit < 10; ++digit) {
      const double tick = digit * power;
      if (tick >= low && tick <= high) text += fmt::format(", '' {} 1", CsvNumber(tick));
    }
  }
  return text;
}

// True if the labels of `marks` do not overlap on the axis.
bool StandApart(const std::vector<double>& marks, double low, double high, bool logarithmic) {
  if (marks.empty() || marks.size() > 8) return false;
  const auto place = [&](double value) {
    return logarithmic ? std::log(value / low) / std::log(high / low)
                       : (value - low) / (high - low);
  };
  for (size_t i = 1; i < marks.size(); ++i) {
    if (1000 * (place(marks[i]) - place(marks[i - 1])) < 2.5 * kTickGap) return false;
  }
  return !logarithmic || high / low < 100;
}

std::string LinearAxis(const std::string& axis, double low, double high, const std::string& unit,
                       const std::vector<double>& marks) {
  std::string text = fmt::format("unset logscale {0}\nset {0}range [{1}:{2}]\n", axis,
                                 CsvNumber(low), CsvNumber(high));
  std::vector<std::string> ticks;
  if (StandApart(marks, low, high, false)) {
    for (const double mark : marks) {
      ticks.push_back(QuoteTick(CommonPrefixNumber(mark, unit, high)) + " " + CsvNumber(mark));
    }
  } else {
    const double rough = (high - low) / 5;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    const double step = (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : 5) * power;
    for (double count = std::ceil(low / step); count * step <= high; ++count) {
      ticks.push_back(QuoteTick(CommonPrefixNumber(count * step, unit, high)) + " " +
                      CsvNumber(count * step));
    }
  }
  return text + fmt::format("set {}tics ({})\n", axis, fmt::join(ticks, ", "));
}

// Returns the range of an axis, with a margin on both sides.
Range WithMargin(const Range& range, bool logarithmic) {
  if (!logarithmic) {
    const double margin = range.high > range.low ? 0.04 * (range.high - range.low)
                                                 : std::max(1.0, std::abs(range.high)) / 2;
    return {range.low == 0 ? 0 : range.low - margin, range.high + margin};
  }
  const double factor = range.high > range.low * 1.001 ? std::pow(range.high / range.low, 0.04) : 2;
  return {range.low / factor, range.high * factor};
}

}  // namespace

void Range::Add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

std::string PrefixedNumber(double value, const std::string& unit, double least) {
  if (unit == "fraction") return fmt::format("{:.3g}%", 100 * value);
  return WithPrefixOf(value, value, unit.empty() || (unit == "s" && least >= 0.0099));
}

std::string CommonPrefixNumber(double value, const std::string& unit, double most) {
  if (unit == "fraction") return fmt::format("{:.3g}%", 100 * value);
  return WithPrefixOf(value, most, unit.empty() || (unit == "s" && most >= 0.0099));
}

std::string AxisLabel(const std::string& name, const std::string& unit, bool logarithmic) {
  std::vector<std::string> remarks;
  if (!unit.empty() && unit != "fraction") remarks.push_back(unit);
  if (logarithmic) remarks.emplace_back("logarithmic");
  return remarks.empty() ? name : fmt::format("{} [{}]", name, fmt::join(remarks, ", "));
}

bool CanBeLogarithmic(const Range& range) { return !range.empty() && range.low > 0; }

double PartOfAxis(const Range& range, bool logarithmic, double value) {
  logarithmic = logarithmic && CanBeLogarithmic(range);
  const Range all = WithMargin(range, logarithmic);
  return logarithmic ? std::log(value / all.low) / std::log(all.high / all.low)
                     : (value - all.low) / (all.high - all.low);
}

std::string SetAxis(const std::string& axis, const Range& range, const std::string& unit,
                    bool logarithmic, const std::vector<double>& marks) {
  logarithmic = logarithmic && CanBeLogarithmic(range);
  const auto [low, high] = WithMargin(range, logarithmic);
  if (!logarithmic) return LinearAxis(axis, low, high, unit, marks);
  std::vector<double> ticks = LogarithmicTicks(low, high);
  const bool marked = StandApart(marks, low, high, true);
  if (marked) {
    ticks = marks;
  } else if (ticks.size() < 2) {
    ticks = {range.low, range.high};
  }
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    labels.push_back(QuoteTick(PrefixedNumber(tick, unit, ticks.front())) + " " + CsvNumber(tick));
  }
  return fmt::format("set logscale {0}\nset {0}range [{1}:{2}]\nset {0}tics ({3}{4})\n", axis,
                     CsvNumber(low), CsvNumber(high), fmt::join(labels, ", "),
                     marked ? "" : MinorTicks(low, high));
}

}  // namespace legacy::analysis
