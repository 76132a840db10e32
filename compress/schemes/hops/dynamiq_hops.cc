#include "compress/schemes/hops/dynamiq_hops.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "compress/checks.h"
#include "compress/cpu/cast.h"

namespace legacy::dynamiq {
std::vector<float> StatisticsOf(std::span<const float> values) {
  std::vector<float> statistics;
  for (int64_t begin = 0; begin < std::ssize(values); begin += kSuper) {
    const auto super = values.subspan(begin, std::min(kSuper, std::ssize(values) - begin));
    double sum = 0, squares = 0;
    for (const float x : super) {
      sum += x;
      squares += double{x} * double{x};
    }
    statistics.push_back(StatisticOf(sum / static_cast<double>(super.size())));
    statistics.push_back(StatisticOf(squares));
  }
  return statistics;
}

Layout::Layout(std::span<const double> sums, int workers, double mean_bits) {
  std::vector<double> energies;
  for (size_t i = 0; i < sums.size(); i += 2) {
    means_.push_back(static_cast<float>(sums[i] / workers));
    energies.push_back(sums[i + 1]);
  }
  const std::vector<int> bits = BitsFor(energies, mean_bits - kOverheadBits);
  order_.resize(bits.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::stable_sort(order_, {}, [&](int64_t super) { return bits[super]; });
  for (const int64_t super : order_) bits_.push_back(bits[super]);
}

int64_t Layout::Bytes() const {
  int64_t bytes = 0;
  for (const int bits : bits_) bytes += SuperBytes(bits);
  return bytes;
}

// Calls body(element, place in the order of sending, mean).
template <typename Body>
void Layout::ForValues(int64_t numel, Body body) const {
  for (size_t j = 0; j < order_.size(); ++j) {
    const int64_t begin = order_[j] * kSuper;
    for (int64_t i = begin; i < std::min(numel, begin + kSuper); ++i) {
      body(i, static_cast<int64_t>(j) * kSuper + i - begin, means_[order_[j]]);
    }
  }
}

std::vector<float> Layout::Sorted(std::span<const float> values) const {
  std::vector<float> sorted(order_.size() * kSuper);
  ForValues(std::ssize(values),
            [&](int64_t from, int64_t to, float mean) { sorted[to] = values[from] - mean; });
  return sorted;
}

void Layout::MeanOf(std::span<const float> sums, float workers, std::span<float> mean) const {
  ForValues(std::ssize(mean),
            [&](int64_t to, int64_t from, float own) { mean[to] = sums[from] / workers + own; });
}

int64_t Coder::PayloadBytes(HopRange range) const {
  int64_t bytes = 0;
  for (int64_t place = range.begin / kSuper; place < range.end / kSuper; ++place) {
    bytes += SuperBytes(layout_.BitsOf(place));
  }
  return bytes;
}

void Coder::Own(int worker, HopRange range, std::span<float> values) const {
  if (payloads_[worker].empty()) {
    std::ranges::fill(values, 0.0f);
    return;
  }
  const int64_t begin = PayloadBytes({0, range.begin});
  Decode(payloads_[worker].subspan(begin, PayloadBytes(range)), range, values);
}

Bytes Coder::Encode(int worker, int, HopRange range, std::span<const float> sums) const {
  CheckFinite(sums, context_.unit);  // sums may overflow
  Bytes payload(PayloadBytes(range));
  std::byte* out = payload.data();
  for (int64_t at = 0; at < range.size(); at += kSuper) {
    const int64_t place = (range.begin + at) / kSuper;
    const int bits = layout_.BitsOf(place);
    dynamiq::Encode(sums.subspan(at).first<kSuper>(), bits, Draws(worker, place), rounding_, out);
    out += SuperBytes(bits);
  }
  return payload;
}

void Coder::Decode(ByteSpan payload, HopRange range, std::span<float> sums) const {
  CheckLength(payload, PayloadBytes(range));
  const std::byte* in = payload.data();
  for (int64_t at = 0; at < range.size(); at += kSuper) {
    const int bits = layout_.BitsOf((range.begin + at) / kSuper);
    Check(in, bits);
    dynamiq::Decode(in, bits, sums.subspan(at).first<kSuper>());
    in += SuperBytes(bits);
  }
}

std::array<double, kSuper> Coder::Draws(int worker, int64_t place) const {
  RandomKey key = context_.random;
  key.worker = static_cast<uint32_t>(place);
  key.purpose = Purpose::kCorrelated;
  RandomStream shared(key);
  key.worker = static_cast<uint32_t>(place * workers_ + worker);
  key.purpose = Purpose::kStochastic;
  RandomStream own(key);
  std::array<double, kSuper> draws;
  std::vector<int> permutation(workers_);
  for (int64_t g = 0; g < kGroups; ++g) {
    std::iota(permutation.begin(), permutation.end(), 0);
    for (int i = workers_ - 1; i > 0; --i) {
      std::swap(permutation[i], permutation[shared.Below(static_cast<uint32_t>(i) + 1)]);
    }
    for (int64_t i = 0; i < kGroup; ++i) {
      draws[g * kGroup + i] = (permutation[worker] + own.Uniform()) / workers_;
    }
  }
  return draws;
}

}  // namespace legacy::dynamiq
