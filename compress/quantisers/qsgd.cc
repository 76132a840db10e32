// qsgd has s levels on each side of zero (as given, or 2^(b-1) - 1 for b bits), up to the norm of a
// bucket. A value becomes one of the two neighbouring levels so that its expectation is the value.
// Alistarh et al., "QSGD: Communication-Efficient SGD via Gradient Quantization and Encoding",
// NeurIPS 2017.
//
// The scale of a bucket is the f32 norm u. Code c, up to 2 s, represents (c - s) / s * u. With
// code=elias the codes are a stream of bits (cpu/elias.h) whose length depends on the data, padded
// with zeros to a whole byte.
//
// Error feedback, in steps of u / s, for a bucket of B values:
// * norm=max: no error is above one step, so max |x - Q(x)| <= max |x| / s, and residuals stay
//   bounded for s >= 2. (The squared error can still be above ||x||^2: a spike among many small
//   values.) With rounding to the nearest, the greatest value is exact and no error is above its
//   value: residuals are bounded for every s.
// * norm=l2: the squares of all y = s |x| / u sum to s^2, and E||x - Q(x)||^2 / ||x||^2 =
//   sum p (1 - p) / s^2. That is at most B / (4 s^2) < 1 if 4 s^2 > B. If 4 s^2 <= B, equal values
//   y = s / sqrt(B) <= 1/2 give sqrt(B) / s - 1 >= 1. With rounding to the nearest, the same
//   condition decides whether at least one y is above 1/2: otherwise all may become zero.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/elias.h"
#include "compress/cpu/vector.h"
#include "compress/quantiser.h"
#include "compress/quantisers/bucketed.h"
#include "compress/quantisers/rules.h"

namespace legacy {
namespace {

constexpr int kQsgdLeastBits = 2;
constexpr const char* kLevelsOption = "levels";
constexpr int kMostLevels = 255;      // magnitudes are bytes
constexpr int kMostByteLevels = 127;  // codes are bytes

class Qsgd : public BucketedQuantiser {
 public:
  Qsgd(Settings settings, bool euclidean)
      : BucketedQuantiser(std::move(settings)),
        euclidean_(euclidean),
        by_levels_(this->settings().bits.name == kLevelsOption) {}
  std::string_view Name() const override { return "qsgd"; }
  ValueType Type() const override { return ValueType::kQsgd; }
  bool KeepsZeros() const override { return true; }
  bool AllowsErrorFeedback(double bits) const override {
    const int64_t levels = Side(BitsOf(bits));
    if (euclidean_) return 4 * levels * levels > settings().bucket;
    return levels >= 2 || !settings().stochastic;
  }
  std::optional<QuantiserSetting> Setting(double bits) const override {
    if (by_levels_) return std::nullopt;
    std::optional<QuantiserSetting> setting = SettingOf(QuantiserKind::kQsgd, bits);
    if (setting) setting->euclidean = euclidean_;
    return setting;
  }

 protected:
  int Numbers() const override { return 1; }
  // Returns the levels on each side of zero: the parameter, or as many as fit into its bits.
  int Side(int parameter) const { return by_levels_ ? parameter : SideLevels(parameter); }
  int Width(int parameter) const override {
    return by_levels_ ? std::bit_width(2u * static_cast<unsigned>(parameter)) : parameter;
  }
  int LargestCode(int bits) const override { return 2 * Side(bits); }
  int FlatCode(int bits) const override { return Side(bits); }
  // Rounding is unbiased for any scale of at least max |x|, so a norm beyond the largest float may
  // be replaced by the largest float.
  BucketScale ScaleOf(std::span<const float> values) const override {
    if (!euclidean_) return {.high = cpu::AbsMax(values)};
    const double norm = std::sqrt(cpu::SquaredNorm(values));
    const double largest = std::numeric_limits<float>::max();
    return {.high = static_cast<float>(std::min(norm, largest))};
  }
  std::optional<cpu::CodeGrid> GridOf(const BucketScale& scale, int bits) const override {
    if (scale.high == 0) return std::nullopt;
    cpu::CodeGrid grid = cpu::SymmetricGrid(scale.high, Side(bits), settings().stochastic);
    if (Side(bits) > kMostByteLevels) grid.centre = 0;
    return grid;
  }
  bool IsScale(const BucketScale& scale) const override {
    return std::isfinite(scale.high) && !std::signbit(scale.high);
  }
  void DecodeBucket(std::span<const uint8_t> codes, const BucketScale& scale, int bits,
                    std::span<float> values) const override {
    cpu::DecodeSymmetric(codes, scale.high, Side(bits), values);
  }
  // The magnitude is rounded, as a byte, and the code is that many levels from the middle.
  void EncodeWide(std::span<const float> values, const cpu::CodeGrid& grid, int bits,
                  const cpu::DrawSource& source, int64_t first,
                  std::span<uint32_t> codes) const override {
    std::array<float, cpu::kQuantiseBlock> magnitudes;
    std::array<uint8_t, cpu::kQuantiseBlock> rounded;
    std::ranges::transform(values, magnitudes.begin(), [](float x) { return cpu::MagnitudeOf(x); });
    cpu::EncodeCodes(std::span(magnitudes).first(values.size()), grid, source, first,
                     std::span(rounded).first(values.size()));
    const auto middle = static_cast<uint32_t>(Side(bits));
    for (size_t i = 0; i < values.size(); ++i) {
      codes[i] = values[i] < 0 ? middle - rounded[i] : middle + rounded[i];
    }
  }
  void DecodeWide(std::span<const uint32_t> codes, const BucketScale& scale, int bits,
                  std::span<float> values) const override {
    const int levels = Side(bits);
    const float inverse = 1.0f / static_cast<float>(levels);
    for (size_t i = 0; i < codes.size(); ++i) {
      values[i] = cpu::SymmetricValue(static_cast<int>(codes[i]), scale.high, levels, inverse);
    }
  }
  double Origin(const BucketScale& scale, int) const override { return -double{scale.high}; }
  double Step(const BucketScale& scale, int bits) const override {
    return double{scale.high} / Side(bits);
  }

 private:
  bool euclidean_;
  bool by_levels_;
};

class QsgdElias : public Qsgd {
 public:
  using Qsgd::Qsgd;
  ValueType Type() const override { return ValueType::kQsgdElias; }
  std::string_view KernelName() const override { return "qsgd-elias"; }
  // The error does not depend on the code.
  Work ErrorWork(int64_t count, double) const override { return {"qsgd.encode", count}; }
  std::optional<int64_t> SegmentBytes(int64_t, double) const override { return std::nullopt; }
  const PartwiseQuantiser* Parts() const override { return nullptr; }
  std::optional<QuantiserSetting> Setting(double) const override { return std::nullopt; }

  void Encode(std::span<const float> values, double parameter, const CodecContext& context,
              Bytes& out) const override {
    const int bits = BitsOf(parameter);
    const cpu::DrawSource source = DrawsOf(context);
    const auto count = static_cast<int64_t>(values.size());
    std::vector<uint8_t> codes(values.size(), static_cast<uint8_t>(FlatCode(bits)));
    ForBuckets(0, count, [&](int64_t, int64_t first, int64_t size) {
      const auto bucket = values.subspan(first, size);
      const BucketScale scale = ScaleOf(bucket);
      AppendFloats({&scale.high, 1}, out);
      if (const auto grid = GridOf(scale, bits)) {
        cpu::EncodeCodes(bucket, *grid, source, first, std::span(codes).subspan(first, size));
      }
    });
    cpu::WriteElias(codes, Side(bits), out);
  }

  void Decode(ByteSpan segment, double parameter, std::span<float> values) const override {
    const int bits = BitsOf(parameter);
    const auto count = static_cast<int64_t>(values.size());
    const int64_t scales = ScaleBytes() * Buckets(count);
    if (static_cast<int64_t>(segment.size()) < scales) throw Error("message: scales end early");
    std::vector<uint8_t> codes(values.size());
    cpu::ReadElias(segment.subspan(scales), Side(bits), codes);
    ForBuckets(0, count, [&](int64_t bucket, int64_t first, int64_t size) {
      const BucketScale scale = ScaleAt(segment, bucket);
      if (!IsScale(scale)) throw Error("message: the scale of a bucket is invalid");
      const auto level = static_cast<uint8_t>(FlatCode(bits));
      const auto part = std::span(codes).subspan(first, size);
      if (scale.high == 0 && std::ranges::any_of(part, [&](uint8_t c) { return c != level; })) {
        throw Error("message: a bucket without a range has more than one level");
      }
      DecodeBucket(part, scale, bits, values.subspan(first, size));
    });
  }
};

std::vector<OptionSpec> OptionsOfQsgd() {
  auto options = BucketOptions("4", "stochastic", kQsgdLeastBits);
  options.push_back(
      {"norm", "max", "max, l2", "norm of a bucket that the highest level represents"});
  options.push_back(
      {kLevelsOption, "0", "0 to 255",
       "levels on each side of zero, where no policy chooses them (with code=elias up to 127); 0: "
       "as many as bits= allows"});
  options.push_back(
      {"code", "fixed", "fixed, elias",
       "code of the levels: of fixed length, or Elias, whose length depends on the data"});
  return options;
}

// Makes the number of levels the parameter, if one is given.
void ReadLevels(const OptionReader& options, int most, BucketedQuantiser::Settings& settings) {
  const int64_t levels = options.Integer(kLevelsOption, 0, most);
  if (levels == 0) return;
  settings.bits = {.name = kLevelsOption,
                   .minimum = 1,
                   .maximum = static_cast<double>(most),
                   .integer = true,
                   .fallback = static_cast<double>(levels),
                   .help = "levels on each side of zero"};
}

}  // namespace

QuantiserRow QsgdRow() {
  return {{.name = "qsgd",
           .help = "rounds at random to equally spaced levels up to the norm of each bucket",
           .paper = "Alistarh et al., QSGD: Communication-Efficient SGD via Gradient Quantization "
                    "and Encoding, NeurIPS 2017",
           .options = OptionsOfQsgd()},
          [](const OptionReader& options) -> std::unique_ptr<Quantiser> {
            constexpr std::string_view kNorms[] = {"max", "l2"};
            constexpr std::string_view kCodes[] = {"fixed", "elias"};
            auto settings = ReadBucketOptions(options, kQsgdLeastBits);
            const bool elias = options.Choice("code", kCodes) == 1;
            ReadLevels(options, elias ? kMostByteLevels : kMostLevels, settings);
            const bool euclidean = options.Choice("norm", kNorms) == 1;
            if (elias) {
              return std::make_unique<QsgdElias>(std::move(settings), euclidean);
            }
            return std::make_unique<Qsgd>(std::move(settings), euclidean);
          }};
}

}  // namespace legacy
