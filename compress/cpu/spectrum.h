// The spectrum of a vector of any length is taken in pieces without padding: chunks of a power of
// two, then falling powers of two down to kFastFft, then the rest at its own length. Chunks bound
// the cost of a transform and its rounding; their cost in accuracy is small from some thousand
// elements on. Bins of the pieces follow each other. Orthonormal transforms (fft.h) make bins of
// different pieces comparable.
//
// Forward reads 4 bytes and writes about 6 per element (for two elements a bin has a real part, an
// imaginary part and a power). It is deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/cpu/fft.h"

namespace legacy::cpu {

// Transforms vectors with chunks of one size.
class SpectrumPlan {
 public:
  static constexpr int64_t kLeastChunk = 64;
  static constexpr int64_t kMostChunk = int64_t{1} << 20;

  // Sums over a chunk of values or coefficients up to these limits are finite.
  static constexpr float kLargestValue = 0x1p100f;
  static constexpr float kLargestCoefficient = 0x1p114f;

  explicit SpectrumPlan(int64_t chunk, Simd simd = ActiveSimd());  // a power of two

  int64_t chunk() const { return ffts_.back().length(); }
  // Returns the transform of the first piece of a vector of `numel` >= 1 elements.
  const RealFft& Longest(int64_t numel) const;
  // Returns the number of bins: at most `numel`, and at least 1 if `numel` is.
  int64_t Bins(int64_t numel) const;

  // Transforms `values`. All outputs have Bins(values.size()) elements. power = w |scale X|^2,
  // whose sum is ||scale x||^2.
  void Forward(std::span<const float> values, float scale, float* re, float* im,
               float* power) const;

  // Returns w for the bins at ascending positions: 1 if a piece's coefficient is real, else 2.
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
    int64_t offset;     // first element
    int64_t first_bin;  // first bin
  };
  // Calls body(piece) for the pieces in order.
  template <typename Body>
  void ForEachPiece(int64_t numel, Body body) const;

  // Transforms of lengths 1 to kFastFft - 1, then kFastFft, twice that, ... up to a chunk.
  std::vector<RealFft> ffts_;
};

}  // namespace legacy::cpu
