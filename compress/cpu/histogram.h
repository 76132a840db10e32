// The distribution of magnitudes is counted in one read, and answers for every k and threshold at
// once: the error of Top-K for all densities, all stages of SIDCo's fits (Abdelmoniem et al., MLSys
// 2021), all probes of RedSync's search (Fang et al., JPDC 2019).
//
// 8192 bins: 8 bits of the exponent and the first 5 of the mantissa of |x|, so that a bin is at
// most 1/32 of its magnitudes wide. A bin holds integers, its count and its exact sum: nothing
// depends on the order of elements, calls or merges, on threads or instructions. Squares are taken
// at the mean of a bin, which makes them too small by 2^-12 of themselves at most (a half of the
// bin's width, squared). All of this but for subnormals, whose bins are 2^-131 wide. 4 bytes read
// per element.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/simd.h"

namespace legacy::cpu {

// A MagnitudeHistogram counts. It takes 128 KiB, and up to 0.4 MiB of scratch, so Clear() one for
// the next layer rather than having many. Short vectors take no memory from the system, which would
// cost more than counting them.
class MagnitudeHistogram {
 public:
  static constexpr int kBins = 1 << 13;
  static constexpr int kFiniteBins = kBins - 32;  // what is above holds NaN and infinity
  // |x| as bits is the bin, and below it the offset whose sum a bin holds.
  static constexpr int kOffsetBits = 18;

  // Counts values; Merge adds what another histogram counted.
  void Add(std::span<const float> values, Simd simd = ActiveSimd());
  void Merge(const MagnitudeHistogram& other);
  // Adds what was counted elsewhere: kBins counts, and sums of offsets.
  void AddBins(std::span<const uint32_t> counts, std::span<const uint64_t> offsets);
  void Clear();

  int64_t Count(int bin) const { return counts_[bin]; }
  std::span<const int64_t> Counts(int first, int bins) const {
    return std::span(counts_).subspan(first, bins);
  }
  // Returns the sum of |x| over the bin, which is finite.
  double Sum(int bin) const;
  double Squares(int bin) const;
  // Returns the smallest magnitude of the bin; that of kFiniteBins is 2^128.
  static double LowerEdge(int bin);

 private:
  // A Table is of one run, all zero before and after. It counts by sign as well, which saves an
  // instruction for each element. It is a few cache lines longer than a power of two, or equal bins
  // of several tables would compete for one set of the cache.
  using Table = std::array<uint64_t, 2 * kBins + 24>;

  template <int kTables>
  void AddRun(std::span<const float> values, Simd simd, Table* tables);
  template <int kTables>
  static void Count(std::span<const float> values, int64_t ahead, Table* tables);
  template <int kTables>
  void Fold(Table* tables);

  std::array<int64_t, kBins> counts_{};
  std::array<int64_t, kBins> offsets_{};  // sums
  std::vector<Table> tables_;             // of long runs
};

// A MagnitudeCurve answers from a histogram's state: what is exact at the edges of bins is
// interpolated linearly in between. It has a few hundred steps, one for each bin that is not empty.
class MagnitudeCurve {
 public:
  // Vectors below this length are not worth a histogram: sorted, their answers are exact.
  static constexpr int64_t kSorted = 512;

  // A Tail is the elements that a threshold leaves.
  struct Tail {
    double count = 0, sum = 0, squares = 0;  // of |x|
  };

  // Takes a histogram's state.
  explicit MagnitudeCurve(const MagnitudeHistogram& histogram);
  // Returns the curve of `values`, sorted where they are few (kSorted).
  static MagnitudeCurve Of(std::span<const float> values);

  int64_t Count() const;                             // of finite elements
  int64_t NonFinite() const { return non_finite_; }  // others, which enter nothing else
  double Mean() const;                               // of |x|, exact; 0 of nothing
  // Returns the largest |x|: exact where its bin holds one element, else the bin's mean (AbsMax()
  // is exact).
  double Max() const;
  double TotalSquared() const;

  // Return ||TopK(x)||^2, and ||x - TopK(x)||; 0 <= k <= Count().
  double KeptSquared(int64_t k) const;
  double Error(int64_t k) const;
  // Returns the magnitude that k elements reach, within the width of a bin; Max() for k = 0.
  double Threshold(int64_t k) const;
  // Edges are low <= the k-th largest magnitude < high, or both are its value; 1 <= k <= Count().
  struct Edges {
    double low, high;
  };
  Edges BinOf(int64_t k) const;

  Tail Above(double threshold) const;  // |x| >= threshold

 private:
  // A Step is a bin, or a magnitude of its own, and what there is from the top down to and with it.
  struct Step {
    double low = 0, high = 0;  // edges
    Tail tail;
  };
  // A Position is everything above a step's bin and a part of the bin, from its top.
  struct Position {
    size_t step;
    double part;
  };
  MagnitudeCurve() : steps_(1) {}
  void Append(double low, double high, const Tail& bin);
  Position AtRank(int64_t k) const;
  Position AtThreshold(double threshold) const;
  double Interpolate(Position position, double Tail::*quantity) const;

  std::vector<Step> steps_;  // the first one is empty
  int64_t non_finite_ = 0;
};

}  // namespace legacy::cpu
