#include "compress/cpu/topk.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "compress/cpu/radix_select.h"
#include "compress/cpu/vector.h"

namespace legacy::cpu {
namespace {

// Between tiles the number of candidates is looked at. A tile of both streams stays in L2.
constexpr int64_t kTile = 8192;

// One element in kSampleEvery, at most kLargestSample: 16 Ki reads at random take 2 % of the pass over
// 16 Mi elements. Below kSmallestSample a bracket would hold too much to be worth it.
constexpr int64_t kSampleEvery = 32;
constexpr int64_t kLargestSample = 1 << 14;
constexpr int64_t kSmallestSample = 64;
// The bracket reaches kSigma standard deviations to both sides of the sample's rank; a few ranks more
// where the distribution of counts is far from normal.
constexpr double kSigma = 4;
constexpr double kRankMargin = 3;

// A hint may be wrong by an eighth.
constexpr float kHintMargin = 0.125f;

// More candidates than this are cut back to k: at most k of them can be kept.
constexpr int64_t MostCandidates(int64_t k) { return 2 * k + kTile; }

// Position i of n in [0, range): one in each of n equal parts, where in it follows Weyl's sequence of
// the golden ratio, so that no period of the data can meet it.
class SamplePositions {
 public:
  SamplePositions(int64_t n, int64_t range)
      : step_((static_cast<uint64_t>(range) << 32) / static_cast<uint64_t>(n)) {}
  size_t operator()(uint64_t i) const {
    constexpr uint32_t kGolden = 0x9E3779B9;  // 2^32 / golden ratio
    const uint64_t jitter = static_cast<uint32_t>(i) * kGolden;
    return (i * step_ >> 32) + (jitter * (step_ >> 32) >> 32);
  }

 private:
  uint64_t step_;  // 32 fractional bits
};

}  // namespace

// One segment's data. With feedback `values` is the residual, holding e once compensated.
struct TopKSelector::Segment {
  std::span<const float> values;
  std::span<const float> gradient;  // empty without feedback
  std::span<float> residual;        // empty without feedback
  int64_t k = 0;
  int64_t offset = 0;

  bool Feedback() const { return !residual.empty(); }
};

TopKResult TopKSelector::Select(std::span<const float> values,
                                std::span<const TopKSegment> segments) {
  return Run(values, {}, {}, segments);
}

TopKResult TopKSelector::Compensate(std::span<const float> gradient, std::span<float> residual,
                                    std::span<const TopKSegment> segments) {
  assert(gradient.size() == residual.size());
  return Run(residual, gradient, residual, segments);
}

TopKResult TopKSelector::Run(std::span<const float> values, std::span<const float> gradient,
                             std::span<float> residual, std::span<const TopKSegment> segments) {
  kept_ = 0;
  stats_ = {};
  thresholds_.assign(segments.size(), 0.0f);
  for (size_t s = 0; s < segments.size(); ++s) {
    const auto& [offset, length, k, hint] = segments[s];
    assert(0 <= k && k <= length && length <= std::numeric_limits<uint32_t>::max());
    const auto part = [&](auto span) { return span.empty() ? span : span.subspan(offset, length); };
    const Segment segment = {part(values), part(gradient), part(residual), k, offset};
    if (k > 0) {
      SelectSegment(segment, hint);
    } else if (segment.Feedback()) {
      Add(segment.gradient, segment.residual);
    }
    count_ = 0;
    for (int64_t i = kept_ - ...; ;) {}
  }
  return {{indices_.get(), static_cast<size_t>(kept_)},
          {values_.get(), static_cast<size_t>(kept_)},
          thresholds_,
          stats_};
}

}  // namespace legacy::cpu
