// Sampled threshold of Deep Gradient Compression, with the rules of its authors' code. The k-th
// magnitude is estimated on a strided sample with a random start, corrected if it selects far too
// many or too few elements, and the selection is cut to k by position, lowest first. At most k
// values are therefore sent, and they are not always the largest.
//
//   samples    sample of n, at least ceil(2 / density), or all n if there are no more
//   threshold  the smallest of the sample's top ceil(samples density) magnitudes
//   > 1.3 k    the exact Top-K of the selection
//   < 0.8 k    threshold *= 0.8, up to 10 times
//
// Each threshold tried takes one pass of 4 bytes per element, besides the sample. Density is k / n
// here: of the whole unit, or of the selection of a looser density.
#include "compress/sparsifiers/sampled.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "compress/checks.h"
#include "compress/density.h"
#include "compress/sparsifier.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
namespace {

class Sampled : public Sparsifier {
 public:
  explicit Sampled(double sample) : sample_(sample) {}
  std::string_view Name() const override { return "sampled"; }
  CodecId Id() const override { return CodecId::kSampled; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  SparsifierTraits Traits() const override { return {.fixed_count = false}; }
  std::optional<SparsifierSetting> Setting() const override {
    return SparsifierSetting{.kind = SparsifierKind::kSampled, .sample = sample_};
  }
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override;

 private:
  float Threshold(std::span<const float> values, int64_t count, const CodecContext& context) const;

  double sample_;
};

// Returns the probability that a threshold that is the t-th magnitude of a sample selects far too
// many elements. In that case fewer than t of the sample are above the magnitude that would select
// kTooMany times the count, and their number is about Poisson distributed.
double ProbabilityOfTooMany(int64_t t) {
  const double mean = SampledRule::kTooMany * static_cast<double>(t);
  double term = std::exp(-mean), sum = 0;
  for (int64_t i = 0; i < t && term > 0; ++i) {
    sum += term;
    term *= mean / static_cast<double>(i + 1);
  }
  return sum;
}

// Counts a sector of 32 bytes for each value of the sample, and the expected cost of a second
// Top-K. Units that need the second Top-K with a probability above kSome add a launch to a model's
// set of launches.
WorkList Sampled::EncodeWork(int64_t numel, const CodecContext& context) const {
  constexpr double kSome = 0.1;
  const int64_t count = KeptCount(numel, context.parameter);
  WorkList work = {{"sampled.encode", numel}};
  if (count >= numel) return work;
  const StridedSample sample = SampleOf(sample_, numel, count, {});
  AddWork(Moved(32 * std::min(sample.size, numel / 8)), work);
  if (sample.stride == 1) return work;
  const double again = ProbabilityOfTooMany(TopOfSample(sample, numel, count));
  work.push_back({.kernel = "topk.encode",
                  .elements = static_cast<int64_t>(again * static_cast<double>(numel)),
                  .launches = again > 0.5 ? 1 : 0,
                  .sets = again > kSome ? 1 : 0});
  return work;
}

float Sampled::Threshold(std::span<const float> values, int64_t count,
                         const CodecContext& context) const {
  const auto numel = static_cast<int64_t>(values.size());
  const StridedSample rule = SampleOf(sample_, numel, count, context);
  std::vector<float> sample;
  for (int64_t i = rule.first; i < numel; i += rule.stride) sample.push_back(values[i]);
  return SmallestMagnitude(SelectLargest(sample, TopOfSample(rule, numel, count), context.unit));
}

Selection Sampled::Select(std::span<const float> values, int64_t count,
                          const CodecContext& context) const {
  CheckFinite(values, context.unit);
  if (count >= static_cast<int64_t>(values.size())) return SelectAtLeast(values, 0, context.unit);
  float threshold = Threshold(values, count, context);
  Selection selection = SelectAtLeast(values, threshold, context.unit);
  const auto selected = [&] { return std::ssize(selection.positions); };
  for (int tried = 0; tried < SampledRule::kTries && SampledRule::TooFew(selected(), count);
       ++tried) {
    threshold *= SampledRule::kLower;
    selection = SelectAtLeast(values, threshold, context.unit);
  }
  if (SampledRule::TooMany(selected(), count)) {
    return Within(selection, SelectLargest(selection.values, count, context.unit));
  }
  const size_t kept = std::min(selection.positions.size(), static_cast<size_t>(count));
  selection.positions.resize(kept);
  selection.values.resize(kept);
  return selection;
}

}  // namespace

// Strides are odd (1 modulo 8), so that they do not coincide with the rows of a tensor.
StridedSample SampleOf(double share, int64_t numel, int64_t count, const CodecContext& context) {
  const auto all = static_cast<double>(numel);
  const double density = static_cast<double>(count) / all;
  const auto wanted =
      static_cast<int64_t>(std::max(std::ceil(share * all), std::ceil(2 / density)));
  StridedSample sample;
  sample.stride = std::max<int64_t>(1, numel / wanted);
  sample.stride -= (sample.stride - 1) % 8;
  RandomKey key = context.random;
  key.layer = context.unit;
  key.purpose = Purpose::kSample;
  sample.first = RandomStream(key).Below(static_cast<uint32_t>(sample.stride));
  sample.size = (numel - sample.first + sample.stride - 1) / sample.stride;
  return sample;
}

int64_t TopOfSample(const StridedSample& sample, int64_t numel, int64_t count) {
  const double density = static_cast<double>(count) / static_cast<double>(numel);
  const double top = density * static_cast<double>(sample.size);
  // Rounding of the product is allowed for.
  return static_cast<int64_t>(std::ceil(top - 1e-9 * top));
}

SparsifierRow SampledRow() {
  return {{.name = "sampled",
           .help = "sends the magnitudes above a threshold that is estimated from a sample",
           .paper = "Lin et al., Deep Gradient Compression, ICLR 2018",
           .options = {{"sample", "0.01", "0 to 1", "fraction of the elements in the sample"}}},
          [](const OptionReader& options) -> std::unique_ptr<Sparsifier> {
            return std::make_unique<Sampled>(options.Number("sample", 0, 1));
          }};
}

}  // namespace legacy
