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

#include <cstdint>
#include <span>
#include <vector>

#include "base/simd.h"
#include "compress/cpu/stochastic.h"

namespace legacy {

// A table, and the rounding to it.
class ThcTable {
 public:
  static constexpr int kMostBits = 4;
  static constexpr int kMostPoints = 255;

  // bits from 1 to kMostBits, points g from 2^bits - 1 to kMostPoints, p above 0 and below 1.
  ThcTable(int bits, int points, double p);
  int bits() const { return bits_; }
  int points() const { return points_; }
  // The bound of what is not clamped, rounded to fp32: last bits of functions of the standard
  // library, which processors may compute otherwise, do not matter.
  float bound() const { return bound_; }
  // The points of the codes, ascending.
  std::span<const uint8_t> entries() const { return entries_; }
  // Returns the code of a point, or a negative number if it has none.
  int CodeOf(uint32_t point) const { return point < code_of_.size() ? code_of_[point] : -1; }

  // Writes the codes of values * scale, clamped to the bound: of the two neighbouring points of a
  // value the upper one if the draw of its element is below the distance to the lower one, in parts
  // of 2^15. The expectation is the clamped value, to 2^-16 of the distance between both.
  void Encode(std::span<const float> values, float scale, const cpu::DrawSource& source,
              std::span<uint8_t> codes) const;
  // Returns the code of one number and one draw below 2^15.
  uint8_t Rounded(float number, uint32_t draw) const;
  // Writes the numbers that codes stand for, times `scale`.
  void Decode(std::span<const uint8_t> codes, float scale, std::span<float> values) const;
  // Returns the expectation of the squared distance of a number and what it is rounded to.
  double SquaredError(double number) const;

 private:
  // Returns the point of a number, and the code of the point at or below it that has one.
  float PositionOf(float number) const;
  int LowerCode(float position) const;

  int bits_;
  int points_;
  float bound_;
  std::vector<uint8_t> entries_;
  std::vector<int> code_of_;    // by point
  std::vector<uint8_t> below_;  // by point: the greatest code, but the last, that is not above it
  std::vector<float> chance_;   // by code: 2^15 / distance to the next entry
};

}  // namespace legacy
