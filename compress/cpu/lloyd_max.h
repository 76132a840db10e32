// The quantiser of Lloyd and Max for the normal distribution N(0, 1): 2^b centroids (Lloyd, "Least
// Squares Quantization in PCM", IEEE Transactions on Information Theory 1982; Max, "Quantizing for
// Minimum Distortion", IRE Transactions on Information Theory 1960). A value's code is the number
// of cell bounds, midpoints of neighbouring centroids, that are not above it.
#pragma once

#include <cstdint>
#include <span>

#include "base/simd.h"

namespace legacy::cpu {

inline constexpr int kMostNormalBits = 4;

// Returns the centroids of that many bits, 1 to kMostNormalBits, ascending.
std::span<const double> NormalCentroids(int bits);

// Writes the codes of values of N(0, 1) that were multiplied by `scale` > 0.
void EncodeNormal(std::span<const float> values, int bits, double scale, std::span<uint8_t> codes,
                  Simd simd = ActiveSimd());
// Writes centroids, rounded to fp32, times `scale`.
void DecodeNormal(std::span<const uint8_t> codes, int bits, float scale, std::span<float> values,
                  Simd simd = ActiveSimd());

}  // namespace legacy::cpu
