// The spectrum of a vector of any length is taken in pieces, none of them padded: chunks of a power
// of two, the rest as falling powers of two down to kFastFft, and what is left at its own length.
// Chunks bound the cost of a transform and its rounding; what one costs in accuracy is small from
// some thousand elements on. Bins of the pieces follow each other; orthonormal transforms (fft.h)
// make bins of different pieces comparable.
//
// Forward reads 4 bytes and writes about 6 per element (a bin is re, im and power, for two
// elements). It is deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/cpu/fft.h"

namespace legacy::cpu {

// A SpectrumPlan transforms vectors with chunks of one size.
class SpectrumPlan {
 public:
  static constexpr int64_t kLeastChunk = 64;
  static constexpr int64_t kMostChunk = int64_t{1} << 20;

  // Sums over a chunk of values and of coefficients as large as these are finite.
  static constexpr float kLargestValue = 0x1p100f;
  static constexpr float kLargestCoefficient = 0x1p114f;

  explicit SpectrumPlan(int64_t chunk, Simd simd = ActiveSimd());  // a power of two

  int64_t chunk() const { return ffts_.back().length(); }
  // Returns the transform of the first piece of a vector of `numel` >= 1 elements.
  const RealFft& Longest(int64_t numel) const;
  // Returns the number of bins: at most `numel`, and 1 at least of 1 or more.
  int64_t Bins(int64_t numel) const;

  // Transforms `values`. All outputs have Bins(values.size()) elements. power = w |scale X|^2,
  // whose sum is ||scale x||^2.
  void Forward(std::span<const float> values, float scale, float* re, float* im,
               float* power) const;

  // Returns w of the bins at ascending positions: 1 where a piece's coefficient is real, else 2.
  std::vector<float> Weights(int64_t numel, std::span<const uint32_t> positions) const;

  // Writes the vector of a spectrum of Bins(values.size()) coefficients.
  void Inverse(const float* re, const float* im, std::span<float> values) const;
  // Adds to `sum` the vector whose spectrum has (re, im) pairs at ascending positions and is 0
  // elsewhere.
  void InverseAdd(std::span<const uint32_t> positions, std::span<const float> coefficients,
                  std::span<float> sum) const;

 private:
  struct Piece {
    const RealFft* fft;
    int64_t offset;     // of its elements
    int64_t first_bin;  // of its bins
  };
  template <typename Body>  // body(piece), in order
  void ForEachPiece(int64_t numel, Body body) const;

  // Transforms of lengths 1 to kFastFft - 1, then kFastFft, twice that, ... up to a chunk.
  std::vector<RealFft> ffts_;
};

}  // namespace legacy::cpu
