// What kernels have to know of each quantiser: what it measures of the values that share a scale, the
// scale, and the codes. Rounding is the CPU's: cpu/code_rules.h, cpu/range_float.h, quantisers/rules.h.
//
// Of a Method:
//   kLeastWidth, kMostWidth   bits of a code              kScaleBytes   of a scale; buckets have words
//   kMaxima, First, Maximum   largest of integers         kSums, Term   sums of doubles that are not negative
//   kDraws, kBuckets, kSigns, kFromPowers                 Finish        what is measured becomes scale and encoder
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "compress/cpu/cast.h"
#include "compress/cpu/code_rules.h"
#include "compress/cpu/range_float.h"
#include "compress/cpu/ternary.h"
#include "compress/cpu/topk_gather.h"
#include "compress/cuda/quantise.h"
#include "compress/cuda/vector_kernels.h"
#include "compress/quantisers/rules.h"

namespace legacy::cuda {

// With what the host works out once.
struct MethodSetting : QuantiserSetting {
  MethodSetting() = default;
  explicit MethodSetting(const QuantiserSetting& setting)
      : QuantiserSetting(setting), inverse(1.0f / static_cast<float>(LevelsOf(setting))) {}

  // qsgd, maxmin, terngrad: of decoding.
  static int LevelsOf(const QuantiserSetting& setting) {
    if (setting.kind == QuantiserKind::kMaxMin) return (1 << setting.bits) - 1;
    return setting.kind == QuantiserKind::kQsgd ? SideLevels(setting.bits) : 1;
  }

  float inverse = 1;  // of the levels
};

// As it is in the segment.
struct QuantiserScale {
  uint32_t words[2] = {0, 0};

  LEGACY_DEVICE float Number(int i) const { return std::bit_cast<float>(words[i]); }
  static LEGACY_DEVICE QuantiserScale Of(float a, float b = 0) {
    return {{std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)}};
  }
};

// Of `count` values that share a scale.
struct QuantiserMeasure {
  int64_t count;
  int32_t maxima[2];
  double sums[3];
};

using cpu::IsFinite;
// As an encoder could have written it: finite, and its sign is clear.
LEGACY_DEVICE bool IsMagnitude(float x) { return std::bit_cast<uint32_t>(x) < cpu::kInfinityKey; }

// Integers that order like finite numbers, zeros of both signs alike.
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
  static constexpr bool kSigns = false;       // bits after the codes
  static constexpr bool kFromPowers = false;  // what is measured is rounded values
  static LEGACY_DEVICE int32_t First(int) { return 0; }
  static LEGACY_DEVICE int32_t Maximum(int, float) { return 0; }
  static LEGACY_DEVICE double Term(int, double) { return 0; }
};
// The largest |x|.
struct MeasureMagnitude : NoMeasure {
  static constexpr int kMaxima = 1;
  static LEGACY_DEVICE int32_t Maximum(int, float x) {
    return std::bit_cast<int32_t>(cpu::MagnitudeOf(x));
  }
};
// The greatest and the least value.
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

// Codes of a grid; of a scale that leaves one value only, all are of zero.
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

// -bound .. bound in 2 levels + 1 codes.
struct SymmetricDecoder {
  bool valid;
  uint32_t least, most;  // codes that may be beside the scale
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

// The value itself.
struct Float32Code {
  static constexpr int kWidth = 32;
  static LEGACY_DEVICE uint32_t Of(float x) { return std::bit_cast<uint32_t>(x); }
  static LEGACY_DEVICE float Value(uint32_t code) { return std::bit_cast<float>(code); }
};
struct Float16Code {
  static constexpr int kWidth = 16;
  static LEGACY_DEVICE uint32_t Of(float x) { return cpu::FloatToHalf(x); }
  static LEGACY_DEVICE float Value(uint32_t code) {
    return cpu::HalfToFloat(static_cast<uint16_t>(code));
  }
};
struct Bfloat16Code {
  static constexpr int kWidth = 16;
  static LEGACY_DEVICE uint32_t Of(float x) { return cpu::FloatToBfloat16(x); }
  static LEGACY_DEVICE float Value(uint32_t code) {
    return cpu::Bfloat16ToFloat(static_cast<uint16_t>(code));
  }
};

// Floats of some width.
template <class Float>
struct CastMethod : NoMeasure {
  static constexpr int kLeastWidth = Float::kWidth, kMostWidth = Float::kWidth, kScaleBytes = 0;

  struct Encoder {
    LEGACY_DEVICE uint32_t Code(float x, uint32_t) const { return Float::Of(x); }
  };
  struct Decoder {
    static constexpr bool valid = true;

    LEGACY_DEVICE bool Allows(uint32_t code) const { return IsFinite(Float::Value(code)); }
    LEGACY_DEVICE float Value(uint32_t code) const { return Float::Value(code); }
  };
  static LEGACY_DEVICE Encoder Finish(const MethodSetting&, const QuantiserMeasure&,
                                      QuantiserScale&) {
    return {};
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting&, const QuantiserScale&) { return {}; }
};

struct UniformMethod : MeasureMagnitude {
  static constexpr int kLeastWidth = 2, kMostWidth = 16, kScaleBytes = 4;

  struct Encoder {
    float max;
    int32_t levels;

    LEGACY_DEVICE uint32_t Code(float x, uint32_t) const {
      const float level = UniformLevel(x, max, static_cast<float>(levels));
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

// Exponents and, after them, signs: the ninth bit of a code.
struct Natural9 : NoMeasure {
  static constexpr int kLeastWidth = 8, kMostWidth = 8, kScaleBytes = 0;
  static constexpr bool kDraws = true;
  static constexpr bool kSigns = true;

  struct Encoder {
    LEGACY_DEVICE uint32_t Code(float x, uint32_t draw) const {
      const float power = cpu::PowerOf(x, draw);
      return ExponentOf(power) | static_cast<uint32_t>(power < 0) << 8;
    }
  };
  struct Decoder {
    static constexpr bool valid = true;

    LEGACY_DEVICE bool Allows(uint32_t code) const {
      return (code & 0xFF) <= kLargestExponent && code != 0x100;
    }
    LEGACY_DEVICE float Value(uint32_t code) const {
      return std::bit_cast<float>((code & 0xFF) << kExponentShift | code >> 8 << 31);
    }
  };
  static LEGACY_DEVICE Encoder Finish(const MethodSetting&, const QuantiserMeasure&,
                                      QuantiserScale&) {
    return {};
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting&, const QuantiserScale&) { return {}; }
};

struct Natural8 : NoMeasure {
  static constexpr int kLeastWidth = 8, kMostWidth = 8, kScaleBytes = 1;
  static constexpr int kMaxima = 1;
  static constexpr bool kDraws = true;
  static constexpr bool kFromPowers = true;
  static LEGACY_DEVICE int32_t Maximum(int, float power) {
    return static_cast<int32_t>(ExponentOf(power));
  }

  struct Encoder {
    int32_t greatest;

    LEGACY_DEVICE uint32_t Code(float x, uint32_t draw) const {
      return OffsetCode(cpu::PowerOf(x, draw), greatest, ZeroOffset(greatest));
    }
  };
  struct Decoder {
    bool valid;
    int32_t greatest;

    LEGACY_DEVICE bool Allows(uint32_t code) const {
      const auto offset = static_cast<int32_t>(code & kLargestOffset);
      if (offset == 0) return code == 0;
      return greatest > 0 && offset > ZeroOffset(greatest);
    }
    LEGACY_DEVICE float Value(uint32_t code) const { return OffsetValue(code, greatest); }
  };
  static LEGACY_DEVICE Encoder Finish(const MethodSetting&, const QuantiserMeasure& measure,
                                      QuantiserScale& scale) {
    scale.words[0] = static_cast<uint32_t>(measure.maxima[0]);
    return {measure.maxima[0]};
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting&, const QuantiserScale& scale) {
    const auto greatest = static_cast<int32_t>(scale.words[0]);
    return {greatest <= kLargestExponent, greatest};
  }
};

struct SignEncoder {
  bool any;  // bits set

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

struct RangeMethod : NoMeasure {
  static constexpr int kLeastWidth = 3, kMostWidth = 16, kScaleBytes = 8;
  static constexpr int kMaxima = 2;
  static constexpr int kMantissaShift = 24;
  static LEGACY_DEVICE int32_t First(int i) { return i == 0 ? 0 : cpu::kMinusZero; }
  static LEGACY_DEVICE int32_t Maximum(int i, float x) {
    return i == 0 ? cpu::HighestKey(x) : cpu::LowestKey(x);
  }

  struct Encoder {
    cpu::RangeRounding rounding;

    LEGACY_DEVICE uint32_t Code(float x, uint32_t) const { return rounding.CodeOf(x) & 0xFFFF; }
  };
  struct Decoder {
    bool valid;
    uint32_t most_code;
    cpu::RangeRounding rounding;

    LEGACY_DEVICE bool Allows(uint32_t code) const { return code <= most_code; }
    LEGACY_DEVICE float Value(uint32_t code) const { return rounding.ValueOf(code); }
  };
  static LEGACY_DEVICE Encoder EncoderOf(const cpu::RangeFloat& format, QuantiserScale& scale) {
    scale.words[0] = static_cast<uint32_t>(format.above | format.mantissa << kMantissaShift);
    scale.words[1] = static_cast<uint32_t>(format.below);
    return {cpu::RangeRounding(format)};
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting& setting,
                                         const QuantiserScale& scale) {
    auto mantissa = static_cast<int>(scale.words[0] >> kMantissaShift);
    auto above = scale.words[0] & ((1u << kMantissaShift) - 1), below = scale.words[1];
    bool valid = mantissa >= 1 && mantissa <= cpu::RangeFloat::MostMantissa(setting.bits);
    if (!valid) mantissa = 1;
    const auto most = static_cast<uint32_t>(cpu::RangeFloat::MostKey(mantissa));
    if (above > most || below > most) {
      valid = false;
      above = below = 0;
    }
    const auto format = cpu::RangeFloat::FromKeys(
        setting.bits, mantissa, static_cast<int32_t>(above), static_cast<int32_t>(below));
    return {valid, format.LargestCode(), cpu::RangeRounding(format)};
  }
};

// body(method) for that of the setting.
template <class Body>
void WithMethod(const QuantiserSetting& setting, Body body) {
  switch (setting.kind) {
    case QuantiserKind::kFloat32:
      return body(CastMethod<Float32Code>());
    case QuantiserKind::kFloat16:
      return body(CastMethod<Float16Code>());
    case QuantiserKind::kBfloat16:
      return body(CastMethod<Bfloat16Code>());
    case QuantiserKind::kUniform:
      return body(UniformMethod());
    case QuantiserKind::kQsgd:
      if (setting.euclidean) return body(Qsgd<true>());
      return body(Qsgd<false>());
    case QuantiserKind::kMaxMin:
      return body(MaxMin());
    case QuantiserKind::kTernGrad:
      return body(TernGrad());
    case QuantiserKind::kNatural:
      if (setting.bits == 8) return body(Natural8());
      return body(Natural9());
    case QuantiserKind::kSign:
      return body(SignMethod());
    case QuantiserKind::kOneBit:
      return body(OneBit());
    case QuantiserKind::kRange:
      return body(RangeMethod());
  }
}

}  // namespace legacy::cuda
