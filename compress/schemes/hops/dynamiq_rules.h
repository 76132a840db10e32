// The arithmetic of DynamiQ's code (dynamiq_code.h), which kernels share.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/simd.h"
#include "compress/cpu/cast.h"

namespace legacy::dynamiq {

inline constexpr int kMostCode = 255;  // of a group

// The neighbour of z that is taken. kValue takes the upper one with the probability that makes the
// expectation z. kLog takes it by the fraction of log(1 + ...) instead, as the published kernels
// do: that is biased upwards, by 1.7 % of the mean magnitude at 2 bits.
enum class Rounding : uint8_t { kValue, kLog };

// The levels of one number of bits.
struct CodeTable {
  static constexpr int kMostLevels = 128;

  double base = 1;
  int most = 1;                                 // the last level
  std::array<double, kMostLevels> powers = {};  // of the base
  std::array<double, kMostLevels> levels = {};
};

// Returns log(1 + t) for 0 <= t <= .11, by the series of 2 atanh(t / (2 + t)): no library's
// logarithm has the same bits everywhere.
LEGACY_INLINE constexpr double LogOfOnePlus(double t) {
  const double s = t / (2 + t);
  double sum = 0;
  for (int power = 15; power >= 1; power -= 2) sum = sum * s * s + 1.0 / power;
  return 2 * s * sum;
}

// Returns the level of z, 0 <= z <= 1, with a draw u of [0, 1).
LEGACY_INLINE constexpr int LevelIn(const CodeTable& table, double z, double u, Rounding rounding) {
  int low = 0, high = table.most;  // the last level that is not above z, but the last of all
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (table.levels[middle] <= z ? low : high) = middle;
  }
  double probability = 0;
  if (rounding == Rounding::kValue) {
    probability = (z - table.levels[low]) / (table.levels[low + 1] - table.levels[low]);
  } else {
    const double y = 1 + z * (table.powers[table.most] - 1);
    probability = LogOfOnePlus(y / table.powers[low] - 1) / LogOfOnePlus(table.base - 1);
  }
  return low + (u < probability ? 1 : 0);
}

// Returns the code of a group whose largest magnitude is `top`: at most 255 if `unit` is at least a
// 255th of every magnitude.
LEGACY_INLINE constexpr int GroupCode(double top, double unit) {
  if (top == 0) return 0;
  const double quotient = top / unit;
  if (quotient >= kMostCode) return kMostCode;
  const auto whole = static_cast<int>(quotient);
  return whole + (whole < quotient ? 1 : 0);
}

// Returns the unit of a super-group with that largest magnitude, a bf16.
LEGACY_INLINE constexpr float UnitOf(float largest) {
  constexpr uint32_t kLower = 0xFFFF;  // bits that a bf16 has not
  const auto bits = std::bit_cast<uint32_t>(largest / kMostCode);
  // The quotient may have been rounded down, so that 255 times it is less than the largest.
  uint32_t unit = (bits + kLower) >> 16 << 16;
  if (double{std::bit_cast<float>(unit)} * kMostCode < double{largest}) unit += kLower + 1;
  return std::bit_cast<float>(unit);
}

// Returns the code of x, whose group has `scale` units.
LEGACY_INLINE constexpr int CodeIn(const CodeTable& table, float x, int scale, float unit, double u,
                                   Rounding rounding) {
  int level = 0;
  if (scale > 0) {
    const double magnitude = x < 0 ? -double{x} : double{x};
    const double z = magnitude / (scale * double{unit});
    level = LevelIn(table, z > 1.0 ? 1.0 : z, u, rounding);
  }
  return x < 0 ? table.most - level : table.most + level;
}

// Returns the value of a code.
LEGACY_INLINE constexpr float ValueIn(const CodeTable& table, int code, int scale, float unit) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const int level = code - table.most;
  const double exact = table.levels[level < 0 ? -level : level] * (scale * double{unit});
  // The unit is rounded up, so that the largest floats would become infinite.
  const double magnitude = exact > kLargest ? kLargest : exact;
  return static_cast<float>(level < 0 ? -magnitude : magnitude);
}

// Returns a statistic of values, a bf16.
LEGACY_INLINE constexpr float StatisticOf(double x) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double least = x < -kLargest ? -kLargest : x;
  const auto value = static_cast<float>(least > kLargest ? kLargest : least);
  return cpu::Bfloat16ToFloat(cpu::FloatToBfloat16(value));
}

}  // namespace legacy::dynamiq
