#include "compress/cpu/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <functional>
#include <utility>

#include "compress/cpu/topk_gather.h"

namespace legacy::cpu {
namespace {

constexpr int kMantissaBits = 23;
constexpr int kOffsetBits = MagnitudeHistogram::kOffsetBits;

// An element adds kOne and its bits to the entry of its place, which is its sign and bin: a
// multiple of UnitOf(place), plus its offset. Offsets are below 2^18, so for up to kRun elements
// the quotient of an entry and the unit is their number, the remainder is the sum of their offsets,
// and nothing overflows.
constexpr int kCountShift = 41;
constexpr uint64_t kOne = uint64_t{1} << kCountShift;
constexpr int64_t kRun = (1 << 23) - (1 << 14);
constexpr uint64_t UnitOf(int position) {
  return kOne + (static_cast<uint64_t>(position) << kOffsetBits);
}

// An addition to an entry waits for the previous one, so neighbouring elements go to different
// tables. More tables would take more of the nearest cache; for fewer elements than kFew one table
// is enough.
constexpr int kManyTables = 3;
constexpr int64_t kFew = 1 << 16;

// Many zeros would wait for each other. After a block with more than kManyZeros, elements that are
// not zero are gathered first, until a block has fewer than kFewZeros. Plain instructions do not
// gather, because that takes longer than waiting.
constexpr int64_t kBlock = 256;
constexpr int64_t kManyZeros = kBlock / 2;
constexpr int64_t kFewZeros = kBlock * 3 / 8;

// Counting takes a core as long as loading from memory does, so data are prefetched early.
constexpr int64_t kAhead = 1024;
constexpr int64_t kLine = 64 / sizeof(float);

void Ask(std::span<const float> block, int64_t ahead) {
  for (int64_t i = 0; i < std::ssize(block); i += kLine) {
    __builtin_prefetch(block.data() + i + ahead);
  }
}

// The buffer is in one page, because stores across two pages are slow.
struct alignas(4096) Gathering {
  std::array<uint32_t, kBlock + kGatherSlack> indices;
  std::array<float, 2 * kBlock + kGatherSlack> others;
};
static_assert(sizeof(Gathering) == alignof(Gathering));

// Number of neighbouring bins that are tested together.
constexpr int kGroup = 8;

template <typename Group>
bool IsZero(const Group& group) {
  uint64_t bits = 0;
  for (const auto x : group) bits |= static_cast<uint64_t>(x);
  return bits == 0;
}

// Magnitudes of a bin: multiples of `unit` from first * unit on.
struct Grid {
  explicit Grid(int bin) {
    const int exponent = bin >> (kMantissaBits - kOffsetBits);
    const int64_t implied = exponent > 0 ? 1 << kMantissaBits : 0;
    first = implied + ((int64_t{bin} << kOffsetBits) & ((1 << kMantissaBits) - 1));
    constexpr int kBias = 1023, kFraction = 52;  // format of doubles
    const auto power = static_cast<uint64_t>(std::max(exponent, 1) - 150 + kBias);
    unit = std::bit_cast<double>(power << kFraction);
  }
  int64_t first;
  double unit;
};

}  // namespace

// Prefetches values[i + ahead] at the beginning of each cache line.
template <int kTables>
void MagnitudeHistogram::Count(std::span<const float> values, int64_t ahead, Table* tables) {
  const auto count = [tables](int table, float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    tables[table][bits >> kOffsetBits] += kOne + bits;
  };
  const float* const data = values.data();
  const auto n = static_cast<int64_t>(values.size());
  int64_t i = 0;
  for (; i + kLine <= n; i += kLine) {
    __builtin_prefetch(data + i + ahead);
#pragma GCC unroll 16
    for (int j = 0; j < kLine; ++j) count(j % kTables, data[i + j]);
  }
  for (; i < n; ++i) count(0, data[i]);
}

template <int kTables>
void MagnitudeHistogram::AddRun(std::span<const float> values, Simd simd, Table* tables) {
  const auto zeros_counted = [tables] {
    uint64_t entries = 0;
    for (int t = 0; t < kTables; ++t) entries += tables[t][0] + tables[t][kBins];
    return static_cast<int64_t>(entries >> kCountShift);
  };
  Gathering buffers;
  int64_t waiting = 0;  // gathered elements not yet counted
  bool gather = false;
  for (; !values.empty(); values = values.subspan(std::min<size_t>(values.size(), kBlock))) {
    const auto block = values.first(std::min<size_t>(values.size(), kBlock));
    const int64_t ahead = std::ssize(values) >= kAhead + kBlock ? kAhead : 0;
    if (gather) {
      Ask(block, ahead);
      const int64_t count =
          Gather(simd, block, 0, 1, {buffers.indices.data(), buffers.others.data() + waiting});
      waiting += count;
      if (waiting >= kBlock) {
        Count<kTables>(std::span(buffers.others).first(std::exchange(waiting, 0)), 0, tables);
      }
      const int64_t zeros = std::ssize(block) - count;
      counts_[0] += zeros;
      gather = zeros >= kFewZeros;
    } else {
      const int64_t before = zeros_counted();
      Count<kTables>(block, ahead, tables);
      gather = simd != Simd::kPlain && zeros_counted() - before > kManyZeros;
    }
  }
  Count<kTables>(std::span(buffers.others).first(waiting), 0, tables);
  Fold<kTables>(tables);
}

// Adds the tables to the bins in groups, because most places are empty.
template <int kTables>
void MagnitudeHistogram::Fold(Table* tables) {
  for (int group = 0; group < 2 * kBins; group += kGroup) {
    std::array<uint64_t, kGroup> entries{};
    for (int t = 0; t < kTables; ++t) {
      for (int i = 0; i < kGroup; ++i) entries[i] += tables[t][group + i];
    }
    if (IsZero(entries)) continue;
    for (int t = 0; t < kTables; ++t) std::fill_n(tables[t].begin() + group, kGroup, 0);
    for (int i = 0; i < kGroup; ++i) {
      const int position = group + i;
      counts_[position % kBins] += static_cast<int64_t>(entries[i] / UnitOf(position));
      offsets_[position % kBins] += static_cast<int64_t>(entries[i] % UnitOf(position));
    }
  }
}

void MagnitudeHistogram::Add(std::span<const float> values, Simd simd) {
  for (; !values.empty(); values = values.subspan(std::min<size_t>(values.size(), kRun))) {
    const auto run = values.first(std::min<size_t>(values.size(), kRun));
    if (std::ssize(run) < kFew) {
      Table table{};
      AddRun<1>(run, simd, &table);
    } else {
      tables_.resize(kManyTables);
      AddRun<kManyTables>(run, simd, tables_.data());
    }
  }
}

void MagnitudeHistogram::Merge(const MagnitudeHistogram& other) {
  for (int bin = 0; bin < kBins; ++bin) {
    counts_[bin] += other.counts_[bin];
    offsets_[bin] += other.offsets_[bin];
  }
}

void MagnitudeHistogram::AddBins(std::span<const uint32_t> counts,
                                 std::span<const uint64_t> offsets) {
  assert(counts.size() == kBins && offsets.size() == kBins);
  for (int bin = 0; bin < kBins; ++bin) {
    counts_[bin] += counts[bin];
    offsets_[bin] += static_cast<int64_t>(offsets[bin]);
  }
}

void MagnitudeHistogram::Clear() {
  std::ranges::fill(counts_, 0);
  std::ranges::fill(offsets_, 0);
}

double MagnitudeHistogram::Sum(int bin) const {
  const Grid grid(bin);
  return static_cast<double>(counts_[bin] * grid.first + offsets_[bin]) * grid.unit;
}

double MagnitudeHistogram::Squares(int bin) const {
  if (counts_[bin] == 0) return 0;
  const double sum = Sum(bin);
  return sum * (sum / static_cast<double>(counts_[bin]));
}

double MagnitudeHistogram::LowerEdge(int bin) {
  const Grid grid(bin);
  return static_cast<double>(grid.first) * grid.unit;
}

MagnitudeCurve::MagnitudeCurve(const MagnitudeHistogram& histogram) : MagnitudeCurve() {
  for (int bin = MagnitudeHistogram::kBins - 1; bin >= 0; --bin) {
    if (bin % kGroup == kGroup - 1 && IsZero(histogram.Counts(bin - kGroup + 1, kGroup))) {
      bin -= kGroup - 1;
      continue;
    }
    const int64_t count = histogram.Count(bin);
    if (count == 0) continue;
    if (bin >= MagnitudeHistogram::kFiniteBins) {
      non_finite_ += count;
      continue;
    }
    Append(MagnitudeHistogram::LowerEdge(bin), MagnitudeHistogram::LowerEdge(bin + 1),
           {static_cast<double>(count), histogram.Sum(bin), histogram.Squares(bin)});
  }
}

MagnitudeCurve MagnitudeCurve::Of(std::span<const float> values) {
  if (std::ssize(values) >= kSorted) {
    MagnitudeHistogram histogram;
    histogram.Add(values);
    return MagnitudeCurve(histogram);
  }
  MagnitudeCurve curve;
  std::vector<double> magnitudes;
  for (const float x : values) {
    if (std::isfinite(x)) magnitudes.push_back(std::abs(x));
  }
  curve.non_finite_ = std::ssize(values) - std::ssize(magnitudes);
  std::ranges::sort(magnitudes, std::greater<>());
  for (auto first = magnitudes.begin(); first != magnitudes.end();) {
    const double x = *first;
    const auto next = std::find_if(first, magnitudes.end(), [x](double y) { return y != x; });
    const auto count = static_cast<double>(next - first);
    curve.Append(x, x, {count, count * x, count * (x * x)});
    first = next;
  }
  return curve;
}

void MagnitudeCurve::Append(double low, double high, const Tail& bin) {
  const Tail& above = steps_.back().tail;
  steps_.push_back(
      {low, high, {above.count + bin.count, above.sum + bin.sum, above.squares + bin.squares}});
}

int64_t MagnitudeCurve::Count() const { return static_cast<int64_t>(steps_.back().tail.count); }

double MagnitudeCurve::Mean() const {
  const Tail& all = steps_.back().tail;
  return all.count == 0 ? 0 : all.sum / all.count;
}

double MagnitudeCurve::Max() const {
  return Count() == 0 ? 0 : steps_[1].tail.sum / steps_[1].tail.count;
}

double MagnitudeCurve::TotalSquared() const { return steps_.back().tail.squares; }

double MagnitudeCurve::KeptSquared(int64_t k) const {
  return Interpolate(AtRank(k), &Tail::squares);
}

double MagnitudeCurve::Error(int64_t k) const {
  return std::sqrt(std::max(0.0, TotalSquared() - KeptSquared(k)));
}

double MagnitudeCurve::Threshold(int64_t k) const {
  if (k == 0) return Max();
  const auto [step, part] = AtRank(k);
  return std::lerp(steps_[step].high, steps_[step].low, part);
}

MagnitudeCurve::Edges MagnitudeCurve::BinOf(int64_t k) const {
  const Step& step = steps_[AtRank(k).step];
  return {step.low, step.high};
}

MagnitudeCurve::Tail MagnitudeCurve::Above(double threshold) const {
  const Position position = AtThreshold(threshold);
  return {Interpolate(position, &Tail::count), Interpolate(position, &Tail::sum),
          Interpolate(position, &Tail::squares)};
}

MagnitudeCurve::Position MagnitudeCurve::AtRank(int64_t k) const {
  assert(0 <= k && k <= Count());
  const auto rank = static_cast<double>(k);
  const auto found =
      std::ranges::lower_bound(steps_, rank, {}, [](const Step& step) { return step.tail.count; });
  const auto step = static_cast<size_t>(found - steps_.begin());
  if (step == 0) return {0, 0};
  const double above = steps_[step - 1].tail.count;
  return {step, (rank - above) / (found->tail.count - above)};
}

MagnitudeCurve::Position MagnitudeCurve::AtThreshold(double threshold) const {
  const auto found = std::find_if(steps_.begin() + 1, steps_.end(),
                                  [&](const Step& step) { return step.low <= threshold; });
  if (found == steps_.end()) return {steps_.size() - 1, 1};
  const auto step = static_cast<size_t>(found - steps_.begin());
  if (found->low == threshold) return {step, 1};
  return {step, std::max(0.0, (found->high - threshold) / (found->high - found->low))};
}

double MagnitudeCurve::Interpolate(Position position, double Tail::*quantity) const {
  if (position.step == 0) return 0;
  return std::lerp(steps_[position.step - 1].tail.*quantity, steps_[position.step].tail.*quantity,
                   position.part);
}

}  // namespace legacy::cpu
