// The table of THC (schemes/thc.cc): which of g + 1 equally distant points from -t to t are the
// values of 2^b codes, so that rounding at random to its two neighbours gives a number of N(0, 1)
// the least expected variance.
//
//   t = inverse normal of 1 - p / 2: the share p is beyond it, and is clamped
//   between neighbouring points a < b the variance is (x - a) (b - x), whose expectation is
//     (a + b) (phi(a) - phi(b)) - (Phi(b) - Phi(a) + a phi(a) - b phi(b)) - a b (Phi(b) - Phi(a))
//
// The table is mirrored about the middle, T(0) = 0 and T(2^b - 1) = g; dynamic programming over
// points finds the best in O(2^b g^2). (Without the mirror the least is .1 to .2 % lower.)
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/simd.h"
#include "compress/cpu/stochastic.h"

namespace legacy {

// The numbers of a table, and the rounding to it, which kernels share.
struct ThcRules {
  static constexpr int kMostBits = 4;
  static constexpr int kMostPoints = 255;
  static constexpr uint8_t kNoCode = 255;

  int bits = 1;
  int points = 1;
  float bound = 0;                                    // of what is not clamped
  float density = 0;                                  // points by distance between numbers
  std::array<uint8_t, 1 << kMostBits> entries = {};   // points of the codes, ascending
  std::array<float, 1 << kMostBits> chance = {};      // by code: 2^15 / distance to the next entry
  std::array<uint8_t, kMostPoints + 1> code_of = {};  // by point; kNoCode: it has none
  std::array<uint8_t, kMostPoints + 1> lower_code = {};  // by point: the greatest code, but the
                                                         // last, that is not above it

  // Returns the point of a number, between two.
  LEGACY_INLINE constexpr float PositionOf(float number) const {
    const float above_least = number < -bound ? -bound : number;
    const float clamped = above_least > bound ? bound : above_least;
    const float position = (clamped + bound) * density;
    const auto last = static_cast<float>(points);
    return position > last ? last : position;
  }
  // Returns the code of one number and one draw below 2^15.
  LEGACY_INLINE constexpr uint8_t Rounded(float number, uint32_t draw) const {
    const float position = PositionOf(number);
    const int lower = lower_code[static_cast<size_t>(position)];
    const float above = position - static_cast<float>(entries[lower]);
    return static_cast<uint8_t>(lower + (static_cast<float>(draw) < above * chance[lower] ? 1 : 0));
  }
  // Returns the number that a code stands for, times `scale`.
  LEGACY_INLINE constexpr float NumberOf(int code, float scale) const {
    const float step = 2 * bound / static_cast<float>(points) * scale;
    return (static_cast<float>(entries[code]) - static_cast<float>(points) / 2) * step;
  }
  // Returns the number that a sum of entries of `workers` stands for, divided by their number, if
  // rotated elements have the standard deviation `spread`.
  LEGACY_INLINE constexpr float MeanOf(uint32_t sum, int workers, double spread) const {
    const double mean = static_cast<double>(sum) / workers;
    return static_cast<float>((mean - points / 2.0) * (2 * double{bound} / points * spread));
  }
};

// A table, and the rounding to it.
class ThcTable {
 public:
  static constexpr int kMostBits = ThcRules::kMostBits;
  static constexpr int kMostPoints = ThcRules::kMostPoints;

  // bits from 1 to kMostBits, points g from 2^bits - 1 to kMostPoints, p above 0 and below 1.
  ThcTable(int bits, int points, double p);
  int bits() const { return rules_.bits; }
  int points() const { return rules_.points; }
  // The bound of what is not clamped, rounded to fp32: last bits of functions of the standard
  // library, which processors may compute otherwise, do not matter.
  float bound() const { return rules_.bound; }
  // The points of the codes, ascending.
  std::span<const uint8_t> entries() const {
    return std::span(rules_.entries).first(size_t{1} << rules_.bits);
  }
  // Returns whether a code has that point.
  bool IsEntry(uint32_t point) const {
    return point <= static_cast<uint32_t>(points()) && rules_.code_of[point] != ThcRules::kNoCode;
  }
  const ThcRules& rules() const { return rules_; }

  // Writes the codes of values * scale, clamped to the bound: of the two neighbouring points of a
  // value the upper one if the draw of its element is below the distance to the lower one, in parts
  // of 2^15. The expectation is the clamped value, to 2^-16 of the distance between both.
  void Encode(std::span<const float> values, float scale, const cpu::DrawSource& source,
              std::span<uint8_t> codes) const;
  // Writes the numbers that codes stand for, times `scale`.
  void Decode(std::span<const uint8_t> codes, float scale, std::span<float> values) const;
  // Returns the expectation of the squared distance of a number and what it is rounded to.
  double SquaredError(double number) const;

 private:
  ThcRules rules_;
};

}  // namespace legacy
