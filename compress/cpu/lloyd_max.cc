#include "compress/cpu/lloyd_max.h"

#include <array>
#include <cassert>

namespace legacy::cpu {
namespace {

// The centroids of one bit, then of two, three and four: those above zero, which mirror the others.
constexpr double kUpper[] = {0.7978845608028654,                                           //
                             0.4527800346364855,  1.5104176084990821,                      //
                             0.24509417894420404, 0.756005281205829,  1.3439092785049336,  //
                             2.15194570453692,                                             //
                             0.12839502985111373, 0.3880482994901936, 0.6567591185323113,
                             0.9423404564867635,  1.2562311973469487, 1.6180463860216383,
                             2.069017226531142,   2.73258957099495};

constexpr int kMostCodes = 1 << kMostNormalBits;

struct Centroids {
  constexpr Centroids() {
    for (int bits = 1; bits <= kMostNormalBits; ++bits) {
      const int half = 1 << (bits - 1);
      for (int i = 0; i < half; ++i) {
        of[bits][half + i] = kUpper[half - 1 + i];
        of[bits][half - 1 - i] = -kUpper[half - 1 + i];
      }
    }
  }
  double of[kMostNormalBits + 1][kMostCodes] = {};
};
constexpr Centroids kCentroids;

constexpr int64_t kBlock = 64;  // codes whose counts stay in registers

// Counts the bounds that are not above each value.
LEGACY_INLINE void EncodeBody(const float* values, int64_t n, const float* bounds, int count,
                              uint8_t* codes) {
  int64_t begin = 0;
  for (; begin + kBlock <= n; begin += kBlock) {
    uint32_t code[kBlock] = {};
    for (int j = 0; j < count; ++j) {
      for (int64_t i = 0; i < kBlock; ++i) code[i] += values[begin + i] >= bounds[j] ? 1 : 0;
    }
    for (int64_t i = 0; i < kBlock; ++i) codes[begin + i] = static_cast<uint8_t>(code[i]);
  }
  for (; begin < n; ++begin) {
    uint8_t code = 0;
    for (int j = 0; j < count; ++j) code += values[begin] >= bounds[j] ? 1 : 0;
    codes[begin] = code;
  }
}

LEGACY_INLINE void DecodeBody(const uint8_t* codes, int64_t n, const float* centroids,
                              float* values) {
  for (int64_t i = 0; i < n; ++i) values[i] = centroids[codes[i]];
}

}  // namespace

std::span<const double> NormalCentroids(int bits) {
  assert(bits >= 1 && bits <= kMostNormalBits);
  return std::span(kCentroids.of[bits]).first(size_t{1} << bits);
}

void EncodeNormal(std::span<const float> values, int bits, double scale, std::span<uint8_t> codes,
                  Simd simd) {
  const std::span<const double> centroids = NormalCentroids(bits);
  std::array<float, kMostCodes> bounds = {};
  for (size_t j = 0; j + 1 < centroids.size(); ++j) {
    bounds[j] = static_cast<float>((centroids[j] + centroids[j + 1]) / 2 * scale);
  }
  Dispatch<EncodeBody>(simd, values.data(), std::ssize(values),
                       static_cast<const float*>(bounds.data()),
                       static_cast<int>(centroids.size()) - 1, codes.data());
}

void DecodeNormal(std::span<const uint8_t> codes, int bits, float scale, std::span<float> values,
                  Simd simd) {
  const std::span<const double> centroids = NormalCentroids(bits);
  std::array<float, kMostCodes> scaled = {};
  for (size_t j = 0; j < centroids.size(); ++j) {
    scaled[j] = static_cast<float>(centroids[j]) * scale;
  }
  Dispatch<DecodeBody>(simd, codes.data(), std::ssize(codes),
                       static_cast<const float*>(scaled.data()), values.data());
}

}  // namespace legacy::cpu
