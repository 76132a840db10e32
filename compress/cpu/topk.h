// Exact Top-K of magnitudes on one core, fused with error feedback, in one pass over the data.
//
// A sample gives a bracket that almost surely holds the threshold (as sampled thresholds do in Lin
// et al., "Deep Gradient Compression", ICLR 2018, but here the result is exact); the pass compacts
// everything from the bracket's lower end on, in index order; the threshold is selected among those
// few elements. If fewer than k were compacted, the bracket missed: a histogram of all magnitudes
// gives one that cannot miss, and the pass is repeated. The pass also clears elements above the
// bracket's upper end in the residual, so that no second pass over it is needed.
//
// It reads 4 bytes per element; with error feedback it reads 8 and writes 4, the least possible. It
// is deterministic, and a function of the values alone: ties go to the lower index, whatever the
// bracket, tiles or instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/simd.h"
#include "compress/cpu/topk_gather.h"

namespace legacy::cpu {

// Statistics of a selection.
struct TopKStats {
  int64_t missed = 0;      // segments whose bracket missed; they cost a second and a third read
  int64_t candidates = 0;  // number of compacted elements
  // Position of the first NaN or infinity in the segments with k > 0. In that case the result holds
  // the largest keys, NaN above infinity, and error feedback has cleared nothing: the residual
  // holds e.
  std::optional<int64_t> non_finite;
};

// A part of a flat vector from which `k` elements are selected; 0 <= k <= length < 2^32. `hint` is
// a guess of the smallest selected magnitude, such as the last step's, and saves the sample; 0
// means no guess. It changes the time but never the result.
struct TopKSegment {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t k = 0;
  float hint = 0;
};

// Results of all segments, one after the other: the next k entries belong to the next segment,
// ascending, with indices counted from its offset. They are valid until the selector's next call.
struct TopKResult {
  std::span<const uint32_t> indices;
  std::span<const float> values;      // values at these indices
  std::span<const float> thresholds;  // smallest selected magnitude per segment; 0 if k is 0
  TopKStats stats;
};

// Selects with scratch memory that is reused. Two threads must not share a selector.
class TopKSelector {
 public:
  explicit TopKSelector(Simd simd = ActiveSimd()) : simd_(simd) {}

  // Selects from `values`.
  TopKResult Select(std::span<const float> values, std::span<const TopKSegment> segments);

  // Adds `gradient` to `residual` (e = g + r), selects from e, and clears selected elements in
  // `residual`. Elements outside all segments do not change. Segments must not overlap.
  TopKResult Compensate(std::span<const float> gradient, std::span<float> residual,
                        std::span<const TopKSegment> segments);

 private:
  struct Segment;

  TopKResult Run(std::span<const float> values, std::span<const float> gradient,
                 std::span<float> residual, std::span<const TopKSegment> segments);
  float SelectSegment(const Segment& segment, int64_t offset, float hint);
  KeyRange Bracket(const Segment& segment, float hint);
  void Collect(const Segment& segment, bool compensate, KeyRange& bracket);
  uint32_t Prune(const Segment& segment, KeyRange& bracket);
  void Restore(const Segment& segment, KeyRange& bracket);
  void ClearKept(const Segment& segment, KeyRange bracket);
  void Reserve(int64_t elements);
  void GrowScratch(int64_t elements);
  std::span<const float> Gathering() const {
    return {values_.get() + kept_, static_cast<size_t>(count_)};
  }

  Simd simd_;
  // [0, kept_) is the result so far; the current segment's gathered elements are the next count_.
  std::unique_ptr<uint32_t[]> indices_;
  std::unique_ptr<float[]> values_;
  int64_t capacity_ = 0;
  int64_t kept_ = 0;
  int64_t count_ = 0;
  std::vector<float> thresholds_;
  std::vector<float> sample_;
  std::vector<uint32_t> scratch_;
  TopKStats stats_;
};

// Returns the positions of the `k` largest |x|, ascending; 0 <= k <= values.size() < 2^32. NaN
// counts as larger than infinity.
std::vector<uint32_t> SelectTopK(std::span<const float> values, int64_t k);

// Returns the positions of the `count` largest of few values, such as norms, ascending. Ties go to
// the lower position.
std::vector<uint32_t> SelectLargest(std::span<const double> values, int64_t count);

// Returns also the values there, and whether any value is not finite, so that no check is needed
// before.
std::vector<uint32_t> SelectTopK(std::span<const float> values, int64_t k,
                                 std::vector<float>* kept_values, TopKStats* stats = nullptr,
                                 float hint = 0);

// Compensates and selects as TopKSelector::Compensate() does, for one segment.
std::vector<uint32_t> CompensateAndSelect(std::span<const float> gradient,
                                          std::span<float> residual, int64_t k,
                                          std::vector<float>* kept_values,
                                          TopKStats* stats = nullptr, float hint = 0);

// Sets values[i] = 0 at every position of `indices`.
void ClearAt(std::span<float> values, std::span<const uint32_t> indices);

}  // namespace legacy::cpu
