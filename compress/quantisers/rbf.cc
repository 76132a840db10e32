// rbf sends range-based floats (cpu/range_float.h). The range is that of each message's own values;
// or that of the first steps, widened and then fixed, as in the paper; or a moving average. The
// last two keep it in CodecState::numbers.
//
// Segment: u32 key of the highest value mantissa bits << 24, u32 key of the lowest, codes of N
// bits. No decoder therefore needs the sender's state.
#include <cmath>
#include <cstring>
#include <limits>

#include "compress/checks.h"
#include "compress/cpu/range_float.h"
#include "compress/quantiser.h"
#include "compress/quantisers/packed.h"

namespace legacy {
namespace {

using cpu::RangeFloat;
using cpu::SignedRange;

constexpr int64_t kRangeBytes = 8;
constexpr int kMantissaShift = 24;

enum class RangeSource : uint8_t { kMessage, kCalibrated, kAverage };
constexpr std::string_view kRangeSources[] = {"message", "calibrated", "ema"};
constexpr double kWindow = 10;    // number of steps of calibration, or of the average
constexpr double kMargin = 1.25;  // headroom over the observed range

// The state of a unit, in the upper half of CodecState::numbers. The lower half belongs to the
// sparsifier.
class RangeMemory {
 public:
  explicit RangeMemory(CodecState& state) : numbers_(std::span(state.numbers).last<4>()) {}
  double& steps() { return numbers_[0]; }  // number of steps with a value other than zero
  double& highest() { return numbers_[1]; }
  double& lowest() { return numbers_[2]; }
  double& mantissa() { return numbers_[3]; }  // fixed together with the range; 0 before

  // Returns the range with headroom. A sign that has not occurred gets the other sign's range: with
  // an empty range it could never be sent.
  SignedRange Widened() {
    const auto widen = [&](double own, double other) {
      const double wide = kMargin * (own > 0 ? own : other);
      return static_cast<float>(std::clamp<double>(wide, 0, std::numeric_limits<float>::max()));
    };
    return {widen(highest(), lowest()), widen(lowest(), highest())};
  }

 private:
  std::span<double, 4> numbers_;
};

struct RbfSettings {
  int mantissa = 0;  // 0: the best for each message
  RangeSource source = RangeSource::kMessage;
};

int BitsOf(double parameter) { return static_cast<int>(std::lround(parameter)); }

class Rbf : public Quantiser {
 public:
  Rbf(int64_t bits, const RbfSettings& settings)
      : parameter_{.name = "bits",
                   .minimum = RangeFloat::kLeastBits,
                   .maximum = RangeFloat::kMostBits,
                   .integer = true,
                   .fallback = static_cast<double>(bits),
                   .help = "bits per value, the sign included"},
        settings_(settings) {}

  std::string_view Name() const override { return "rbf"; }
  ValueType Type() const override { return ValueType::kRange; }
  bool KeepsZeros() const override { return true; }
  const ParameterSpec& Parameter() const override { return parameter_; }
  // Error feedback is allowed, because |x - Q(x)| <= |x| for every value.
  bool AllowsErrorFeedback(double) const override { return true; }
  std::optional<int64_t> SegmentBytes(int64_t count, double parameter) const override {
    return kRangeBytes + cpu::PackedBytes(count, BitsOf(parameter));
  }

  std::optional<QuantiserSetting> Setting(double parameter) const override {
    if (settings_.source != RangeSource::kMessage) return std::nullopt;
    const int bits = BitsOf(parameter);
    return QuantiserSetting{
        .kind = QuantiserKind::kRange,
        .bits = bits,
        .mantissa = std::min(settings_.mantissa, RangeFloat::MostMantissa(bits))};
  }

  void Encode(std::span<const float> values, double parameter, const CodecContext& context,
              Bytes& out) const override {
    const int bits = BitsOf(parameter);
    const RangeFloat format = Format(values, bits, context.state);
    const uint32_t head[] = {
        static_cast<uint32_t>(format.above | format.mantissa << kMantissaShift),
        static_cast<uint32_t>(format.below)};
    static_assert(sizeof head == kRangeBytes);
    const auto bytes = std::as_bytes(std::span(head));
    out.insert(out.end(), bytes.begin(), bytes.end());
    AppendPacked(values, bits, out, [&](std::span<const float> block, std::span<uint32_t> codes) {
      cpu::EncodeRange(format, block, codes);
    });
  }

  void Decode(ByteSpan segment, double parameter, std::span<float> values) const override {
    const int bits = BitsOf(parameter);
    CheckLength(segment, *SegmentBytes(static_cast<int64_t>(values.size()), parameter));
    const RangeFloat format = ReadFormat(segment, bits);
    ReadPacked(segment.subspan(kRangeBytes), bits, format.LargestCode(), values,
               [&](std::span<const uint32_t> codes, std::span<float> block) {
                 cpu::DecodeRange(format, codes, block);
               });
  }

  double SquaredError(std::span<const float> values, double parameter) const override {
    return cpu::RangeError(Format(values, BitsOf(parameter), nullptr), values);
  }

 private:
  RangeFloat Format(std::span<const float> values, int bits, CodecState* state) const;
  static RangeFloat ReadFormat(ByteSpan segment, int bits);
  int Mantissa(int bits, SignedRange range, std::span<const float> values) const {
    if (settings_.mantissa == 0) return cpu::BestMantissa(bits, range, values);
    return std::min(settings_.mantissa, RangeFloat::MostMantissa(bits));
  }

  const ParameterSpec parameter_;
  const RbfSettings settings_;
};

RangeFloat Rbf::Format(std::span<const float> values, int bits, CodecState* state) const {
  SignedRange range = cpu::SignedRangeOf(values);
  int mantissa = 0;
  const bool zeros = range.highest == 0 && range.lowest == 0;
  if (state != nullptr && settings_.source != RangeSource::kMessage && !zeros) {
    RangeMemory memory(*state);
    const double seen = memory.steps();
    if (settings_.source == RangeSource::kAverage) {
      const double weight = seen == 0 ? 1 : 1 / kWindow;
      memory.highest() += weight * (range.highest - memory.highest());
      memory.lowest() += weight * (range.lowest - memory.lowest());
      range = memory.Widened();
    } else if (seen < kWindow) {
      memory.highest() = std::max<double>(memory.highest(), range.highest);
      memory.lowest() = std::max<double>(memory.lowest(), range.lowest);
    } else {
      range = memory.Widened();
      if (memory.mantissa() == 0) memory.mantissa() = Mantissa(bits, range, values);
      mantissa = static_cast<int>(
          std::clamp<double>(memory.mantissa(), 1, RangeFloat::MostMantissa(bits)));
    }
    memory.steps() = std::min(seen + 1, kWindow);
  }
  if (mantissa == 0) mantissa = Mantissa(bits, range, values);
  return RangeFloat::Of(bits, mantissa, range);
}

RangeFloat Rbf::ReadFormat(ByteSpan segment, int bits) {
  uint32_t head[2];
  std::memcpy(head, segment.data(), sizeof head);
  const auto mantissa = static_cast<int>(head[0] >> kMantissaShift);
  if (mantissa < 1 || mantissa > RangeFloat::MostMantissa(bits)) {
    throw Error("message: bits of mantissa", std::to_string(mantissa),
                "1 to " + std::to_string(RangeFloat::MostMantissa(bits)));
  }
  const uint32_t above = head[0] & ((1u << kMantissaShift) - 1);
  const auto most = static_cast<uint32_t>(RangeFloat::MostKey(mantissa));
  if (above > most || head[1] > most) throw Error("message: a range is not a finite number");
  return RangeFloat::FromKeys(bits, mantissa, static_cast<int32_t>(above),
                              static_cast<int32_t>(head[1]));
}

}  // namespace

QuantiserRow RbfRow() {
  return {
      {.name = "rbf",
       .help = "rounds to range-based floats: N bits, with only the exponents that the values need",
       .paper = "Wang et al., FFT-based Gradient Sparsification for the Distributed Training of "
                "Deep Neural Networks, HPDC 2020",
       .options = {{"bits", "10", "3 to 16", "bits per value, the sign included"},
                   {"mantissa", "auto", "auto, 1 to bits - 2",
                    "bits of the mantissa; auto: the number with the least error"},
                   {"range", "message", "message, calibrated, ema",
                    "source of the range: each message; the first 10 steps, then fixed; or a "
                    "moving average"}}},
      [](const OptionReader& options) -> std::unique_ptr<Quantiser> {
        const int64_t bits = options.Integer("bits", RangeFloat::kLeastBits, RangeFloat::kMostBits);
        RbfSettings settings;
        if (options.Text("mantissa") != "auto") {
          settings.mantissa = static_cast<int>(
              options.Integer("mantissa", 1, RangeFloat::MostMantissa(static_cast<int>(bits))));
        }
        settings.source = static_cast<RangeSource>(options.Choice("range", kRangeSources));
        return std::make_unique<Rbf>(bits, settings);
      }};
}

}  // namespace legacy
