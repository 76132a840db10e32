// Quantisers whose codes are evenly spaced levels: qsgd, maxmin, uniform, terngrad.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compress/cpu/code_rules.h"
#include "compress/cpu/ternary.h"
#include "compress/cuda/kernels/coding/quantise_method.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {

// Encodes to a grid of levels. If the scale allows one value only, every code is that of zero.
struct GridEncoder {
  bool prepared, stochastic;
  float low, high, factor, origin, scale, offset;

  static LEGACY_DEVICE GridEncoder Of(const cpu::CodeGrid& grid) {
    return {grid.prepared, grid.stochastic, grid.low,   grid.high,
            grid.factor,   grid.origin,     grid.scale, cpu::OffsetOf(grid)};
  }
  static LEGACY_DEVICE GridEncoder Flat(int code) {
    cpu::CodeGrid grid;
    grid.centre = code;
    return Of(grid);
  }
  LEGACY_DEVICE uint32_t Code(float x, uint32_t draw) const {
    if (prepared) x = cpu::PreparedValue(x, low, high, factor, origin);
    const uint32_t bits = stochastic ? cpu::CodeBits<true>(x, scale, offset, draw)
                                     : cpu::CodeBits<false>(x, scale, offset, 0);
    return bits & 0xFF;
  }
};

// Decodes 2 levels + 1 codes to values in -bound .. bound.
struct SymmetricDecoder {
  bool valid;
  uint32_t least, most;  // range of codes that the scale allows
  int levels;
  float bound, inverse;

  static LEGACY_DEVICE SymmetricDecoder Of(float bound, int levels, float inverse) {
    const auto flat = static_cast<uint32_t>(bound == 0 ? levels : 0);
    const auto all = static_cast<uint32_t>(bound == 0 ? levels : 2 * levels);
    return {IsMagnitude(bound), flat, all, levels, bound, inverse};
  }
  LEGACY_DEVICE bool Allows(uint32_t code) const { return code >= least && code <= most; }
  LEGACY_DEVICE float Value(uint32_t code) const {
    return cpu::SymmetricValue(static_cast<int>(code), bound, levels, inverse);
  }
};

template <bool kEuclidean>
struct Qsgd : std::conditional_t<kEuclidean, NoMeasure, MeasureMagnitude> {
  static constexpr int kLeastWidth = 2, kMostWidth = 8, kScaleBytes = 4;
  static constexpr int kSums = kEuclidean ? 1 : 0;
  static constexpr bool kDraws = true;
  static constexpr bool kBuckets = true;
  static LEGACY_DEVICE double Term(int, double x) { return x * x; }

  using Encoder = GridEncoder;
  using Decoder = SymmetricDecoder;
  static LEGACY_DEVICE Encoder Finish(const MethodSetting& setting, const QuantiserMeasure& measure,
                                      QuantiserScale& scale) {
    const float bound = Bound(measure);
    const int levels = SideLevels(setting.bits);
    scale = QuantiserScale::Of(bound);
    if (bound == 0) return Encoder::Flat(levels);
    return Encoder::Of(cpu::SymmetricGrid(bound, levels, setting.stochastic));
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting& setting,
                                         const QuantiserScale& scale) {
    return Decoder::Of(scale.Number(0), SideLevels(setting.bits), setting.inverse);
  }

 private:
  static LEGACY_DEVICE float Bound(const QuantiserMeasure& measure) {
    if constexpr (!kEuclidean) return std::bit_cast<float>(measure.maxima[0]);
    constexpr double kLargest = std::numeric_limits<float>::max();
    const double norm = std::sqrt(measure.sums[0]);
    return static_cast<float>(norm < kLargest ? norm : kLargest);
  }
};

struct MaxMin : MeasureRange {
  static constexpr int kLeastWidth = 1, kMostWidth = 8, kScaleBytes = 8;
  static constexpr bool kDraws = true;
  static constexpr bool kBuckets = true;

  using Encoder = GridEncoder;
  struct Decoder {
    bool valid;
    uint32_t most_code;
    float least, most, inverse;

    LEGACY_DEVICE bool Allows(uint32_t code) const { return code <= most_code; }
    LEGACY_DEVICE float Value(uint32_t code) const {
      return cpu::RangeValue(static_cast<int>(code), least, most, inverse);
    }
  };
  static LEGACY_DEVICE Encoder Finish(const MethodSetting& setting, const QuantiserMeasure& measure,
                                      QuantiserScale& scale) {
    const cpu::Range range = Range(measure);
    scale = QuantiserScale::Of(range.least, range.most);
    if (range.least == range.most) return Encoder::Flat(0);
    return Encoder::Of(
        cpu::RangeGrid(range.least, range.most, (1 << setting.bits) - 1, setting.stochastic));
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting& setting,
                                         const QuantiserScale& scale) {
    const float least = scale.Number(0), most = scale.Number(1);
    const int levels = (1 << setting.bits) - 1;
    return {IsFinite(least) && IsFinite(most) && least <= most,
            static_cast<uint32_t>(least == most ? 0 : levels), least, most, setting.inverse};
  }
};

struct UniformMethod : MeasureMagnitude {
  static constexpr int kLeastWidth = 2, kMostWidth = 16, kScaleBytes = 4;

  struct Encoder {
    float max;
    int32_t levels;

    LEGACY_DEVICE uint32_t Code(float x, uint32_t) const {
      const float level = UniformLevel(x, max, static_cast<float>(levels));
      // The unit is refused anyway.
      if (!IsFinite(level)) return 0;
      return static_cast<uint32_t>(static_cast<int32_t>(level) + levels) & 0xFFFF;
    }
  };
  struct Decoder {
    bool valid;
    float max;
    int32_t levels;

    LEGACY_DEVICE bool Allows(uint32_t code) const {
      return code <= 2 * static_cast<uint32_t>(levels);
    }
    LEGACY_DEVICE float Value(uint32_t code) const {
      const auto level = static_cast<float>(static_cast<int32_t>(code) - levels);
      return UniformValue(level, max, static_cast<float>(levels));
    }
  };
  static LEGACY_DEVICE Encoder Finish(const MethodSetting& setting, const QuantiserMeasure& measure,
                                      QuantiserScale& scale) {
    const auto max = std::bit_cast<float>(measure.maxima[0]);
    scale = QuantiserScale::Of(max);
    return {max > 0 ? max : 1.0f, SideLevels(setting.bits)};
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting& setting,
                                         const QuantiserScale& scale) {
    return {IsMagnitude(scale.Number(0)), scale.Number(0), SideLevels(setting.bits)};
  }
};

struct TernGrad : MeasureRange {
  static constexpr int kLeastWidth = 2, kMostWidth = 2, kScaleBytes = 4;
  static constexpr int kSums = 3;
  static constexpr bool kDraws = true;
  static LEGACY_DEVICE double Term(int i, double x) {
    return i == 0 ? Magnitude::Of(x) : i == 1 ? NegativePart::Of(x) : Square::Of(x);
  }

  using Encoder = GridEncoder;
  using Decoder = SymmetricDecoder;
  static LEGACY_DEVICE Encoder Finish(const MethodSetting& setting, const QuantiserMeasure& measure,
                                      QuantiserScale& scale) {
    cpu::Range clip = cpu::kNoClip;
    if (setting.clip != 0) {
      const auto n = static_cast<double>(measure.count);
      const cpu::Moments moments =
          cpu::MomentsOf(n, measure.sums[0], measure.sums[1], measure.sums[2]);
      clip = cpu::ClipAround(moments.mean, setting.clip * std::sqrt(moments.variance));
    }
    const float bound = measure.count == 0 ? 0 : cpu::ClippedMax(Range(measure), clip);
    scale = QuantiserScale::Of(bound);
    return bound > 0 ? Encoder::Of(cpu::TernaryGrid(clip, bound)) : Encoder::Flat(1);
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting&, const QuantiserScale& scale) {
    return Decoder::Of(scale.Number(0), 1, 1);
  }
};

}  // namespace legacy::cuda
