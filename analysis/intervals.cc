#include "analysis/intervals.h"

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

std::optional<Interval> MeanInterval(const Spread& spread) {
  if (spread.count < 2) return std::nullopt;
  const double half = HalfWidth(spread);
  return Interval{spread.mean - half, spread.mean + half};
}

GeometricMean GeometricMeanOf(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  const Spread spread = SpreadOf(logs);
  GeometricMean result;
  result.count = spread.count;
  if (spread.count > 0) result.mean = std::exp(spread.mean);
  if (const auto interval = MeanInterval(spread)) {
    result.interval = Interval{std::exp(interval->low), std::exp(interval->high)};
  }
  return result;
}

}  // namespace legacy::analysis
