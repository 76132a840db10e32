// terngrad sends sign(x) s with probability |x| / s, and 0 otherwise, where s is the largest |x|
// after clipping. Wen et al., "TernGrad: Ternary Gradients to Reduce Communication in Distributed
// Deep Learning", NeurIPS 2017. Values further from the mean than `clip` standard deviations (of
// the population) are clipped; the result is unbiased with respect to the clipped values.
//
// Segment: f32 s, codes of 2 bits: 0, 1, 2 for -s, 0, s.
//
// Error feedback is refused: E||x - Q(x)||^2 = s ||x||_1 - ||x||^2 for clipped x, which can reach
// sqrt(d) - 1 times ||x||^2 and exceeds it for normally distributed values.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/ternary.h"
#include "compress/density.h"
#include "compress/quantiser.h"
#include "compress/quantisers/bucketed.h"

namespace legacy {
namespace {

constexpr int64_t kTernScaleBytes = sizeof(float);

class TernGrad : public PartwiseQuantiser {
 public:
  explicit TernGrad(double clip) : clip_(clip) {}
  std::string_view Name() const override { return "terngrad"; }
  ValueType Type() const override { return ValueType::kTernary; }
  bool KeepsZeros() const override { return clip_ == 0; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool AllowsErrorFeedback(double) const override { return false; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return kTernScaleBytes + cpu::PackedBytes(count, cpu::kTernaryBits);
  }

  std::optional<QuantiserSetting> Setting(double) const override {
    return QuantiserSetting{.kind = QuantiserKind::kTernGrad, .clip = clip_};
  }

  void Encode(std::span<const float> values, double, const CodecContext& context,
              Bytes& out) const override {
    const auto count = static_cast<int64_t>(values.size());
    const cpu::Range clip = values.empty() ? cpu::Range{} : cpu::ClipRange(values, clip_);
    const float scale = values.empty() ? 0 : cpu::ClippedMax(values, clip);
    AppendFloats({&scale, 1}, out);
    const size_t begin = out.size();
    out.resize(begin + cpu::PackedBytes(count, cpu::kTernaryBits));
    const cpu::DrawSource source = DrawsOf(context);
    std::array<uint8_t, cpu::kQuantiseBlock> buffer;
    for (int64_t first = 0; first < count; first += cpu::kQuantiseBlock) {
      const auto codes = std::span(buffer).first(std::min(cpu::kQuantiseBlock, count - first));
      if (scale > 0) {
        cpu::EncodeCodes(values.subspan(first, codes.size()), cpu::TernaryGrid(clip, scale), source,
                         first, codes);
      } else {
        std::ranges::fill(codes, uint8_t{1});
      }
      cpu::PackCodes(codes, cpu::kTernaryBits, Block(std::span(out).subspan(begin), first, codes));
    }
  }

  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, *SegmentBytes(count, 0));
    const float scale = FloatAt(segment, 0);
    if (!std::isfinite(scale) || std::signbit(scale))
      throw Error("message: the scale is not a finite number from 0");
    const ByteSpan packed = segment.subspan(kTernScaleBytes);
    cpu::CheckPadding(packed, count, cpu::kTernaryBits);
    std::array<uint8_t, cpu::kQuantiseBlock> buffer;
    for (int64_t first = 0; first < count; first += cpu::kQuantiseBlock) {
      const auto codes = std::span(buffer).first(std::min(cpu::kQuantiseBlock, count - first));
      cpu::UnpackCodes(Block(packed, first, codes), cpu::kTernaryBits, codes);
      if (cpu::LargestCode(codes) > 2) throw Error("message: a code is above the largest level");
      if (scale == 0 && std::ranges::any_of(codes, [](uint8_t code) { return code != 1; })) {
        throw Error("message: a scale of zero with signs");
      }
    }
  }

  void DecodePart(ByteSpan segment, int64_t, double, int64_t begin,
                  std::span<float> values) const override {
    const ByteSpan packed = segment.subspan(kTernScaleBytes);
    const auto count = static_cast<int64_t>(values.size());
    std::array<uint8_t, cpu::kQuantiseBlock> buffer;
    for (int64_t first = 0; first < count; first += cpu::kQuantiseBlock) {
      const auto codes = std::span(buffer).first(std::min(cpu::kQuantiseBlock, count - first));
      cpu::UnpackCodes(Block(packed, begin + first, codes), cpu::kTernaryBits, codes);
      cpu::DecodeSymmetric(codes, FloatAt(segment, 0), 1, values.subspan(first, codes.size()));
    }
  }

  // Adds the error of clipping to s^2 p (1 - p) with p = |x| / s.
  double SquaredError(std::span<const float> values, double) const override {
    if (values.empty()) return 0;
    const cpu::Range clip = cpu::ClipRange(values, clip_);
    const double scale = cpu::ClippedMax(values, clip);
    double error = 0;
    for (const float x : values) {
      const double kept = std::clamp(x, clip.least, clip.most);
      error += (x - kept) * (x - kept) + std::abs(kept) * (scale - std::abs(kept));
    }
    return error;
  }

 private:
  // Returns the bytes of a block of codes from `first` on.
  template <typename Byte>
  static std::span<Byte> Block(std::span<Byte> packed, int64_t first,
                               std::span<const uint8_t> codes) {
    const auto size = static_cast<int64_t>(codes.size());
    return packed.subspan(cpu::PackedBytes(first, cpu::kTernaryBits),
                          cpu::PackedBytes(size, cpu::kTernaryBits));
  }

  double clip_;
};

}  // namespace

QuantiserRow TernGradRow() {
  return {{.name = "terngrad",
           .help = "rounds every value at random to -s, 0 or s, where s is the largest magnitude "
                   "after clipping",
           .paper = "Wen et al., TernGrad: Ternary Gradients to Reduce Communication in "
                    "Distributed Deep Learning, NeurIPS 2017",
           .options = {{"clip", "2.5", "numbers from 0",
                        "clipping bound in standard deviations from the mean; 0: no clipping"}}},
          [](const OptionReader& options) -> std::unique_ptr<Quantiser> {
            constexpr double kAny = std::numeric_limits<double>::infinity();
            return std::make_unique<TernGrad>(options.Number("clip", 0, kAny));
          }};
}

}  // namespace legacy
