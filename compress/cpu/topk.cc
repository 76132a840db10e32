#include "compress/cpu/topk.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "compress/cpu/radix_select.h"
#include "compress/cpu/vector.h"

namespace legacy::cpu {
namespace {

// Candidates are counted between tiles. A tile of both streams stays in the first caches.
constexpr int64_t kTile = 8192;
// At most k candidates can be selected, so if there are more than this number they are cut to k.
constexpr int64_t MostCandidates(int64_t k) { return 2 * k + kTile; }

// The sample has one element in kSampleEvery within these bounds: each costs a cache miss, and
// saves candidates. With fewer elements than kFewElements, all are candidates.
constexpr int64_t kSampleEvery = 256;
constexpr int64_t kSmallestSample = 64;
constexpr int64_t kLargestSample = 1 << 14;
constexpr int64_t kFewElements = 2048;
// The bracket reaches this many standard deviations of the sampled rank to both sides, and a few
// ranks more for small ranks, whose distribution is skewed.
constexpr double kDeviations = 4;
constexpr double kMoreRanks = 3;

// A hint may be wrong by an eighth.
constexpr float kHintMargin = 0.125f;

std::vector<uint32_t> Copy(const TopKResult& result, std::vector<float>* kept_values,
                           TopKStats* stats) {
  if (kept_values) kept_values->assign(result.values.begin(), result.values.end());
  if (stats) *stats = result.stats;
  return {result.indices.begin(), result.indices.end()};
}

// Returns the position of sample i, one in each of equal parts of [0, n). Its offset in the part
// follows the multiples of the golden ratio, so that no period of the data can match it.
class SamplePositions {
 public:
  SamplePositions(int64_t n, int64_t samples)
      : step_((static_cast<uint64_t>(n) << 32) / static_cast<uint64_t>(samples)) {}
  size_t operator()(int64_t i) const {
    constexpr uint32_t kGolden = 0x9E3779B9;  // 2^32 / golden ratio
    const uint64_t jitter = static_cast<uint32_t>(i) * kGolden;
    return (static_cast<uint64_t>(i) * step_ >> 32) + (jitter * (step_ >> 32) >> 32);
  }

 private:
  uint64_t step_;  // step with 32 fractional bits
};

}  // namespace

// Data of one segment. With feedback, `values` is the residual, which holds e once compensated.
struct TopKSelector::Segment {
  std::span<const float> values;
  std::span<const float> gradient;  // empty without feedback
  std::span<float> residual;        // empty without feedback
  int64_t k = 0;

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
    const auto [offset, length, k, hint] = segments[s];
    assert(0 <= k && k <= length && length <= std::numeric_limits<uint32_t>::max());
    Segment segment = {values.subspan(offset, length), {}, {}, k};
    if (!residual.empty()) {
      segment.gradient = gradient.subspan(offset, length);
      segment.residual = residual.subspan(offset, length);
    }
    if (k > 0) {
      thresholds_[s] = SelectSegment(segment, offset, hint);
    } else if (segment.Feedback()) {
      Add(segment.gradient, segment.residual, simd_);
    }
  }
  const auto total = static_cast<size_t>(kept_);
  return {{indices_.get(), total}, {values_.get(), total}, thresholds_, stats_};
}

float TopKSelector::SelectSegment(const Segment& segment, int64_t offset, float hint) {
  KeyRange bracket = Bracket(segment, hint);
  Collect(segment, segment.Feedback(), bracket);
  if (count_ < segment.k) {
    ++stats_.missed;
    Restore(segment, bracket);
    const auto key = [&](int64_t i) { return KeyOf(segment.values[i]); };
    const auto n = static_cast<int64_t>(segment.values.size());
    bracket.low = Narrow(n, key, {}, segment.k).range.low;
    Collect(segment, false, bracket);
  }
  const uint32_t smallest = Prune(segment, bracket);
  // Values that are not finite have the largest keys, so if there are any, one was selected.
  if (KeyOf(AbsMax(Gathering(), simd_)) >= kInfinityKey) {
    Restore(segment, bracket);
    if (!stats_.non_finite) stats_.non_finite = offset + *FirstNonFinite(segment.values, simd_);
  } else if (segment.Feedback()) {
    ClearKept(segment, bracket);
  }
  kept_ += segment.k;
  return std::bit_cast<float>(smallest);
}

KeyRange TopKSelector::Bracket(const Segment& segment, float hint) {
  if (hint > 0) return {KeyOf(hint * (1 - kHintMargin)), KeyOf(hint * (1 + kHintMargin))};
  const auto n = static_cast<int64_t>(segment.values.size());
  if (n < kFewElements) return {};
  const int64_t samples = std::clamp(n / kSampleEvery, kSmallestSample, kLargestSample);
  sample_.resize(samples);
  const SamplePositions position(n, samples);
  for (int64_t i = 0; i < samples; ++i) sample_[i] = segment.values[position(i)];
  if (segment.Feedback()) {
    for (int64_t i = 0; i < samples; ++i) sample_[i] += segment.gradient[position(i)];
  }
  const double density = static_cast<double>(segment.k) / static_cast<double>(n);
  const double rank = density * static_cast<double>(samples);
  const double reach = kDeviations * std::sqrt(rank * (1 - density)) + kMoreRanks;
  const auto lowest = static_cast<int64_t>(std::ceil(rank + reach));
  const auto highest = static_cast<int64_t>(std::floor(rank - reach));
  KeyRange bracket;
  if (lowest <= samples) bracket.low = FindCut(sample_, {}, lowest, scratch_).key;
  if (highest >= 1) bracket.high = FindCut(sample_, {}, highest, scratch_).key;
  return bracket;
}

// Gathers everything in and above the bracket, except elements that cannot be selected any more.
void TopKSelector::Collect(const Segment& segment, bool compensate, KeyRange& bracket) {
  const auto n = static_cast<int64_t>(segment.values.size());
  Reserve(std::min(n, MostCandidates(segment.k) + kTile) + kGatherSlack);
  count_ = 0;
  uint32_t floor = bracket.low;
  for (int64_t begin = 0; begin < n; begin += kTile) {
    if (count_ > MostCandidates(segment.k)) {
      // Elements equal to the smallest of k gathered ones lose the tie, because their index is
      // higher.
      floor = Prune(segment, bracket) + 1;
    }
    const int64_t size = std::min(kTile, n - begin);
    const auto first = static_cast<uint32_t>(begin);
    const Gathered out = {indices_.get() + kept_ + count_, values_.get() + kept_ + count_};
    const int64_t found =
        compensate ? GatherCompensated(simd_, segment.gradient.subspan(begin, size),
                                       segment.residual.subspan(begin, size), first,
                                       {floor, bracket.high}, out)
                   : Gather(simd_, segment.values.subspan(begin, size), first, floor, out);
    count_ += found;
    stats_.candidates += found;
  }
}

// Reduces the gathered elements to the k largest, in order, and returns their smallest key.
uint32_t TopKSelector::Prune(const Segment& segment, KeyRange& bracket) {
  Cut cut = FindCut(Gathering(), bracket, segment.k, scratch_);
  // If more than k are above the bracket, the pass has cleared too much.
  if (cut.key > bracket.high) Restore(segment, bracket);
  uint32_t* indices = indices_.get() + kept_;
  float* values = values_.get() + kept_;
  // Values move to the front in place; none is overwritten before it is read.
  GrowScratch(count_ + kGatherSlack);
  count_ = Gather(simd_, Gathering(), 0, cut.key, {scratch_.data(), values});
  for (int64_t i = 0; i < count_; ++i) indices[i] = indices[scratch_[i]];
  if (count_ == segment.k) return cut.key;

  int64_t left = 0;  // there are more ties than places
  for (int64_t i = 0; i < count_; ++i) {
    indices[left] = indices[i];
    values[left] = values[i];
    left += KeyOf(values[i]) > cut.key || cut.ties-- > 0;
  }
  count_ = left;
  assert(count_ == segment.k);
  return cut.key;
}

// Restores what the pass has cleared; from then on it clears nothing.
void TopKSelector::Restore(const Segment& segment, KeyRange& bracket) {
  for (int64_t i = kept_; segment.Feedback() && i < kept_ + count_; ++i) {
    if (KeyOf(values_[i]) > bracket.high) segment.residual[indices_[i]] = values_[i];
  }
  bracket.high = kLargestKey;
}

// Clears selected elements inside the bracket, which the pass has left.
void TopKSelector::ClearKept(const Segment& segment, KeyRange bracket) {
  const std::span<const uint32_t> kept(indices_.get() + kept_, static_cast<size_t>(count_));
  if (bracket.high == kLargestKey) return ClearAt(segment.residual, kept);
  GrowScratch(segment.k + 1);
  size_t left = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    scratch_[left] = kept[i];
    left += KeyOf(values_[kept_ + i]) <= bracket.high;
  }
  ClearAt(segment.residual, std::span(scratch_).first(left));
}

void TopKSelector::GrowScratch(int64_t elements) {
  if (static_cast<int64_t>(scratch_.size()) < elements) scratch_.resize(elements);
}

// Makes room for `elements` after the selected ones.
void TopKSelector::Reserve(int64_t elements) {
  if (kept_ + elements <= capacity_) return;
  capacity_ = std::max(kept_ + elements, 2 * capacity_);
  auto indices = std::make_unique_for_overwrite<uint32_t[]>(capacity_);
  auto values = std::make_unique_for_overwrite<float[]>(capacity_);
  std::copy_n(indices_.get(), kept_, indices.get());
  std::copy_n(values_.get(), kept_, values.get());
  indices_ = std::move(indices);
  values_ = std::move(values);
}

std::vector<uint32_t> SelectLargest(std::span<const double> values, int64_t count) {
  assert(count >= 0 && count <= std::ssize(values));
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::nth_element(order, order.begin() + count, [&](uint32_t a, uint32_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  order.resize(static_cast<size_t>(count));
  std::ranges::sort(order);
  return order;
}

std::vector<uint32_t> SelectTopK(std::span<const float> values, int64_t k) {
  return SelectTopK(values, k, nullptr);
}

std::vector<uint32_t> SelectTopK(std::span<const float> values, int64_t k,
                                 std::vector<float>* kept_values, TopKStats* stats, float hint) {
  TopKSelector selector;
  const TopKSegment all = {0, static_cast<int64_t>(values.size()), k, hint};
  return Copy(selector.Select(values, {&all, 1}), kept_values, stats);
}

std::vector<uint32_t> CompensateAndSelect(std::span<const float> gradient,
                                          std::span<float> residual, int64_t k,
                                          std::vector<float>* kept_values, TopKStats* stats,
                                          float hint) {
  TopKSelector selector;
  const TopKSegment all = {0, static_cast<int64_t>(residual.size()), k, hint};
  return Copy(selector.Compensate(gradient, residual, {&all, 1}), kept_values, stats);
}

void ClearAt(std::span<float> values, std::span<const uint32_t> indices) {
  for (const uint32_t index : indices) values[index] = 0.0f;
}

}  // namespace legacy::cpu
