// nf4 rounds to 16 numbers that are quantiles of a normal distribution, times the largest magnitude
// of each 64 values, which has 8 bits itself: 4.127 bits a value. Dettmers et al., "QLoRA:
// Efficient Finetuning of Quantized LLMs", NeurIPS 2023, appendix E and section 3 (double
// quantization). It is meant for weights.
//
// Segment: f32 largest magnitude of each group of 256 blocks; a byte c for each block, whose scale
// is c / 255 of its group's, rounded up; codes of 4 bits (bitpack.h), of which 7 is zero. QLoRA
// codes the scales' distances from their mean instead; these here are never too small.
//
// Error feedback: levels are at most .304 of a scale apart, and a scale is at most 1/255 of its
// group's largest above the block's. So a value errs by .16 of the group's largest at most, or
// vanishes in a block whose scale is below 2^-126.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/simd.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/quantise.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/quantiser.h"

namespace legacy {
namespace {

constexpr int64_t kNormalBlock = 64;
constexpr int64_t kNormalGroup = 256 * kNormalBlock;
constexpr int kNormalBits = 4;
constexpr uint8_t kNormalZero = 7;
constexpr int32_t kNormalScale = 255;  // code of a scale
constexpr std::array<float, 16> kNormalLevels = {
    -1.0f,        -0.69619280f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f,
    -0.09105004f, 0.0f,         0.07958030f,  0.16093020f,  0.24611230f,  0.33791524f,
    0.44070983f,  0.56261700f,  0.72295684f,  1.0f};

// The numbers half way between levels.
constexpr std::array<float, 15> NormalMiddles() {
  std::array<float, 15> middles{};
  for (size_t i = 0; i < middles.size(); ++i)
    middles[i] = (kNormalLevels[i] + kNormalLevels[i + 1]) / 2;
  return middles;
}
constexpr std::array<float, 15> kNormalMiddles = NormalMiddles();

// Returns what values of a block are multiplied by before they are rounded.
float NormalInverse(float scale) {
  return scale < std::numeric_limits<float>::min() ? 0 : 1 / scale;
}

LEGACY_INLINE void NormalCodesBody(const float* __restrict values, int64_t n, float inverse,
                                   uint8_t* __restrict codes) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = values[i] * inverse;
    int32_t code = 0;
    for (const float middle : kNormalMiddles) code += x > middle ? 1 : 0;
    codes[i] = static_cast<uint8_t>(code);
  }
}

LEGACY_INLINE void NormalValuesBody(const uint8_t* __restrict codes, int64_t n, float scale,
                                    float* __restrict values) {
  for (int64_t i = 0; i < n; ++i) values[i] = kNormalLevels[codes[i]] * scale;
}

class Nf4 : public PartwiseQuantiser {
 public:
  std::string_view Name() const override { return "nf4"; }
  ValueType Type() const override { return static_cast<ValueType>(ElementFormat::kNormalFloat); }
  bool KeepsZeros() const override { return true; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  // It reads and writes as MX formats do.
  std::string_view KernelName() const override { return "mx"; }
  bool ChargesCodes() const override { return true; }
  bool AllowsErrorFeedback(double) const override { return true; }
  int64_t Bucket() const override { return kNormalGroup; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return CodesAt(count) + cpu::PackedBytes(count, kNormalBits);
  }

  void Encode(std::span<const float> values, double, const CodecContext&,
              Bytes& out) const override {
    const auto count = std::ssize(values);
    const size_t begin = out.size();
    out.resize(begin + static_cast<size_t>(*SegmentBytes(count, 0)));
    const std::span<std::byte> segment = std::span(out).subspan(begin);
    std::array<float, kNormalGroup / kNormalBlock> largest;
    for (int64_t first = 0; first < count; first += kNormalGroup) {
      const int64_t end = std::min(count, first + kNormalGroup);
      float most = 0;
      for (int64_t at = first; at < end; at += kNormalBlock) {
        const auto block = values.subspan(at, std::min(kNormalBlock, end - at));
        most = std::max(most, largest[(at - first) / kNormalBlock] = cpu::AbsMax(block));
      }
      std::memcpy(segment.data() + first / kNormalGroup * kFloatBytes, &most, sizeof most);
      for (int64_t at = first; at < end; at += kNormalBlock) {
        const uint8_t code = ScaleCode(largest[(at - first) / kNormalBlock], most);
        segment[ScalesAt(count) + at / kNormalBlock] = std::byte{code};
        const auto block = values.subspan(at, std::min(kNormalBlock, end - at));
        std::array<uint8_t, kNormalBlock> buffer;
        const auto codes = std::span(buffer).first(block.size());
        cpu::Dispatch<NormalCodesBody>(cpu::ActiveSimd(), block.data(), std::ssize(block),
                                       NormalInverse(ScaleOf(code, most)), codes.data());
        cpu::PackCodes(codes, kNormalBits, PackedOf(segment, count, at, std::ssize(codes)));
      }
    }
  }

  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, *SegmentBytes(count, 0));
    cpu::CheckPadding(segment.subspan(CodesAt(count)), count, kNormalBits);
    for (int64_t first = 0; first < count; first += kNormalGroup) {
      const float most = FloatAt(segment, first / kNormalGroup);
      if (!std::isfinite(most) || std::signbit(most)) {
        throw Error("message: the scale of a group of blocks is not a magnitude");
      }
      const int64_t end = std::min(count, first + kNormalGroup);
      int32_t greatest = 0;
      for (int64_t at = first; at < end; at += kNormalBlock) {
        const int32_t scale = ScaleAt(segment, count, at);
        greatest = std::max(greatest, scale);
        if (scale == 0) CheckZeros(segment, count, at, std::min(kNormalBlock, end - at));
      }
      if (greatest != (most > 0 ? kNormalScale : 0)) {
        throw Error("message: the scale of a group is not that of its largest block");
      }
    }
  }

  void DecodePart(ByteSpan segment, int64_t count, double, int64_t begin,
                  std::span<float> values) const override {
    for (int64_t at = 0; at < std::ssize(values); at += kNormalBlock) {
      const auto block = values.subspan(at, std::min(kNormalBlock, std::ssize(values) - at));
      std::array<uint8_t, kNormalBlock> buffer;
      const auto codes = std::span(buffer).first(block.size());
      cpu::UnpackCodes(PackedOf(segment, count, begin + at, std::ssize(codes)), kNormalBits, codes);
      const float most = FloatAt(segment, (begin + at) / kNormalGroup);
      const auto code = static_cast<uint8_t>(ScaleAt(segment, count, begin + at));
      cpu::Dispatch<NormalValuesBody>(cpu::ActiveSimd(), static_cast<const uint8_t*>(codes.data()),
                                      std::ssize(codes), ScaleOf(code, most), block.data());
    }
  }

  double SquaredError(std::span<const float> values, double) const override {
    Bytes segment;
    Encode(values, 0, {}, segment);
    std::vector<float> decoded(values.size());
    DecodePart(segment, std::ssize(values), 0, 0, decoded);
    return cpu::SquaredDistance(values, decoded);
  }

 private:
  static constexpr int64_t kFloatBytes = sizeof(float);

  static int64_t ScalesAt(int64_t count) {
    return (count + kNormalGroup - 1) / kNormalGroup * kFloatBytes;
  }
  static int64_t CodesAt(int64_t count) {
    return ScalesAt(count) + (count + kNormalBlock - 1) / kNormalBlock;
  }
  // Returns the codes of `size` values from value `first` on, the first of a block.
  template <typename Segment>
  static Segment PackedOf(Segment segment, int64_t count, int64_t first, int64_t size) {
    return segment.subspan(CodesAt(count) + cpu::PackedBytes(first, kNormalBits),
                           cpu::PackedBytes(size, kNormalBits));
  }
  static int32_t ScaleAt(ByteSpan segment, int64_t count, int64_t value) {
    return std::to_integer<int32_t>(segment[ScalesAt(count) + value / kNormalBlock]);
  }
  static void CheckZeros(ByteSpan segment, int64_t count, int64_t first, int64_t size) {
    std::array<uint8_t, kNormalBlock> buffer;
    const auto codes = std::span(buffer).first(static_cast<size_t>(size));
    cpu::UnpackCodes(PackedOf(segment, count, first, size), kNormalBits, codes);
    if (std::ranges::any_of(codes, [](uint8_t code) { return code != kNormalZero; })) {
      throw Error("message: a block without a scale has values");
    }
  }
  // Returns the code of a block's scale in a group whose largest magnitude is `most`.
  static uint8_t ScaleCode(float largest, float most) {
    if (most == 0) return 0;
    const double part = double{largest} / double{most} * kNormalScale;
    return static_cast<uint8_t>(std::ceil(part));
  }
  static float ScaleOf(uint8_t code, float most) {
    return static_cast<float>(code) / kNormalScale * most;
  }
};

}  // namespace

QuantiserRow Nf4Row() {
  return {{.name = "nf4",
           .help = "rounds to 16 quantiles of a normal distribution, times the largest magnitude "
                   "of each 64 values",
           .paper = "Dettmers et al., QLoRA: Efficient Finetuning of Quantized LLMs, NeurIPS 2023"},
          [](const OptionReader&) { return std::make_unique<Nf4>(); }};
}

}  // namespace legacy
