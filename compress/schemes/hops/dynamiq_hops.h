// The unit of a step of DynamiQ (dynamiq.cc) as its workers send it: its statistics, the bits and
// the order of its super-groups, and the coder of its pieces.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "compress/schemes/hops/dynamiq_code.h"
#include "compress/schemes/hops/hop_sum.h"

namespace legacy::dynamiq {

// Returns the number of super-groups of that many values; the last one is padded with zeros.
constexpr int64_t SupersOf(int64_t numel) { return (numel + kSuper - 1) / kSuper; }

// Returns the mean and the sum of squares of each super-group, as bf16.
std::vector<float> StatisticsOf(std::span<const float> values);

// What all workers know of a unit after they have summed its statistics.
class Layout {
 public:
  // `sums` are the sums of the workers' statistics, and `mean_bits` the bits of a value on average,
  // with all overhead.
  Layout(std::span<const double> sums, int workers, double mean_bits);

  // Returns the bits of a super-group by its place in the order of sending.
  int BitsOf(int64_t place) const { return bits_[place]; }
  // Returns the super-group in a place, and the mean of a super-group.
  int64_t SuperAt(int64_t place) const { return order_[place]; }
  float MeanOfSuper(int64_t super) const { return means_[super]; }
  // Returns the bytes of all super-groups.
  int64_t Bytes() const;
  // Returns the values less the means of their super-groups, in the order of sending; padding is 0.
  std::vector<float> Sorted(std::span<const float> values) const;
  // Writes the mean of sorted sums of that many workers.
  void MeanOf(std::span<const float> sums, float workers, std::span<float> mean) const;

 private:
  template <typename Body>
  void ForValues(int64_t numel, Body body) const;

  std::vector<float> means_;    // by super-group
  std::vector<int64_t> order_;  // the super-groups in the order in which they are sent
  std::vector<int> bits_;       // in that order
};

// Codes super-groups in the order of sending. Worker i draws (pi(i) + gamma) / N for a value, where
// pi is a permutation of its group that all workers share.
class Coder : public HopCoder {
 public:
  // `payloads` are the checked payloads of all workers' values; empty ones have only zeros.
  Coder(const Layout& layout, const CodecContext& context, int workers, Rounding rounding,
        std::span<const ByteSpan> payloads)
      : layout_(layout),
        context_(context),
        workers_(workers),
        rounding_(rounding),
        payloads_(payloads) {}

  int64_t Block() const override { return kSuper; }
  int64_t PayloadBytes(HopRange range) const override;
  void Own(int worker, HopRange range, std::span<float> values) const override;
  Bytes Encode(int worker, int piece, HopRange range, std::span<const float> sums) const override;
  void Decode(ByteSpan payload, HopRange range, std::span<float> sums) const override;

  // Returns the worker's draws for the super-group in that place.
  std::array<double, kSuper> Draws(int worker, int64_t place) const;

 private:
  const Layout& layout_;
  const CodecContext context_;
  int workers_;
  Rounding rounding_;
  std::span<const ByteSpan> payloads_;
};

}  // namespace legacy::dynamiq
