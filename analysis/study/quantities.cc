#include "analysis/study/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/tables.h"

namespace legacy::analysis {

std::string ShowSpeedup(const Speedup& speedup) {
  const std::string number = ShowEstimate(speedup.ratio, speedup.interval, "");
  if (!speedup.bounded()) return number;
  return (speedup.bound == Bound::kAtLeast ? "≥ " : "≤ ") + number;
}

int DifferenceDecimals(const Metric& metric, const Spread& difference) {
  if (metric.fraction) return 2;
  const auto interval = MeanInterval(difference);
  // A mean near 0 with a wide interval has the interval's digits.
  const double ends = interval ? std::max(-interval->low, interval->high) : 0;
  return Decimals(std::max(std::abs(difference.mean), ends), 3);
}

std::string ShowDifferenceInterval(const Metric& metric, const Spread& difference) {
  const auto interval = MeanInterval(difference);
  if (!interval) return "";
  const int decimals = DifferenceDecimals(metric, difference);
  return fmt::format(" [{}, {}]", Fixed(interval->low * metric.Scale(), decimals, true),
                     Fixed(interval->high * metric.Scale(), decimals, true));
}

std::string ShowDifference(const Metric& metric, const Spread& difference) {
  if (difference.count == 0) return "-";
  return Fixed(difference.mean * metric.Scale(), DifferenceDecimals(metric, difference), true) +
         ShowDifferenceInterval(metric, difference);
}

std::string ShowAxisName(const StudyAxis& axis) {
  if (axis.name == "topo") return "topology";
  std::string name = axis.name;
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string ShowValue(const StudyAxis& axis, size_t value) {
  if (axis.numbers.empty() || axis.unit.empty()) return axis.values[value];
  return ShowQuantity(axis.numbers[value], axis.unit, 6);
}

std::string ShowAxisValue(const StudyAxis& axis, size_t value) {
  const std::string text = ShowValue(axis, value);
  if (axis.name == "topo" || axis.name == "bandwidth") return text;
  if (axis.name == "workers") return text + (text == "1" ? " worker" : " workers");
  return ShowAxisName(axis) + " " + text;
}

std::string ShowCrossing(const StudyAxis& axis, double x, const std::optional<Interval>& interval) {
  if (!interval) return ShowEstimate(x, interval, axis.unit);
  constexpr double kRounding = 1e-9;
  const auto [first, last] = std::ranges::minmax(axis.numbers);
  const bool from = interval->low <= first + kRounding * std::abs(first);
  const bool to = interval->high >= last - kRounding * std::abs(last);
  const Interval shown = {from ? first : interval->low, to ? last : interval->high};
  return ShowEstimate(x, shown, axis.unit, 3, {from ? "≤ " : "", to ? "≥ " : ""});
}

}  // namespace legacy::analysis
