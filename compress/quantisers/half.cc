// fp16 and bf16 send 2 bytes per value, rounded to nearest even, and saturate at the largest finite
// number instead of overflowing. Messages are summed in fp32, unless the scheme's option
// reduction=hop rounds the partial sums of a ring, too.
#include <cstring>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/cast.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/quantiser.h"

namespace legacy {
namespace {

// A 16-bit format that has its own kernels.
struct HalfFormat {
  const char* name;
  ValueType type;
  QuantiserKind kind;
  uint16_t exponent;  // all bits set only in NaN and infinity
  void (*encode)(std::span<const float> values, std::span<std::byte> out);
  void (*decode)(std::span<const std::byte> in, std::span<float> values);
};

constexpr HalfFormat kFloat16 = {"fp16", ValueType::kFloat16, QuantiserKind::kFloat16,
                                 0x7C00, cpu::EncodeHalf,     cpu::DecodeHalf};
constexpr HalfFormat kBfloat16 = {"bf16",
                                  ValueType::kBfloat16,
                                  QuantiserKind::kBfloat16,
                                  0x7F80,
                                  [](std::span<const float> values, std::span<std::byte> out) {
                                    cpu::EncodeBfloat16(values, out);
                                  },
                                  [](std::span<const std::byte> in, std::span<float> values) {
                                    cpu::DecodeBfloat16(in, values);
                                  }};

void CheckFiniteHalves(ByteSpan segment, uint16_t exponent) {
  uint32_t found = 0;
  for (size_t i = 0; i < segment.size(); i += sizeof(uint16_t)) {
    uint16_t half = 0;
    std::memcpy(&half, segment.data() + i, sizeof half);
    found |= (half & exponent) == exponent;
  }
  if (found != 0) throw Error("message: a value is not a finite number");
}

class Half : public PartwiseQuantiser {
 public:
  explicit Half(const HalfFormat& format) : format_(format) {}
  std::string_view Name() const override { return format_.name; }
  ValueType Type() const override { return format_.type; }
  bool KeepsZeros() const override { return true; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool Linear() const override { return true; }
  bool AllowsErrorFeedback(double) const override { return true; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return int64_t{sizeof(uint16_t)} * count;
  }
  Work EncodeWork(int64_t count, double) const override { return {"cast.encode", count, 1}; }
  Work DecodeWork(int64_t count, double) const override { return {"cast.decode", count, 1}; }
  std::optional<QuantiserSetting> Setting(double) const override {
    return QuantiserSetting{.kind = format_.kind};
  }
  void Encode(std::span<const float> values, double, const CodecContext&,
              Bytes& out) const override {
    const size_t begin = out.size();
    out.resize(begin + sizeof(uint16_t) * values.size());
    format_.encode(values, std::span(out).subspan(begin));
  }
  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, int64_t{sizeof(uint16_t)} * count);
    CheckFiniteHalves(segment, format_.exponent);
  }
  void DecodePart(ByteSpan segment, int64_t, double, int64_t begin,
                  std::span<float> values) const override {
    format_.decode(segment.subspan(sizeof(uint16_t) * begin, sizeof(uint16_t) * values.size()),
                   values);
  }
  double SquaredError(std::span<const float> values, double parameter) const override {
    Bytes segment;
    Encode(values, parameter, {}, segment);
    std::vector<float> decoded(values.size());
    Decode(segment, parameter, decoded);
    return cpu::SquaredDistance(values, decoded);
  }

 private:
  const HalfFormat& format_;
};

}  // namespace

QuantiserRow Float16Row() {
  return {{.name = "fp16",
           .help = "rounds every value to IEEE half precision, saturating at +-65504",
           .paper = "IEEE 754"},
          [](const OptionReader&) -> std::unique_ptr<Quantiser> {
            return std::make_unique<Half>(kFloat16);
          }};
}

QuantiserRow Bfloat16Row() {
  return {{.name = "bf16",
           .help = "rounds every value to bfloat16, the upper half of fp32, to nearest even",
           .paper = "Kalamkar et al., A Study of BFLOAT16 for Deep Learning Training, 2019"},
          [](const OptionReader&) -> std::unique_ptr<Quantiser> {
            return std::make_unique<Half>(kBfloat16);
          }};
}

}  // namespace legacy
