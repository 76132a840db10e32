#include "analysis/quantities.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "analysis/tables.h"

namespace legacy::analysis {
namespace {

// A UnitScale has a unit as it is printed, and its size in base units.
struct UnitScale {
  double size = 1;
  std::string unit;
};

// Returns the largest of the scales, which ascend, in which `value` is at least 1.
template <size_t n>
UnitScale Largest(const std::array<UnitScale, n>& scales, double value) {
  UnitScale best = scales.front();
  for (const UnitScale& scale : scales) {
    if (std::abs(value) >= scale.size * (1 - 1e-9)) best = scale;
  }
  return best;
}

UnitScale UnitScaleOf(double value, const std::string& unit) {
  if (unit == "fraction") return {0.01, "%"};
  if (unit == "bit/s") {
    static const std::array<UnitScale, 5> kRates = {
        {{1, "bit/s"}, {1e3, "kbit/s"}, {1e6, "Mbit/s"}, {1e9, "Gbit/s"}, {1e12, "Tbit/s"}}};
    return Largest(kRates, value);
  }
  if (unit == "B") {
    static const std::array<UnitScale, 5> kBytes = {
        {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
    return Largest(kBytes, value);
  }
  if (unit == "s") {
    static const std::array<UnitScale, 4> kTimes = {
        {{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}};
    return value == 0 ? UnitScale{1, "s"} : Largest(kTimes, value);
  }
  return {1, unit};
}

std::string WithUnit(const std::string& number, const std::string& unit) {
  return unit.empty() ? number : number + " " + unit;
}

}  // namespace

std::string ShowNumber(double value, int digits) { return Fixed(value, Decimals(value, digits)); }

std::string ShowQuantity(double value, const std::string& unit, int digits) {
  if (!std::isfinite(value)) return ShowNumber(value);
  const UnitScale scale = UnitScaleOf(value, unit);
  std::string number = ShowNumber(value / scale.size, digits);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return WithUnit(number, scale.unit);
}

std::string ShowSpread(const Spread& spread, const std::string& unit, int digits) {
  if (spread.count == 0) return "-";
  const UnitScale scale = UnitScaleOf(spread.mean, unit);
  const int decimals = Decimals(spread.mean / scale.size, digits);
  std::string number = Fixed(spread.mean / scale.size, decimals);
  const bool agreed = !(spread.deviation > 1e-9 * std::abs(spread.mean));
  if (!agreed) number += " ± " + Fixed(spread.deviation / scale.size, decimals);
  return WithUnit(number, scale.unit);
}

std::string ShowEstimate(double mean, const std::optional<Interval>& interval,
                         const std::string& unit, int digits, const IntervalMarks& marks) {
  if (!std::isfinite(mean)) return ShowNumber(mean);
  const UnitScale scale = UnitScaleOf(mean, unit);
  std::string text = ShowNumber(mean / scale.size, digits);
  if (interval) {
    text += fmt::format(" [{}{}, {}{}]", marks.low, ShowNumber(interval->low / scale.size, digits),
                        marks.high, ShowNumber(interval->high / scale.size, digits));
  }
  return WithUnit(text, scale.unit);
}

std::string ShowCount(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace legacy::analysis
