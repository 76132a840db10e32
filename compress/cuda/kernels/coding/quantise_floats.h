// Quantisers whose codes are floats of fewer bits: fp32, fp16, bf16, natural, rbf, mx, fp8.
#pragma once

#include <bit>
#include <cstdint>

#include "compress/cpu/cast.h"
#include "compress/cpu/code_rules.h"
#include "compress/cpu/element_format.h"
#include "compress/cpu/range_float.h"
#include "compress/cuda/kernels/coding/quantise_method.h"

namespace legacy::cuda {

// The code of fp32 is the value's own bits.
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

// Floats of a fixed width.
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

// The codes are exponents. Signs follow all of them, as the ninth bit of each code.
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

// mx, and fp8, which has no blocks.
template <bool kBlocks>
struct MxMethod : MeasureMagnitude {
  static constexpr int kLeastWidth = 4, kMostWidth = 8, kScaleBytes = 1;
  static constexpr bool kBuckets = kBlocks;
  static constexpr int kGroup = static_cast<int>(kLeastBlock);

  struct Encoder {
    cpu::ElementRule rule;
    float inverse;

    LEGACY_DEVICE uint32_t Code(float x, uint32_t) const { return rule.CodeOf(x, inverse); }
  };
  struct Decoder {
    bool valid;
    cpu::ElementRule rule;
    cpu::ElementRule::Factors factors;

    LEGACY_DEVICE bool Allows(uint32_t code) const {
      return rule.MagnitudeOf(code) <= rule.largest;
    }
    LEGACY_DEVICE float Value(uint32_t code) const { return rule.ValueOf(code, factors); }
  };
  static LEGACY_DEVICE Encoder Finish(const MethodSetting& setting, const QuantiserMeasure& measure,
                                      QuantiserScale& scale) {
    const auto rule = RuleOf(setting.format, setting.scale_up);
    const int32_t code = rule.ScaleOf(measure.maxima[0]);
    scale.words[0] = static_cast<uint32_t>(code);
    return {rule, cpu::ElementRule::InverseOf(code)};
  }
  static LEGACY_DEVICE Decoder DecoderOf(const MethodSetting& setting,
                                         const QuantiserScale& scale) {
    const auto rule = RuleOf(setting.format, setting.scale_up);
    const auto code = static_cast<int32_t>(scale.words[0]);
    return {code <= rule.LargestScale(), rule, cpu::ElementRule::FactorsOf(code)};
  }
};

}  // namespace legacy::cuda
