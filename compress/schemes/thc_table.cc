#include "compress/schemes/thc_table.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace legacy {
namespace {

double Density(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}
double Below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

double InverseBelow(double share) {
  double low = -40, high = 40;
  for (int round = 0; round < 200; ++round) {
    const double middle = (low + high) / 2;
    (Below(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Returns the expectation of the variance between two points.
double Cost(double a, double b) {
  const double share = Below(b) - Below(a);
  const double first = Density(a) - Density(b);
  const double second = share + a * Density(a) - b * Density(b);
  return (a + b) * first - second - a * b * share;
}

// Returns the points of the lower half of the codes.
std::vector<int> LowerHalf(int codes, int points, double bound) {
  const int half = codes / 2, last = (points - 1) / 2;
  const auto at = [&](int point) { return -bound + 2 * bound * point / points; };
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // Least cost of tables that end at a point, and the point before it, by number of codes.
  std::vector<double> least(last + 1, kNone);
  least[0] = 0;
  std::vector<std::vector<int>> before(half, std::vector<int>(last + 1));
  for (int code = 1; code < half; ++code) {
    std::vector<double> next(last + 1, kNone);
    for (int i = 0; i <= last; ++i) {
      for (int j = i + 1; j <= last && least[i] < kNone; ++j) {
        const double cost = least[i] + Cost(at(i), at(j));
        if (cost >= next[j]) continue;
        next[j] = cost;
        before[code][j] = i;
      }
    }
    least = std::move(next);
  }
  int best = 0;
  double best_cost = kNone;
  for (int i = 0; i <= last; ++i) {
    const double cost = 2 * least[i] + Cost(at(i), at(points - i));
    if (cost < best_cost) best = i, best_cost = cost;
  }
  std::vector<int> table(half);
  for (int code = half - 1; code >= 0; best = before[code--][best]) table[code] = best;
  return table;
}

}  // namespace

ThcTable::ThcTable(int bits, int points, double p) {
  assert(bits >= 1 && bits <= kMostBits && points >= (1 << bits) - 1 && points <= kMostPoints);
  const double bound = InverseBelow(1 - p / 2);
  rules_.bits = bits;
  rules_.points = points;
  rules_.bound = static_cast<float>(bound);
  rules_.density = static_cast<float>(points) / (2 * rules_.bound);
  rules_.code_of.fill(ThcRules::kNoCode);
  const int codes = 1 << bits;
  const std::vector<int> lower_half = LowerHalf(codes, points, bound);
  for (int code = 0; code < codes / 2; ++code) {
    rules_.entries[code] = static_cast<uint8_t>(lower_half[code]);
    rules_.entries[codes - 1 - code] = static_cast<uint8_t>(points - lower_half[code]);
  }
  for (int code = 0; code < codes; ++code) {
    rules_.code_of[rules_.entries[code]] = static_cast<uint8_t>(code);
  }
  for (int code = 0; code + 1 < codes; ++code) {
    rules_.chance[code] = static_cast<float>(1 << cpu::kDrawBits) /
                          static_cast<float>(rules_.entries[code + 1] - rules_.entries[code]);
    for (int point = rules_.entries[code]; point <= points; ++point) {
      rules_.lower_code[point] = static_cast<uint8_t>(code);
    }
  }
}

void ThcTable::Encode(std::span<const float> values, float scale, const cpu::DrawSource& source,
                      std::span<uint8_t> codes) const {
  uint32_t words[cpu::kDrawWords];
  for (size_t begin = 0; begin < values.size(); begin += cpu::kDrawGroup) {
    cpu::FillDraws(source, static_cast<int64_t>(begin) / cpu::kDrawGroup, 1, words);
    const size_t size = std::min<size_t>(cpu::kDrawGroup, values.size() - begin);
    for (size_t i = 0; i < size; ++i) {
      const uint32_t draw = cpu::SliceOf(words, static_cast<int>(i) / cpu::kDrawLanes,
                                         static_cast<int>(i) % cpu::kDrawLanes);
      codes[begin + i] = rules_.Rounded(values[begin + i] * scale, draw);
    }
  }
}

void ThcTable::Decode(std::span<const uint8_t> codes, float scale, std::span<float> values) const {
  float numbers[1 << kMostBits];
  for (int code = 0; code < 1 << rules_.bits; ++code) numbers[code] = rules_.NumberOf(code, scale);
  for (size_t i = 0; i < codes.size(); ++i) values[i] = numbers[codes[i]];
}

double ThcTable::SquaredError(double number) const {
  const double clamped = std::clamp(number, -double{bound()}, double{bound()});
  const double unit = 2 * double{bound()} / points();
  const double position = (clamped + double{bound()}) / unit;
  const auto point =
      static_cast<size_t>(std::min(static_cast<float>(position), static_cast<float>(points())));
  const int lower = rules_.lower_code[point];
  const double variance =
      (position - rules_.entries[lower]) * (rules_.entries[lower + 1] - position);
  return (number - clamped) * (number - clamped) + std::max(0.0, variance) * unit * unit;
}

}  // namespace legacy
