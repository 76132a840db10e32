// Exact Top-K of magnitudes on one core is fused with error feedback, in one pass over the data.
//
// A sample gives a bracket that almost surely holds the threshold (as sampled thresholds do in Lin
// et al., "Deep Gradient Compression", ICLR 2018, but here the result is exact); the pass
// compacts everything from the bracket's lower end on, in index order; the threshold is selected
// among those few. Where fewer than k were compacted the bracket missed: a histogram of all
// magnitudes gives one that cannot, and the pass is repeated. Elements above the bracket's upper
// end are cleared in the residual on the way, so that no second pass over it is needed.
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

// TopKStats say what a selection was like.
struct TopKStats {
  int64_t missed = 0;      // segments whose bracket missed; they cost a second and a third read
  int64_t candidates = 0;  // elements that were compacted
  // The first NaN or infinity of the segments with k > 0. There the result holds the largest keys,
  // NaN above infinity, and error feedback has cleared nothing: the residual holds e.
  std::optional<int64_t> non_finite;
};

// Part of a flat vector from which `k` elements are kept; 0 <= k <= length < 2^32. `hint` is a
// guess of the smallest kept magnitude, as the last step's, and saves the sample; 0: none. It costs
// or saves time and never changes the result.
struct TopKSegment {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t k = 0;
  float hint = 0;
};

// A TopKResult is of all segments, one after the other: the next k entries are a segment's,
// ascending, with indices counted from its offset. It is valid until the selector's next call.
struct TopKResult {
  std::span<const uint32_t> indices;
  std::span<const float> values;      // at these indices
  std::span<const float> thresholds;  // smallest kept magnitude of each segment; 0 where k is 0
  TopKStats stats;
};

// A TopKSelector selects. The object is scratch memory that is reused, and not for two threads at a
// time.
class TopKSelector {
 public:
  explicit TopKSelector(Simd simd = ActiveSimd()) : simd_(simd) {}

  // Selects from `values`.
  TopKResult Select(std::span<const float> values, std::span<const TopKSegment> segments);

  // Adds `gradient` to `residual` (e = g + r), selects from e, and clears in `residual` what was
  // selected. Elements outside all segments stay as they are. Segments do not overlap.
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
  // [0, kept_) is the result so far, and the next count_ are what the current segment has gathered.
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

// Returns also the values there, and whether any value is not finite: no check has to go before.
std::vector<uint32_t> SelectTopK(std::span<const float> values, int64_t k,
                                 std::vector<float>* kept_values, TopKStats* stats = nullptr,
                                 float hint = 0);

// Does what TopKSelector::Compensate() does, for one segment.
std::vector<uint32_t> CompensateAndSelect(std::span<const float> gradient,
                                          std::span<float> residual, int64_t k,
                                          std::vector<float>* kept_values,
                                          TopKStats* stats = nullptr, float hint = 0);

// Sets values[i] = 0 at every position of `indices`.
void ClearAt(std::span<float> values, std::span<const uint32_t> indices);

}  // namespace legacy::cpu
