// Discrete Fourier transform of real numbers, orthonormal:
//
//   X[k] = n^-1/2 sum_j x[j] exp(-2 pi i j k / n),  k = 0 .. floor(n / 2)
//   ||x||^2 = sum_k w[k] |X[k]|^2,  w = 1 at k = 0 and k = n / 2, else 2 (Parseval)
//
// Any length is possible, and nothing is padded: a padded transform spreads n numbers over more
// coefficients, and no fraction of those recovers the lost accuracy. Powers of two from kFastFft on
// use the four-step method (Bailey, "FFTs in External or Hierarchical Memory", J. Supercomputing
// 1990) over half as many complex numbers: columns by Stockham's radix 4, twiddles and a
// transposition, then columns again. Every inner loop runs over contiguous numbers. Other lengths
// are summed by definition, O(n^2), in double precision; they are meant for tails shorter than
// kFastFft.
//
// Numbers are fp32, factors are rounded once from double precision. Every instruction set gives the
// same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/simd.h"

namespace legacy::cpu {

inline constexpr int64_t kFastFft = 32;

// The factors of one length. Threads share it, each with its own scratch.
class RealFft {
 public:
  explicit RealFft(int64_t length, Simd simd = ActiveSimd());  // length >= 1

  int64_t length() const { return length_; }
  int64_t bins() const { return length_ / 2 + 1; }
  Simd simd() const { return simd_; }
  size_t scratch_size() const { return scratch_size_; }

  // Transforms `values` (length()) to `re` and `im` (bins()), with `scratch` (scratch_size()
  // numbers), none of which overlap. im[0] and, for an even length, im[length / 2] become 0.
  void Forward(const float* values, float* re, float* im, float* scratch) const;
  // Transforms back; these two imaginary parts are taken as 0.
  void Inverse(const float* re, const float* im, float* values, float* scratch) const;

  struct Complex {  // real and imaginary parts in two arrays
    std::vector<float> re, im;
  };
  // Tables of the fast method: rows x columns = length / 2.
  struct Tables {
    int64_t rows = 0;
    int64_t columns = 0;
    float scale = 1;       // length^-1/2
    Complex row_roots;     // Stockham's factors over `rows`, stage after stage
    Complex column_roots;  // the same over `columns`
    Complex twiddles;      // factors between both passes, row by row
    Complex real_roots;    // exp(-2 pi i k / length), k < length / 2
  };
  const Tables& tables() const { return fast_; }
  // Tables of the direct method: cos and sin of 2 pi j / length.
  std::span<const double> cosines() const { return cosines_; }
  std::span<const double> sines() const { return sines_; }

 private:
  void DirectForward(const float* values, float* re, float* im) const;
  void DirectInverse(const float* re, const float* im, float* values) const;

  int64_t length_;
  Simd simd_;
  size_t scratch_size_ = 0;
  Tables fast_;
  std::vector<double> cosines_, sines_;
};

}  // namespace legacy::cpu
