// A method tells the kernels what is particular to a quantiser: what it measures over the values
// that share a scale, the scale itself, and the codes. Rounding is shared with the CPU:
// cpu/code_rules.h, cpu/range_float.h, quantisers/rules.h.
//
// A Method has:
//   kLeastWidth, kMostWidth   bits of a code
//   kScaleBytes               of a scale; buckets have words
//   kMaxima, First, Maximum   largest of integers
//   kSums, Term               sums of doubles that are not negative
//   kGroup                    what buckets are multiples of
//   kDraws, kBuckets, kSigns, kFromPowers
//   Finish                    what is measured becomes scale and encoder
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "compress/cpu/cast.h"
#include "compress/cpu/code_rules.h"
#include "compress/cpu/topk_gather.h"
#include "compress/cuda/kernels/coding/quantise.h"
#include "compress/quantisers/rules.h"

namespace legacy::cuda {

// A quantiser's setting with values that the host computes once.
struct MethodSetting : QuantiserSetting {
  MethodSetting() = default;
  explicit MethodSetting(const QuantiserSetting& setting)
      : QuantiserSetting(setting), inverse(1.0f / static_cast<float>(LevelsOf(setting))) {}

  // Returns the number of levels that qsgd, maxmin and terngrad decode with.
  static int LevelsOf(const QuantiserSetting& setting) {
    if (setting.kind == QuantiserKind::kMaxMin) return (1 << setting.bits) - 1;
    return setting.kind == QuantiserKind::kQsgd ? SideLevels(setting.bits) : 1;
  }

  float inverse = 1;  // 1 / levels
};

// The scale as it is stored in the segment.
struct QuantiserScale {
  uint32_t words[2] = {0, 0};

  LEGACY_DEVICE float Number(int i) const { return std::bit_cast<float>(words[i]); }
  static LEGACY_DEVICE QuantiserScale Of(float a, float b = 0) {
    return {{std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)}};
  }
};

// The measure of the `count` values that share a scale.
struct QuantiserMeasure {
  int64_t count;
  int32_t maxima[2];
  double sums[3];
};

using cpu::IsFinite;
// Returns true for an x that an encoder can have written: finite, with a clear sign bit.
LEGACY_DEVICE bool IsMagnitude(float x) { return std::bit_cast<uint32_t>(x) < cpu::kInfinityKey; }

// Returns an integer that orders as finite numbers do; zeros of both signs are equal.
LEGACY_DEVICE int32_t OrderKey(float x) {
  const auto bits = std::bit_cast<int32_t>(x + 0.0f);
  return bits < 0 ? bits ^ 0x7FFFFFFF : bits;
}
LEGACY_DEVICE float OfOrderKey(int32_t key) {
  return std::bit_cast<float>(key < 0 ? key ^ 0x7FFFFFFF : key);
}

struct NoMeasure {
  static constexpr int kMaxima = 0;
  static constexpr int kSums = 0;
  static constexpr bool kDraws = false;
  static constexpr bool kBuckets = false;
  static constexpr int kGroup = cpu::kDrawGroup;
  // Signs follow the codes, as bits.
  static constexpr bool kSigns = false;
  // Measures values rounded to powers of two.
  static constexpr bool kFromPowers = false;
  static LEGACY_DEVICE int32_t First(int) { return 0; }
  static LEGACY_DEVICE int32_t Maximum(int, float) { return 0; }
  static LEGACY_DEVICE double Term(int, double) { return 0; }
};
// Measures the largest |x|.
struct MeasureMagnitude : NoMeasure {
  static constexpr int kMaxima = 1;
  static LEGACY_DEVICE int32_t Maximum(int, float x) {
    return std::bit_cast<int32_t>(cpu::MagnitudeOf(x));
  }
};
// Measures the greatest and the least value.
struct MeasureRange : NoMeasure {
  static constexpr int kMaxima = 2;
  static LEGACY_DEVICE int32_t First(int) { return std::numeric_limits<int32_t>::min(); }
  static LEGACY_DEVICE int32_t Maximum(int i, float x) {
    return i == 0 ? OrderKey(x) : ~OrderKey(x);
  }
  static LEGACY_DEVICE cpu::Range Range(const QuantiserMeasure& measure) {
    return {OfOrderKey(~measure.maxima[1]), OfOrderKey(measure.maxima[0])};
  }
};

}  // namespace legacy::cuda
