// Counts the distribution of magnitudes in one read, which answers for every k and threshold at
// once: the error of Top-K for all densities, all stages of SIDCo's fits (Abdelmoniem et al., MLSys
// 2021), all probes of RedSync's search (Fang et al., JPDC 2019).
//
// There are 8192 bins: 8 bits of the exponent and the first 5 of the mantissa of |x|, so that a bin
// is at most 1/32 of its magnitudes wide. A bin holds integers, its count and its exact sum, so
// nothing depends on the order of elements, calls or merges, on threads or instructions. Squares
// are taken at the mean of a bin, which makes them too small by at most 2^-12 of themselves (half
// the bin's width, squared). Subnormals are an exception: their bins are 2^-131 wide. 4 bytes are
// read per element.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/simd.h"

namespace legacy::cpu {

// Counts magnitudes. It takes 128 KiB, and up to 0.4 MiB of scratch, so reuse one for all layers
// with Clear(). Short vectors allocate no memory, which would cost more than counting them.
class MagnitudeHistogram {
 public:
  static constexpr int kBins = 1 << 13;
  // Higher bins hold NaN and infinity.
  static constexpr int kFiniteBins = kBins - 32;
  // The bits of |x| above this many are the bin. The lower bits are the offset, whose sum a bin
  // holds.
  static constexpr int kOffsetBits = 18;

  // Counts values; Merge adds the counts of another histogram.
  void Add(std::span<const float> values, Simd simd = ActiveSimd());
  void Merge(const MagnitudeHistogram& other);
  // Adds bins that were counted elsewhere: kBins counts, and sums of offsets.
  void AddBins(std::span<const uint32_t> counts, std::span<const uint64_t> offsets);
  void Clear();

  int64_t Count(int bin) const { return counts_[bin]; }
  std::span<const int64_t> Counts(int first, int bins) const {
    return std::span(counts_).subspan(first, bins);
  }
  // Returns the sum of |x| over the bin, which is finite.
  double Sum(int bin) const;
  double Squares(int bin) const;
  // Returns the smallest magnitude of the bin; for kFiniteBins it is 2^128.
  static double LowerEdge(int bin);

 private:
  // A Table counts one run, and is all zero before and after. It counts by sign as well, which
  // saves an instruction per element. It is a few cache lines longer than a power of two, so that
  // equal bins of several tables do not compete for one set of the cache.
  using Table = std::array<uint64_t, 2 * kBins + 24>;

  template <int kTables>
  void AddRun(std::span<const float> values, Simd simd, Table* tables);
  template <int kTables>
  static void Count(std::span<const float> values, int64_t ahead, Table* tables);
  template <int kTables>
  void Fold(Table* tables);

  std::array<int64_t, kBins> counts_{};
  std::array<int64_t, kBins> offsets_{};  // sums
  std::vector<Table> tables_;             // tables of long runs
};

// Answers from a histogram's state. Quantities are exact at the edges of bins and interpolated
// linearly in between. It has a few hundred steps, one for each bin that is not empty.
class MagnitudeCurve {
 public:
  // Vectors below this length are sorted instead, which gives exact answers.
  static constexpr int64_t kSorted = 512;

  // The elements above a threshold.
  struct Tail {
    double count = 0, sum = 0, squares = 0;  // sums over |x|
  };

  // Takes a histogram's state.
  explicit MagnitudeCurve(const MagnitudeHistogram& histogram);
  // Returns the curve of `values`, sorted where they are few (kSorted).
  static MagnitudeCurve Of(std::span<const float> values);

  int64_t Count() const;  // number of finite elements
  // Number of others, which enter no other result.
  int64_t NonFinite() const { return non_finite_; }
  double Mean() const;  // exact mean of |x|; 0 if there are no elements
  // Returns the largest |x|: exact if its bin holds one element, otherwise the bin's mean (AbsMax()
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
  // A bin, or a single magnitude, and the tail from the top down to it, inclusive.
  struct Step {
    double low = 0, high = 0;  // edges
    Tail tail;
  };
  // Everything above a step's bin, and a fraction of the bin from its top.
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
