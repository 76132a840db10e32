// sign sends one bit per value, and their mean magnitude. Karimireddy et al., "Error Feedback Fixes
// SignSGD and other Gradient Compression Schemes", ICML 2019. It is a contraction: ||x - Q(x)||^2 =
// ||x||^2 - ||x||_1^2 / d.
//
// onebit sends one bit per value, and two means: of the values below zero, and of the others. Seide
// et al., "1-Bit Stochastic Gradient Descent and its Application to Data-Parallel Distributed
// Training of Speech DNNs", Interspeech 2014. Each mean is the number nearest to its values, so the
// error is below ||x||^2.
//
// A bit is set for values below zero; zeros of both signs count as positive.
//
// Segment of sign: f32 scale, bits (bitpack.h). Segment of onebit: f32 mean of the values that are
// not below zero, f32 mean of the others, bits. Sums are taken in double precision, in the order
// that vector.h defines.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/quantiser.h"
#include "compress/quantisers/rules.h"

namespace legacy {
namespace {

int64_t CountSet(ByteSpan bits) {
  int64_t set = 0;
  size_t i = 0;
  for (; i + sizeof(uint64_t) <= bits.size(); i += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bits.data() + i, sizeof word);
    set += std::popcount(word);
  }
  for (; i < bits.size(); ++i) set += std::popcount(std::to_integer<uint8_t>(bits[i]));
  return set;
}

class SignQuantiser : public PartwiseQuantiser {
 public:
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool AllowsErrorFeedback(double) const override { return true; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return LevelBytes() + cpu::PackedBytes(count, 1);
  }

  void Encode(std::span<const float> values, double, const CodecContext&,
              Bytes& out) const override {
    Bytes bits(cpu::PackedBytes(static_cast<int64_t>(values.size()), 1));
    cpu::PackSigns(values, bits);
    const SignLevels levels = LevelsOf(values, CountSet(bits));
    AppendLevels(levels, out);
    // All values are too small for a mean.
    if (levels.set == 0) std::ranges::fill(bits, std::byte{0});
    out.insert(out.end(), bits.begin(), bits.end());
  }
  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, *SegmentBytes(count, 0));
    const ByteSpan bits = segment.subspan(LevelBytes());
    cpu::CheckPadding(bits, count, 1);
    CheckLevels(segment, count, CountSet(bits));
  }
  void DecodePart(ByteSpan segment, int64_t, double, int64_t begin,
                  std::span<float> values) const override {
    const SignLevels levels = LevelsAt(segment);
    const auto bytes = cpu::PackedBytes(static_cast<int64_t>(values.size()), 1);
    const ByteSpan bits = segment.subspan(LevelBytes() + begin / 8, bytes);
    cpu::UnpackSigns(bits, levels.clear, levels.set, values);
  }
  double SquaredError(std::span<const float> values, double) const override {
    Bytes segment;
    Encode(values, 0, {}, segment);
    std::vector<float> decoded(values.size());
    DecodePart(segment, static_cast<int64_t>(values.size()), 0, 0, decoded);
    return cpu::SquaredDistance(values, decoded);
  }

 protected:
  virtual int64_t LevelBytes() const = 0;
  // `below` is the number of values below zero.
  virtual SignLevels LevelsOf(std::span<const float> values, int64_t below) const = 0;
  virtual void AppendLevels(const SignLevels& levels, Bytes& out) const = 0;
  virtual SignLevels LevelsAt(ByteSpan segment) const = 0;
  // Throws Error if no encoder can have written these levels with `set` of `count` bits set.
  virtual void CheckLevels(ByteSpan segment, int64_t count, int64_t set) const = 0;
};

class Sign : public SignQuantiser {
 public:
  std::string_view Name() const override { return "sign"; }
  ValueType Type() const override { return ValueType::kSign; }
  std::optional<QuantiserSetting> Setting(double) const override {
    return QuantiserSetting{.kind = QuantiserKind::kSign};
  }

 protected:
  int64_t LevelBytes() const override { return sizeof(float); }
  SignLevels LevelsOf(std::span<const float> values, int64_t) const override {
    return MeanMagnitude(cpu::AbsSum(values), std::ssize(values));
  }
  void AppendLevels(const SignLevels& levels, Bytes& out) const override {
    AppendFloats({&levels.clear, 1}, out);
  }
  SignLevels LevelsAt(ByteSpan segment) const override {
    const float scale = FloatAt(segment, 0);
    return {scale, -scale};
  }
  void CheckLevels(ByteSpan segment, int64_t count, int64_t set) const override {
    const float scale = FloatAt(segment, 0);
    if (!std::isfinite(scale) || std::signbit(scale))
      throw Error("message: the scale is not a finite number from 0");
    if (scale == 0 && set > 0) throw Error("message: a scale of zero with signs");
    if (scale != 0 && count == 0) throw Error("message: a scale other than zero without values");
  }
};

class OneBit : public SignQuantiser {
 public:
  std::string_view Name() const override { return "onebit"; }
  ValueType Type() const override { return ValueType::kOneBit; }
  std::optional<QuantiserSetting> Setting(double) const override {
    return QuantiserSetting{.kind = QuantiserKind::kOneBit};
  }

 protected:
  int64_t LevelBytes() const override { return 2 * sizeof(float); }
  SignLevels LevelsOf(std::span<const float> values, int64_t below) const override {
    return MeansBySign(cpu::AbsSum(values), cpu::NegativeSum(values), below, std::ssize(values));
  }
  void AppendLevels(const SignLevels& levels, Bytes& out) const override {
    AppendFloats({&levels.clear, 1}, out);
    AppendFloats({&levels.set, 1}, out);
  }
  SignLevels LevelsAt(ByteSpan segment) const override {
    return {FloatAt(segment, 0), FloatAt(segment, 1)};
  }
  void CheckLevels(ByteSpan segment, int64_t count, int64_t set) const override {
    const SignLevels levels = LevelsAt(segment);
    if (!std::isfinite(levels.clear) || !std::isfinite(levels.set) || std::signbit(levels.clear) ||
        std::signbit(levels.set) != (set > 0) || (levels.set == 0) != (set == 0) ||
        (set == count && levels.clear != 0)) {
      throw Error("message: the means do not belong to these signs");
    }
  }
};

}  // namespace

QuantiserRow SignRow() {
  return {
      {.name = "sign",
       .help = "sends every sign, and the mean magnitude",
       .paper = "Karimireddy et al., Error Feedback Fixes SignSGD and other Gradient "
                "Compression Schemes, ICML 2019"},
      [](const OptionReader&) -> std::unique_ptr<Quantiser> { return std::make_unique<Sign>(); }};
}

QuantiserRow OneBitRow() {
  return {
      {.name = "onebit",
       .help = "sends every sign, the mean of the negative values and the mean of the others",
       .paper = "Seide et al., 1-Bit Stochastic Gradient Descent and its Application to "
                "Data-Parallel Distributed Training of Speech DNNs, Interspeech 2014"},
      [](const OptionReader&) -> std::unique_ptr<Quantiser> { return std::make_unique<OneBit>(); }};
}

}  // namespace legacy
