#include "compress/cpu/topk.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <numeric>

namespace legacy::cpu {
namespace {

// The 31 bits of a magnitude are decided in three digits: 11, 10 and 10 bits.
constexpr int kDigitBits = 10;
constexpr int kTopShift = 2 * kDigitBits;
constexpr uint32_t kDigitMask = (1u << kDigitBits) - 1;
constexpr int kBins = 1 << 11;
// Neighbours often share a bin; separate tables keep one increment from waiting for the one before.
constexpr int kTables = 4;

using Histogram = std::array<uint32_t, kBins>;

uint32_t Magnitude(float x) { return std::bit_cast<uint32_t>(x) & 0x7FFFFFFF; }

// Counts digit(i) over [0, n).
template <typename Digit>
Histogram Count(size_t n, Digit digit) {
  std::array<Histogram, kTables> tables{};
  size_t i = 0;
  for (; i + kTables <= n; i += kTables) {
    for (int t = 0; t < kTables; ++t) ++tables[t][digit(i + t)];
  }
  for (; i < n; ++i) ++tables[0][digit(i)];
  for (int t = 1; t < kTables; ++t) {
    for (int bin = 0; bin < kBins; ++bin) tables[0][bin] += tables[t][bin];
  }
  return tables[0];
}

// The bin that holds the element of descending rank `rank` (from 1).
struct Place {
  uint32_t bin = 0;
  int64_t above = 0;    // elements in higher bins
  int64_t through = 0;  // elements in this bin and higher ones
};

Place Locate(const Histogram& histogram, int64_t rank) {
  Place place;
  for (int bin = kBins - 1; bin >= 0; --bin) {
    place.above = place.through;
    place.through += histogram[bin];
    place.bin = bin;
    if (place.through >= rank) return place;
  }
  assert(false && "rank above the number of elements");
  return place;
}

// Positions with magnitude >= floor, ascending; `count` says how many there are. Written without a
// branch: a position that does not count is overwritten by the next one.
std::vector<uint32_t> Collect(std::span<const float> values, uint32_t floor, int64_t count) {
  std::vector<uint32_t> indices(count + 1);
  uint32_t* next = indices.data();
  for (size_t i = 0; i < values.size(); ++i) {
    *next = static_cast<uint32_t>(i);
    next += Magnitude(values[i]) >= floor;
  }
  indices.pop_back();
  return indices;
}

// Magnitude of descending rank `rank` among `magnitudes`, which share their top digit; `ties`
// becomes how many of the elements equal to it belong to the first `rank`.
uint32_t Threshold(std::vector<uint32_t> magnitudes, int64_t rank, int64_t& ties) {
  for (const int shift : {kDigitBits, 0}) {
    const auto digit = [&](size_t i) { return magnitudes[i] >> shift & kDigitMask; };
    const Place place = Locate(Count(magnitudes.size(), digit), rank);
    rank -= place.above;
    std::erase_if(magnitudes, [&](uint32_t m) { return (m >> shift & kDigitMask) != place.bin; });
  }
  ties = rank;
  return magnitudes.front();
}

}  // namespace

std::vector<uint32_t> SelectTopK(std::span<const float> values, int64_t k) {
  const auto n = static_cast<int64_t>(values.size());
  assert(0 <= k && k <= n);
  if (k == 0) return {};
  if (k == n) {
    std::vector<uint32_t> all(n);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  const Histogram top =
      Count(values.size(), [&](size_t i) { return Magnitude(values[i]) >> kTopShift; });
  const Place place = Locate(top, k);
  auto indices = Collect(values, place.bin << kTopShift, place.through);
  if (place.through == k) return indices;

  std::vector<uint32_t> border;
  border.reserve(place.through - place.above);
  for (const uint32_t index : indices) {
    const uint32_t magnitude = Magnitude(values[index]);
    if (magnitude >> kTopShift == place.bin) border.push_back(magnitude);
  }
  int64_t ties = 0;
  const uint32_t threshold = Threshold(std::move(border), k - place.above, ties);
  std::erase_if(indices, [&](uint32_t index) {
    const uint32_t magnitude = Magnitude(values[index]);
    return magnitude < threshold || (magnitude == threshold && ties-- <= 0);
  });
  return indices;
}

void ClearAt(std::span<float> values, std::span<const uint32_t> indices) {
  for (const uint32_t index : indices) values[index] = 0.0f;
}

}  // namespace legacy::cpu
