#include "compress/quantisers/natural_dithering.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/quantisers/bucketed.h"
#include "compress/quantisers/rules.h"

namespace legacy {
namespace {

constexpr int kMostDitheringLevels = 60;

class NaturalDithering : public BucketedQuantiser {
 public:
  NaturalDithering(int64_t bucket, int levels, bool euclidean)
      : BucketedQuantiser({.bits = NoParameter(), .bucket = bucket}),
        levels_(levels),
        euclidean_(euclidean),
        lowest_(std::ldexp(1.0f, 1 - levels)) {}
  std::string_view Name() const override { return "natural"; }
  ValueType Type() const override { return ValueType::kNatural; }
  // Moves as much as qsgd does.
  std::string_view KernelName() const override { return "qsgd"; }
  bool ChargesCodes() const override { return true; }
  bool KeepsZeros() const override { return true; }
  bool AllowsErrorFeedback(double) const override {
    return 0.125 + static_cast<double>(settings().bucket) * std::ldexp(1.0, -2 * levels_) < 1;
  }
  void Encode(std::span<const float> values, double, const CodecContext& context,
              Bytes& out) const override;
  double SquaredError(std::span<const float> values, double) const override;

 protected:
  int Width(int) const override { return std::bit_width(2u * static_cast<unsigned>(levels_)); }
  int Numbers() const override { return 1; }
  int LargestCode(int) const override { return 2 * levels_; }
  int FlatCode(int) const override { return levels_; }
  BucketScale ScaleOf(std::span<const float> values) const override {
    double norm = euclidean_ ? std::sqrt(cpu::SquaredNorm(values)) : cpu::AbsMax(values);
    norm = std::min(norm, double{std::numeric_limits<float>::max()});
    const BucketScale scale{.high = static_cast<float>(norm)};
    return IsScale(scale) ? scale : BucketScale{};
  }
  // Levels are not equally distant, so the grid only says that a bucket is not flat.
  std::optional<cpu::CodeGrid> GridOf(const BucketScale& scale, int) const override {
    return scale.high == 0 ? std::nullopt : std::optional(cpu::CodeGrid());
  }
  bool IsScale(const BucketScale& scale) const override {
    if (scale.high == 0) return !std::signbit(scale.high);
    return std::isfinite(scale.high) &&
           double{scale.high} * double{lowest_} >= double{std::numeric_limits<float>::min()};
  }
  void DecodeBucket(std::span<const uint8_t> codes, const BucketScale& scale, int,
                    std::span<float> values) const override {
    for (size_t i = 0; i < codes.size(); ++i) {
      const int level = int{codes[i]} - levels_;
      const float magnitude = level == 0 ? 0 : std::ldexp(scale.high, std::abs(level) - levels_);
      values[i] = level < 0 ? -magnitude : magnitude;
    }
  }
  double Origin(const BucketScale&, int) const override { return 0; }
  double Step(const BucketScale& scale, int) const override { return scale.high; }

 private:
  // A magnitude as a part of the norm lies `above` of the way from level `below` to the next one.
  struct Place {
    int below = 0;
    float above = 0;
  };
  Place PlaceOf(float x, float norm) const {
    const float y = std::min(std::abs(x) / norm, 1.0f);
    if (y < lowest_) return {0, y / lowest_};
    const uint32_t exponent = ExponentOf(y);
    const float power = std::bit_cast<float>(exponent << kExponentShift);
    return {static_cast<int>(exponent) - (kLargestExponent / 2) + levels_, y / power - 1};
  }
  uint8_t CodeOf(float x, float norm, uint32_t draw) const {
    const Place place = PlaceOf(x, norm);
    constexpr auto kDraws = static_cast<float>(1 << cpu::kDrawBits);
    const int level = place.below + (static_cast<float>(draw) < place.above * kDraws);
    return static_cast<uint8_t>(x < 0 ? levels_ - level : levels_ + level);
  }

  int levels_;
  bool euclidean_;
  float lowest_;  // part of the norm
};

void NaturalDithering::Encode(std::span<const float> values, double, const CodecContext& context,
                              Bytes& out) const {
  const cpu::DrawSource source = DrawsOf(context);
  const auto count = static_cast<int64_t>(values.size());
  size_t scale_at = out.size();
  out.resize(out.size() + static_cast<size_t>(*SegmentBytes(count, 0)));
  size_t codes_at = scale_at + static_cast<size_t>(ScaleBytes() * Buckets(count));
  ForBuckets(0, count, [&](int64_t, int64_t first, int64_t size) {
    const auto bucket = values.subspan(first, size);
    const BucketScale scale = ScaleOf(bucket);
    StoreScale(scale, out.data() + scale_at);
    scale_at += static_cast<size_t>(ScaleBytes());
    std::array<uint32_t, cpu::kDrawWords> words;
    std::array<uint8_t, cpu::kDrawGroup> buffer;
    for (int64_t at = 0; at < size; at += cpu::kDrawGroup) {
      const auto group = bucket.subspan(at, std::min(cpu::kDrawGroup, size - at));
      const auto codes = std::span(buffer).first(group.size());
      std::ranges::fill(codes, static_cast<uint8_t>(levels_));
      if (scale.high > 0) {
        cpu::FillDraws(source, (first + at) / cpu::kDrawGroup, 1, words.data());
        for (size_t i = 0; i < group.size(); ++i) {
          const auto lane = static_cast<int>(i);
          const uint32_t draw =
              cpu::SliceOf(words.data(), lane / cpu::kDrawLanes, lane % cpu::kDrawLanes);
          codes[i] = CodeOf(group[i], scale.high, draw);
        }
      }
      const auto bytes = cpu::PackedBytes(static_cast<int64_t>(group.size()), Width(0));
      cpu::PackCodes(codes, Width(0), std::span(out).subspan(codes_at, bytes));
      codes_at += static_cast<size_t>(bytes);
    }
  });
}

// The squared error between neighbouring levels a and b is (x - a)(b - x).
double NaturalDithering::SquaredError(std::span<const float> values, double) const {
  double error = 0;
  ForBuckets(0, std::ssize(values), [&](int64_t, int64_t first, int64_t size) {
    const auto bucket = values.subspan(first, size);
    const double norm = ScaleOf(bucket).high;
    for (const float value : bucket) {
      const double x = std::abs(double{value});
      if (norm == 0) {
        error += x * x;
        continue;
      }
      const Place place = PlaceOf(value, static_cast<float>(norm));
      const auto level = [&](int l) { return l == 0 ? 0 : std::ldexp(norm, l - levels_); };
      const double above = place.below == levels_ ? x : level(place.below + 1);
      error += (x - level(place.below)) * (above - x);
    }
  });
  return error;
}

}  // namespace

std::vector<OptionSpec> NaturalDitheringOptions() {
  return {{"levels", "8", "1 to 60",
           "with form=dithering, number of magnitudes above zero, each half of the next"},
          {"bucket", "512", "multiples of 64, up to 1048576, or unit",
           "with form=dithering, number of consecutive values that share a norm"},
          {"norm", "max", "max, l2", "with form=dithering, norm of a bucket, its highest level"}};
}

std::unique_ptr<Quantiser> MakeNaturalDithering(const OptionReader& options) {
  constexpr std::string_view kNorms[] = {"max", "l2"};
  return std::make_unique<NaturalDithering>(
      ReadBucket(options), static_cast<int>(options.Integer("levels", 1, kMostDitheringLevels)),
      options.Choice("norm", kNorms) == 1);
}

}  // namespace legacy
