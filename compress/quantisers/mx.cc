// mx sends small floats in blocks of values that share a scale. "OCP Microscaling Formats (MX)
// Specification", version 1.0, Open Compute Project 2023; Rouhani et al., "Microscaling Data
// Formats for Deep Learning", 2023. cpu/element_format.h has the formats and the rounding.
//
// fp8 is the same with one block: all values of a segment share their scale. Micikevicius et al.,
// "FP8 Formats for Deep Learning", 2022.
//
// Segment: a byte for the scale of each block, then codes (bitpack.h). A block whose values are all
// zero has scale code 0. The largest code of every other block whose scale code is not 0 reaches
// the exponent that the scale leaves it.
//
// Error feedback: no value becomes larger or changes its sign, and the largest of a block keeps
// half of itself at least. What vanishes in a block of scale code 0 is below 2^-127.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/element_format.h"
#include "compress/cpu/quantise.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/quantiser.h"
#include "compress/quantisers/rules.h"

namespace legacy {
namespace {

constexpr int64_t kLeastBlock = 32;
constexpr int64_t kMostBlock = 1 << 20;
constexpr std::string_view kFormats[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
constexpr std::string_view kRoundings[] = {"floor", "up"};

const uint8_t* ScalesOf(ByteSpan segment) {
  return reinterpret_cast<const uint8_t*>(segment.data());
}

class Mx : public PartwiseQuantiser {
 public:
  // `block` is 0 if all values share one scale.
  Mx(ElementFormat format, bool up, int64_t block)
      : format_(format), rule_(RuleOf(format, up)), up_(up), block_(block) {}

  std::string_view Name() const override { return block_ > 0 ? "mx" : "fp8"; }
  ValueType Type() const override { return static_cast<ValueType>(format_); }
  bool KeepsZeros() const override { return true; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool ChargesCodes() const override { return true; }
  bool AllowsErrorFeedback(double) const override { return true; }
  int64_t Bucket() const override { return block_; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return Blocks(count) + cpu::PackedBytes(count, rule_.width);
  }
  std::optional<QuantiserSetting> Setting(double) const override {
    return QuantiserSetting{.kind = block_ > 0 ? QuantiserKind::kMx : QuantiserKind::kFp8,
                            .bits = rule_.width,
                            .bucket = block_ > 0 ? block_ : kLeastBlock,
                            .format = format_,
                            .scale_up = up_};
  }

  void Encode(std::span<const float> values, double, const CodecContext&,
              Bytes& out) const override {
    const auto count = static_cast<int64_t>(values.size());
    const size_t begin = out.size();
    out.resize(begin + *SegmentBytes(count, 0));
    const auto segment = std::span(out).subspan(begin);
    auto* const scales = reinterpret_cast<uint8_t*>(segment.data());
    const auto packed = segment.subspan(Blocks(count));
    const int64_t block = BlockOf(count);
    // Several small blocks are scaled at once, and their values are coded from the cache.
    const int64_t together = std::max(block, cpu::kQuantiseBlock / block * block);
    std::array<uint8_t, cpu::kQuantiseBlock> buffer;
    for (int64_t first = 0; first < count; first += together) {
      const auto scaled = values.subspan(first, std::min(together, count - first));
      const int64_t blocks = (std::ssize(scaled) + block - 1) / block;
      cpu::ScaleBlocks(rule_, scaled, block, {scales + first / block, static_cast<size_t>(blocks)});
      for (int64_t at = 0; at < std::ssize(scaled); at += cpu::kQuantiseBlock) {
        const auto part =
            scaled.subspan(at, std::min(cpu::kQuantiseBlock, std::ssize(scaled) - at));
        const auto codes = std::span(buffer).first(part.size());
        cpu::EncodeElements(rule_, part, first + at, block, scales, codes);
        cpu::PackCodes(codes, rule_.width, packed.subspan(PackedAt(first + at), PackedAt(codes)));
      }
    }
  }

  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, *SegmentBytes(count, 0));
    cpu::CheckPadding(segment.subspan(Blocks(count)), count, rule_.width);
    const int64_t block = BlockOf(count);
    // Codes are looked at in several small blocks at once, or in parts of a large one.
    const int64_t together =
        block < cpu::kQuantiseBlock ? cpu::kQuantiseBlock / block * block : cpu::kQuantiseBlock;
    std::array<uint8_t, cpu::kQuantiseBlock> buffer, largest;
    int32_t most = 0;  // of the present block so far
    for (int64_t first = 0; first < count;) {
      const int64_t end = std::min({count, first + together, LargeEnd(first, block)});
      const auto codes = std::span(buffer).first(end - first);
      Unpack(segment, count, first, codes);
      const int64_t own = std::min(block, std::ssize(codes));
      const auto blocks = std::span(largest).first((std::ssize(codes) + own - 1) / own);
      cpu::LargestMagnitudes(rule_, codes, own, blocks);
      for (size_t b = 0; b < blocks.size(); ++b) {
        most = std::max<int32_t>(most, blocks[b]);
        const int64_t after = std::min(end, first + (static_cast<int64_t>(b) + 1) * own);
        if (after % block != 0 && after != count) continue;
        CheckBlock(std::to_integer<int32_t>(segment[(after - 1) / block]), most);
        most = 0;
      }
      first = end;
    }
    if (count == 0 && block_ == 0) CheckBlock(std::to_integer<int32_t>(segment[0]), 0);
  }

  void DecodePart(ByteSpan segment, int64_t count, double, int64_t begin,
                  std::span<float> values) const override {
    std::array<uint8_t, cpu::kQuantiseBlock> buffer;
    for (int64_t at = 0; at < std::ssize(values); at += cpu::kQuantiseBlock) {
      const auto part = values.subspan(at, std::min(cpu::kQuantiseBlock, std::ssize(values) - at));
      const auto codes = std::span(buffer).first(part.size());
      Unpack(segment, count, begin + at, codes);
      cpu::DecodeElements(rule_, codes, begin + at, BlockOf(count), ScalesOf(segment), part);
    }
  }

  double SquaredError(std::span<const float> values, double) const override {
    Bytes segment;
    Encode(values, 0, {}, segment);
    std::vector<float> decoded(values.size());
    DecodePart(segment, static_cast<int64_t>(values.size()), 0, 0, decoded);
    return cpu::SquaredDistance(values, decoded);
  }

 private:
  int64_t BlockOf(int64_t count) const { return block_ > 0 ? block_ : std::max<int64_t>(count, 1); }
  int64_t Blocks(int64_t count) const { return block_ > 0 ? (count + block_ - 1) / block_ : 1; }
  int64_t PackedAt(int64_t count) const { return cpu::PackedBytes(count, rule_.width); }
  int64_t PackedAt(std::span<const uint8_t> codes) const { return PackedAt(std::ssize(codes)); }
  // Returns the end of the block of value `first` if it is too large for the buffer.
  static int64_t LargeEnd(int64_t first, int64_t block) {
    return block > cpu::kQuantiseBlock ? (first / block + 1) * block
                                       : std::numeric_limits<int64_t>::max();
  }
  // Checks a block's scale, and the largest magnitude of its codes.
  void CheckBlock(int32_t scale, int32_t most) const {
    if (scale > rule_.LargestScale()) {
      throw Error("message: scale of a block", std::to_string(scale),
                  "at most " + std::to_string(rule_.LargestScale()));
    }
    if (most > rule_.largest) throw Error("message: a value is not a finite number");
    if (scale > 0 && most < rule_.reaching) {
      throw Error("message: the scale of a block is larger than its values need");
    }
  }
  // Reads codes of a segment of `count` values, from value `first` on, a multiple of eight.
  void Unpack(ByteSpan segment, int64_t count, int64_t first, std::span<uint8_t> codes) const {
    const ByteSpan packed = segment.subspan(Blocks(count) + PackedAt(first), PackedAt(codes));
    cpu::UnpackCodes(packed, rule_.width, codes);
  }

  const ElementFormat format_;
  const cpu::ElementRule rule_;
  const bool up_;
  const int64_t block_;
};

OptionSpec ScaleOption() {
  return {"scale", "floor", "floor, up",
          "rounding of scales: floor, as standardised, clips what lies between the largest value "
          "and the next power of two; up doubles the scale instead"};
}

// Reads "format", one of the first `formats`, and "scale".
std::unique_ptr<Quantiser> MakeMx(const OptionReader& options, size_t formats, int64_t block) {
  const size_t format = options.Choice("format", std::span(kFormats).first(formats));
  const auto first = static_cast<size_t>(ElementFormat::kE4M3);
  const bool up = options.Choice("scale", kRoundings) == 1;
  return std::make_unique<Mx>(static_cast<ElementFormat>(first + format), up, block);
}

}  // namespace

QuantiserRow MxRow() {
  return {{.name = "mx",
           .help = "rounds to floats of 8, 6 or 4 bits, in blocks that share a power of two",
           .paper = "OCP Microscaling Formats (MX) Specification, version 1.0, 2023",
           .options = {{"format", "e4m3", "e4m3, e5m2, e3m2, e2m3, e2m1",
                        "bits of the exponent and of the mantissa, besides a sign"},
                       {"block", "32", "multiples of 32, up to " + std::to_string(kMostBlock),
                        "number of consecutive values that share a scale"},
                       ScaleOption()}},
          [](const OptionReader& options) {
            const int64_t block = options.Integer("block", kLeastBlock, kMostBlock);
            if (block % kLeastBlock != 0) {
              throw Error("block", options.Text("block"), "multiples of 32");
            }
            return MakeMx(options, std::size(kFormats), block);
          }};
}

QuantiserRow Fp8Row() {
  return {{.name = "fp8",
           .help = "rounds to floats of 8 bits, which all share a power of two",
           .paper = "Micikevicius et al., FP8 Formats for Deep Learning, 2022",
           .options = {{"format", "e4m3", "e4m3, e5m2",
                        "bits of the exponent and of the mantissa, besides a sign"},
                       ScaleOption()}},
          [](const OptionReader& options) { return MakeMx(options, 2, 0); }};
}

}  // namespace legacy
