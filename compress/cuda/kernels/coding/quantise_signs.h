// Quantisers whose codes are signs: sign, onebit.
#pragma once

#include <cstdint>

#include "compress/cuda/kernels/coding/quantise_method.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {

struct SignEncoder {
  bool any;  // false if every code is 0

  LEGACY_DEVICE uint32_t Code(float x, uint32_t) const { return any && x < 0; }
};
struct SignDecoder {
  bool valid;
  SignLevels levels;

  LEGACY_DEVICE bool Allows(uint32_t code) const { return code == 0 || levels.set != 0; }
  LEGACY_DEVICE float Value(uint32_t code) const { return code != 0 ? levels.set : levels.clear; }
};

struct SignMethod : NoMeasure {
  static constexpr int kLeastWidth = 1, kMostWidth = 1, kScaleBytes = 4;
  static constexpr int kSums = 1;
  static LEGACY_DEVICE double Term(int, double x) { return Magnitude::Of(x); }

  using Encoder = SignEncoder;
  using Decoder = SignDecoder;
  static LEGACY_DEVICE Encoder Finish(const MethodSetting&, const QuantiserMeasure& measure,
                                      QuantiserScale& scale) {
    const SignLevels levels = MeanMagnitude(measure.sums[0], measure.count);
    scale = QuantiserScale::Of(levels.clear);
    return {levels.set != 0};
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting&, const QuantiserScale& scale) {
    const float mean = scale.Number(0);
    return {IsMagnitude(mean), {mean, -mean}};
  }
};

struct OneBit : NoMeasure {
  static constexpr int kLeastWidth = 1, kMostWidth = 1, kScaleBytes = 8;
  static constexpr int kSums = 3;
  static LEGACY_DEVICE double Term(int i, double x) {
    return i == 0 ? Magnitude::Of(x) : i == 1 ? NegativePart::Of(x) : static_cast<double>(x < 0);
  }

  using Encoder = SignEncoder;
  using Decoder = SignDecoder;
  static LEGACY_DEVICE Encoder Finish(const MethodSetting&, const QuantiserMeasure& measure,
                                      QuantiserScale& scale) {
    const SignLevels levels = MeansBySign(measure.sums[0], measure.sums[1],
                                          static_cast<int64_t>(measure.sums[2]), measure.count);
    scale = QuantiserScale::Of(levels.clear, levels.set);
    return {levels.set != 0};
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting&, const QuantiserScale& scale) {
    const float set = scale.Number(1);
    const bool below = scale.words[1] == 0 || (set < 0 && IsFinite(set));
    return {IsMagnitude(scale.Number(0)) && below, {scale.Number(0), set}};
  }
};

}  // namespace legacy::cuda
