// int rounds to integers of b bits: code = clamp(round(x q), -2^(b-1), 2^(b-1) - 1) with
// q = 2^(b-1) / max |x| of a bucket. These are the symmetric blocks of ZeRO++ (Wang et al., ZeRO++:
// Extremely Efficient Collective Communication for Giant Model Training, ICLR 2024) and SDP4Bit.
// The largest positive value is clamped, so that at 4 bits it loses an eighth of itself; with
// range=narrow, q = (2^(b-1) - 1) / max |x|, it does not.
//
// The scale of a bucket is f32 max |x|; code c is stored as c + 2^(b-1), and as c + 2^(b-1) - 1
// with range=narrow.
//
// With smooth=on each 32 values are multiplied by a Hadamard matrix of +-1 before, and the decoded
// ones by it and 1/32, so that one large value is shared by 32 (SDP4Bit's TLq-HS). Values after the
// last 32 stay as they are. The transform is charged as a second pass of the quantiser.
//
// Error feedback: a value errs by at most max / 2^(b-1), which is what clamping takes from the
// largest one, and at most half of max with the 2 bits that are the least. So residuals stay
// bounded.
#include <algorithm>
#include <cmath>
#include <vector>

#include "compress/codec.h"
#include "compress/cpu/rotation.h"
#include "compress/cpu/vector.h"
#include "compress/quantiser.h"
#include "compress/quantisers/bucketed.h"

namespace legacy {
namespace {

constexpr int kIntegerLeastBits = 2;

// Number of values that are decoded and then transformed.
constexpr int64_t kFromCache = 4096;
static_assert(kFromCache % cpu::kHadamardGroup == 0);

class Integer : public BucketedQuantiser {
 public:
  Integer(Settings settings, bool narrow, bool smooth)
      : BucketedQuantiser(std::move(settings)), narrow_(narrow), smooth_(smooth) {}
  std::string_view Name() const override { return "int"; }
  ValueType Type() const override {
    return static_cast<ValueType>(narrow_ ? ElementFormat::kNarrowInteger
                                          : ElementFormat::kInteger);
  }
  bool KeepsZeros() const override { return !smooth_; }
  bool AllowsErrorFeedback(double) const override { return true; }
  // It reads and writes as max-min does.
  std::string_view KernelName() const override { return "maxmin"; }

  Work EncodeWork(int64_t count, double parameter) const override {
    return Passes(BucketedQuantiser::EncodeWork(count, parameter));
  }
  Work DecodeWork(int64_t count, double parameter) const override {
    return Passes(BucketedQuantiser::DecodeWork(count, parameter));
  }
  void DecodePart(ByteSpan segment, int64_t count, double bits, int64_t begin,
                  std::span<float> values) const override {
    if (!smooth_) return BucketedQuantiser::DecodePart(segment, count, bits, begin, values);
    for (int64_t at = 0; at < std::ssize(values); at += kFromCache) {
      const auto part = values.subspan(at, std::min(kFromCache, std::ssize(values) - at));
      BucketedQuantiser::DecodePart(segment, count, bits, begin + at, part);
      cpu::HadamardGroups(part, 1.0f / cpu::kHadamardGroup, part);
    }
  }

  double SquaredError(std::span<const float> given, double parameter) const override {
    const int bits = BitsOf(parameter);
    const int centre = Centre(bits);
    std::vector<float> room;
    const std::span<const float> values = Rounded(given, room);
    // Errors of transformed values are 32 times those of the values.
    const int64_t transformed =
        smooth_ ? std::ssize(values) / cpu::kHadamardGroup * cpu::kHadamardGroup : 0;
    double error = 0;
    ForBuckets(0, std::ssize(values), [&](int64_t, int64_t first, int64_t size) {
      const auto bucket = values.subspan(static_cast<size_t>(first), static_cast<size_t>(size));
      const double max = cpu::AbsMax(bucket);
      if (max == 0) return;
      const double step = max / centre;
      for (int64_t i = 0; i < size; ++i) {
        const double x = bucket[static_cast<size_t>(i)] / step;
        const double y = std::min(x, static_cast<double>(LargestCode(bits) - centre));
        const double p = y - std::floor(y);
        const double rounded =
            settings().stochastic ? p * (1 - p) : std::min(p, 1 - p) * std::min(p, 1 - p);
        const double squares = ((x - y) * (x - y) + rounded) * step * step;
        error += first + i < transformed ? squares / cpu::kHadamardGroup : squares;
      }
    });
    return error;
  }

 protected:
  int Numbers() const override { return 1; }
  int LargestCode(int bits) const override { return (1 << bits) - (narrow_ ? 2 : 1); }
  int FlatCode(int bits) const override { return Centre(bits); }
  std::span<const float> Rounded(std::span<const float> bucket,
                                 std::vector<float>& room) const override {
    if (!smooth_) return bucket;
    room.resize(bucket.size());
    cpu::HadamardGroups(bucket, 1, room);
    return room;
  }
  BucketScale ScaleOf(std::span<const float> values) const override {
    return {.low = 0, .high = cpu::AbsMax(values)};
  }
  std::optional<cpu::CodeGrid> GridOf(const BucketScale& scale, int bits) const override {
    if (scale.high == 0) return std::nullopt;
    cpu::CodeGrid grid = cpu::SymmetricGrid(scale.high, Centre(bits), settings().stochastic);
    if (narrow_) return grid;
    grid.prepared = true;
    const float largest = cpu::ScaleBelow(
        cpu::StepsOf(LargestCode(bits) - Centre(bits), settings().stochastic), grid.scale);
    grid.high = largest / grid.factor;  // a power of two
    return grid;
  }
  bool IsScale(const BucketScale& scale) const override {
    return std::isfinite(scale.high) && !std::signbit(scale.high);
  }
  void DecodeBucket(std::span<const uint8_t> codes, const BucketScale& scale, int bits,
                    std::span<float> values) const override {
    cpu::DecodeSymmetric(codes, scale.high, Centre(bits), values);
  }
  double Origin(const BucketScale& scale, int) const override { return -double{scale.high}; }
  double Step(const BucketScale& scale, int bits) const override {
    return double{scale.high} / Centre(bits);
  }

 private:
  Work Passes(Work work) const {
    if (smooth_) work.elements *= 2;
    return work;
  }
  // Returns the code of zero, which is also the code of max |x| less that of zero.
  int Centre(int bits) const { return (1 << (bits - 1)) - (narrow_ ? 1 : 0); }

  bool narrow_;
  bool smooth_;
};

}  // namespace

QuantiserRow IntegerRow() {
  std::vector<OptionSpec> options = BucketOptions("8", "nearest", kIntegerLeastBits);
  options.push_back({"range", "full", "full, narrow",
                     "full: all 2^bits codes, of which the largest clamps the largest value; "
                     "narrow: one less, and nothing is clamped"});
  options.push_back(
      {"smooth", "off", "on, off", "multiply each 32 values by a Hadamard matrix before rounding"});
  return {{.name = "int",
           .help = "rounds to integers of a few bits, times the largest magnitude of each bucket",
           .paper = "Wang et al., ZeRO++: Extremely Efficient Collective Communication for Giant "
                    "Model Training, ICLR 2024",
           .options = options},
          [](const OptionReader& options) -> std::unique_ptr<Quantiser> {
            constexpr std::string_view kRanges[] = {"full", "narrow"};
            return std::make_unique<Integer>(ReadBucketOptions(options, kIntegerLeastBits),
                                             options.Choice("range", kRanges) == 1,
                                             options.Switch("smooth"));
          }};
}

}  // namespace legacy
