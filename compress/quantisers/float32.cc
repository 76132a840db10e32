// fp32 sends the values unchanged.
#include <cstring>

#include "compress/checks.h"
#include "compress/density.h"
#include "compress/quantiser.h"

namespace legacy {
namespace {

class Float32 : public PartwiseQuantiser {
 public:
  std::string_view Name() const override { return "fp32"; }
  ValueType Type() const override { return ValueType::kFloat32; }
  bool KeepsZeros() const override { return true; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool Linear() const override { return true; }
  bool AllowsErrorFeedback(double) const override { return true; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return int64_t{sizeof(float)} * count;
  }
  // Values are sent from their place, and copied to their place at the receiver.
  Work EncodeWork(int64_t count, double) const override { return {"copy", count, 1}; }
  Work DecodeWork(int64_t count, double) const override { return {"fp32.decode", count}; }
  std::optional<QuantiserSetting> Setting(double) const override {
    return QuantiserSetting{.kind = QuantiserKind::kFloat32};
  }
  void Encode(std::span<const float> values, double, const CodecContext&,
              Bytes& out) const override {
    AppendFloats(values, out);
  }
  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, int64_t{sizeof(float)} * count);
    CheckFiniteSegment(segment);
  }
  void DecodePart(ByteSpan segment, int64_t, double, int64_t begin,
                  std::span<float> values) const override {
    if (values.empty()) return;
    std::memcpy(values.data(), segment.data() + sizeof(float) * begin, values.size_bytes());
  }
  double SquaredError(std::span<const float>, double) const override { return 0; }
};

}  // namespace

QuantiserRow Float32Row() {
  return {{.name = "fp32",
           .help = "sends every value unchanged as fp32, 4 bytes each",
           .paper = "IEEE 754"},
          [](const OptionReader&) -> std::unique_ptr<Quantiser> {
            return std::make_unique<Float32>();
          }};
}

}  // namespace legacy
