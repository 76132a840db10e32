// RedSync has a method for each of three sizes of layers. Small layers are sent whole. Medium ones
// send the Top-K: the paper lowers a threshold until at least k survive and takes the exact Top-K
// of those, which is the Top-K of all. For large ones it searches a threshold mean + t (max - mean)
// of the magnitudes with k <= selected < 2k by bisection of t in [0, 1], and uses it for several
// steps.
//
// A probe asks only whether fewer than k, or at least 2k, magnitudes reach a threshold. The bins of
// a magnitude histogram that hold the k-th and the 2k-th answer it. If the threshold lies in such a
// bin too, that bin's magnitudes are gathered and compared, so that all answers are exact. The
// search costs three to five passes of 4 bytes per element, whatever the number of probes. If it
// ends without such a threshold (k elements above the mean do not exist, ties, a constant layer)
// the exact Top-K is sent. While a threshold is reused, the number selected depends on the data and
// can be anything from none to all.
//
// compatible=on follows the public implementations: it selects what is above (not at) the
// threshold, stops only strictly between k and 2k, lowers only below k/2, uses the last probe when
// the interval is below eps (their 0.2: three probes) and has no fallback, so that it may send far
// less or more than requested, and sends nothing of a constant layer.
//
// With `quantised`, even steps send only positive elements, odd ones only negative ones, and all
// values are replaced by their mean; the other sign counts as zeros. The residual keeps value -
// mean. Thresholds are stored for each sign.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "compress/checks.h"
#include "compress/cpu/histogram.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/sparsifier.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
namespace {

struct RedSyncOptions {
  double eps = 1e-6;  // relative to max - mean
  bool compatible = false;
  bool quantised = false;
  int64_t reuse = 5;  // number of steps that use a threshold
  int64_t small = 0;  // bytes of fp32 values, as is `large`
  int64_t large = 0;
};

// Answers probes by magnitudes of given ranks; rank 1 is the largest.
class Ranks {
 public:
  Ranks(std::span<const float> values, uint32_t unit)
      : values_(values), unit_(unit), curve_(cpu::MagnitudeCurve::Of(values)) {
    if (curve_.NonFinite() > 0) CheckFinite(values, unit);
    max_ = cpu::AbsMax(values);
  }
  // Returns the threshold at fraction t of the way from the mean to the largest magnitude.
  float Threshold(double t) const {
    return static_cast<float>(curve_.Mean() + t * (max_ - curve_.Mean()));
  }
  // Returns true if at least `rank` magnitudes reach `threshold`.
  bool Reaches(int64_t rank, float threshold) {
    if (rank <= 0) return true;
    if (rank > curve_.Count()) return false;
    const auto bin = curve_.BinOf(rank);
    if (bin.low >= threshold) return true;
    if (bin.high <= threshold) return false;
    return Magnitude(rank, bin) >= threshold;
  }

 private:
  float Magnitude(int64_t rank, const cpu::MagnitudeCurve::Edges& bin) {
    std::vector<float>& gathered = gathered_[bin.low];
    if (gathered.empty()) {
      for (const float x : SelectAtLeast(values_, static_cast<float>(bin.low), unit_).values) {
        if (std::abs(x) < bin.high) gathered.push_back(std::abs(x));
      }
      std::ranges::sort(gathered, std::greater<>());
    }
    return gathered[rank - 1 - static_cast<int64_t>(curve_.Above(bin.high).count)];
  }

  std::span<const float> values_;
  uint32_t unit_;
  cpu::MagnitudeCurve curve_;
  double max_ = 0;
  std::map<double, std::vector<float>> gathered_;  // about two bins, by lower edge; sorted
};

class RedSync : public Sparsifier {
 public:
  explicit RedSync(const RedSyncOptions& options) : options_(options) {}
  std::string_view Name() const override { return "redsync"; }
  CodecId Id() const override { return CodecId::kRedSync; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  SparsifierTraits Traits() const override {
    return {.fixed_count = false, .own_quantiser = options_.quantised ? "mean" : ""};
  }
  bool SendsWhole(int64_t numel) const override {
    return static_cast<int64_t>(sizeof(float)) * numel < options_.small;
  }
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override;

 private:
  bool IsLarge(int64_t numel) const {
    return static_cast<int64_t>(sizeof(float)) * numel > options_.large;
  }
  // Returns the stored threshold for this step; null if there is none.
  static double* Reused(const CodecContext& context, size_t memory) {
    if (context.state == nullptr) return nullptr;
    double* const state = context.state->numbers.data() + 3 * memory;
    return state[1] > 0 && state[2] == context.parameter ? state : nullptr;
  }
  Selection OfMagnitudes(std::span<const float> values, int64_t count, size_t memory,
                         const CodecContext& context) const;
  std::optional<float> Search(Ranks& ranks, int64_t k) const;
  float SearchAsPublished(Ranks& ranks, int64_t k) const;

  RedSyncOptions options_;
};

Selection RedSync::Select(std::span<const float> values, int64_t count,
                          const CodecContext& context) const {
  const auto numel = static_cast<int64_t>(values.size());
  const bool whole = SendsWhole(numel) && count == numel;
  if (whole || numel == 0) return SelectAtLeast(values, 0, context.unit);
  if (!options_.quantised) return OfMagnitudes(values, count, 0, context);
  CheckFinite(values, context.unit);
  const bool negative = context.random.step % 2 == 1;
  std::vector<float> one_sign(values.begin(), values.end());
  for (float& x : one_sign) x = (negative ? x < 0 : x > 0) ? x : 0.0f;
  Selection selection = OfMagnitudes(one_sign, count, negative ? 1 : 0, context);
  Selection signed_ones;
  for (size_t i = 0; i < selection.values.size(); ++i) {
    if (selection.values[i] == 0) continue;
    signed_ones.positions.push_back(selection.positions[i]);
    signed_ones.values.push_back(selection.values[i]);
  }
  return signed_ones;
}

// Returns the work of selection. A quantised message holds values of one sign, so a pass first sets
// those of the other sign to zero.
WorkList RedSync::EncodeWork(int64_t numel, const CodecContext& context) const {
  WorkList work;
  if (options_.quantised) work.push_back({"copy", numel});
  if (!IsLarge(numel)) {
    AddWork(TopKWork(numel), work);
    return work;
  }
  const bool negative = options_.quantised && context.random.step % 2 == 1;
  const bool due = Reused(context, negative ? 1 : 0) == nullptr;
  work.push_back({due ? "redsync.encode" : "threshold.encode", numel});
  return work;
}

// Stores the threshold in use as {threshold, number of further steps, density} at 3 * memory of the
// state's numbers.
Selection RedSync::OfMagnitudes(std::span<const float> values, int64_t count, size_t memory,
                                const CodecContext& context) const {
  if (!IsLarge(static_cast<int64_t>(values.size()))) {
    return SelectLargest(values, count, context.unit);
  }
  double* state = context.state ? context.state->numbers.data() + 3 * memory : nullptr;
  if (double* const reused = Reused(context, memory)) {
    reused[1] -= 1;
    return SelectAtLeast(values, static_cast<float>(reused[0]), context.unit);
  }
  Ranks ranks(values, context.unit);
  const std::optional<float> threshold =
      options_.compatible ? SearchAsPublished(ranks, count) : Search(ranks, count);
  if (state) {
    state[0] = threshold.value_or(0);
    state[1] = threshold ? static_cast<double>(options_.reuse - 1) : 0;
    state[2] = context.parameter;
  }
  return threshold ? SelectAtLeast(values, *threshold, context.unit)
                   : SelectLargest(values, count, context.unit);
}

// Returns a threshold with k <= selected < 2k.
std::optional<float> RedSync::Search(Ranks& ranks, int64_t k) const {
  double low = 0, high = 1;
  while (high - low > options_.eps) {
    const double t = low + (high - low) / 2;
    const float threshold = ranks.Threshold(t);
    if (!ranks.Reaches(k, threshold)) {
      high = t;
    } else if (ranks.Reaches(2 * k, threshold)) {
      low = t;
    } else {
      return threshold;
    }
  }
  return std::nullopt;
}

// Searches as the public implementations do. Selecting above a threshold means to reach the next
// number.
float RedSync::SearchAsPublished(Ranks& ranks, int64_t k) const {
  double low = 0, high = 1;
  const auto above = [&](double t) {
    return std::nextafter(ranks.Threshold(t), std::numeric_limits<float>::max());
  };
  float threshold = above(1);
  while (high - low > options_.eps) {
    const double t = low + (high - low) / 2;
    threshold = above(t);
    if (ranks.Reaches(k + 1, threshold) && !ranks.Reaches(2 * k, threshold)) break;
    const bool below_half = !ranks.Reaches((k + 1) / 2, threshold);
    (below_half ? high : low) = t;
  }
  return threshold;
}

RedSyncOptions ReadOptions(const OptionReader& reader) {
  return {.eps = reader.Number("eps", 1e-12, 1),
          .compatible = reader.Switch("compatible"),
          .quantised = reader.Switch("quantised"),
          .reuse = reader.Integer("reuse", 1, 1000000),
          .small = reader.Integer("small", 0, 4 * kMaxUnitElements),
          .large = reader.Integer("large", 0, 4 * kMaxUnitElements)};
}

}  // namespace

SparsifierRow RedSyncRow() {
  return {
      {.name = "redsync",
       .help = "sends small units whole, the largest magnitudes of medium ones, and all above a "
               "threshold found by bisection of large ones",
       .paper = "Fang et al., RedSync: Reducing Synchronization Bandwidth for Distributed Deep "
                "Learning Training System, JPDC 2019",
       .options = {{"eps", "1e-6", "1e-12 to 1",
                    "width of the interval at which the bisection stops"},
                   {"compatible", "off", "on, off",
                    "search for the threshold as the public implementations do (they use eps=0.2)"},
                   {"quantised", "off", "on, off",
                    "send values of one sign per step, replaced by their mean"},
                   {"reuse", "5", "1 to 1000000", "number of steps that reuse a threshold"},
                   {"small", "131072", "0 to 17179869180",
                    "size in bytes below which a unit is sent whole"},
                   {"large", "4194304", "0 to 17179869180",
                    "size in bytes above which a threshold is searched for"}}},
      [](const OptionReader& reader) -> std::unique_ptr<Sparsifier> {
        return std::make_unique<RedSync>(ReadOptions(reader));
      }};
}

}  // namespace legacy
