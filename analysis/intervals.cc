#include "analysis/intervals.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace legacy::analysis {
namespace {

// Returns P(|T| <= sqrt(degrees) tan(angle)), by Abramowitz and Stegun, 26.7.3 and 26.7.4.
double CentralProbability(double angle, int degrees) {
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (int k = odd ? 2 : 1; k + 2 <= degrees - 1; k += 2) {
    term *= cosine * cosine * k / (k + 1);
    sum += term;
  }
  const double series = std::sin(angle) * sum;
  return odd ? (angle + series) * 2 / std::numbers::pi : series;
}

double HalfWidth(const Spread& spread) {
  return StudentQuantile(0.5 + kConfidence / 2, spread.count - 1) * spread.deviation /
         std::sqrt(spread.count);
}

}  // namespace

double StudentQuantile(double probability, int degrees) {
  if (probability < 0.5) return -StudentQuantile(1 - probability, degrees);
  double low = 0;
  double high = std::numbers::pi / 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (CentralProbability(middle, degrees) < 2 * probability - 1 ? low : high) = middle;
  }
  return std::sqrt(degrees) * std::tan(low);
}

std::optional<Interval> MeanInterval(const Spread& spread, const std::vector<Interval>& ranges) {
  if (spread.count < 2) return std::nullopt;
  const double half = HalfWidth(spread);
  Interval interval{spread.mean - half, spread.mean + half};
  if (ranges.empty()) return interval;
  std::vector<double> lows, highs;
  for (const Interval& range : ranges) {
    lows.push_back(range.low);
    highs.push_back(range.high);
  }
  interval.low = std::min(interval.low, SpreadOf(lows).mean);
  interval.high = std::max(interval.high, SpreadOf(highs).mean);
  return interval;
}

GeometricMean GeometricMeanOf(const std::vector<double>& values,
                              const std::vector<Interval>& ranges) {
  std::vector<double> logs;
  std::vector<Interval> log_ranges;
  for (const double value : values) logs.push_back(std::log(value));
  for (const Interval& range : ranges) {
    log_ranges.push_back({std::log(range.low), std::log(range.high)});
  }
  const Spread spread = SpreadOf(logs);
  GeometricMean result;
  result.count = spread.count;
  if (spread.count > 0) result.mean = std::exp(spread.mean);
  if (const auto interval = MeanInterval(spread, log_ranges)) {
    result.interval = Interval{std::exp(interval->low), std::exp(interval->high)};
  }
  return result;
}

}  // namespace legacy::analysis
