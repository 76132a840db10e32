#include "compress/cpu/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <functional>

namespace legacy::cpu {
namespace {

constexpr int kMantissaBits = 23;
constexpr int kOffsetBits = 18;  // of the mantissa, below the bin
constexpr uint32_t kOffsetMask = (1u << kOffsetBits) - 1;

// An entry of a table counts in its upper bits and sums offsets in the lower ones, so that an
// element is one addition; kRun elements fit.
constexpr int kCountShift = 41;
constexpr int64_t kRun = (int64_t{1} << 23) - 1;
// An addition to an entry waits for the one before: neighbours go to different tables. Fewer
// elements than kFew are not worth more than one.
constexpr int kManyTables = 4;
constexpr int64_t kFew = 1 << 15;

// Magnitudes of a bin: multiples of `unit` from first * unit on.
struct Grid {
  explicit Grid(int bin) {
    const int exponent = bin >> (kMantissaBits - kOffsetBits);
    const int64_t implied = exponent > 0 ? 1 << kMantissaBits : 0;
    first = implied + ((int64_t{bin} << kOffsetBits) & ((1 << kMantissaBits) - 1));
    unit = std::ldexp(1.0, std::max(exponent, 1) - 150);
  }
  int64_t first;
  double unit;
};

}  // namespace

template <int kTables>
void MagnitudeHistogram::Count(std::span<const float> values) {
  if (tables_.size() < kTables) tables_.resize(kTables);
  Table* const tables = tables_.data();
  const auto count = [tables](int table, uint32_t bits) {
    tables[table][bits >> kOffsetBits] += uint64_t{1} << kCountShift | (bits & kOffsetMask);
  };
  size_t i = 0;
  for (; i + kTables <= values.size(); i += kTables) {
    std::array<uint32_t, kTables> bits;
    for (int t = 0; t < kTables; ++t) bits[t] = std::bit_cast<uint32_t>(values[i + t]);
    for (int t = 0; t < kTables; ++t) count(t, bits[t]);
  }
  for (; i < values.size(); ++i) count(0, std::bit_cast<uint32_t>(values[i]));

  for (int bin = 0; bin < kBins; ++bin) {
    uint64_t entry = 0;
    for (int t = 0; t < kTables; ++t) entry += tables[t][bin] + tables[t][bin + kBins];
    counts_[bin] += static_cast<int64_t>(entry >> kCountShift);
    offsets_[bin] += static_cast<int64_t>(entry & ((uint64_t{1} << kCountShift) - 1));
  }
  for (int t = 0; t < kTables; ++t) tables[t].fill(0);
}

void MagnitudeHistogram::Add(std::span<const float> values) {
  for (; !values.empty(); values = values.subspan(std::min<size_t>(values.size(), kRun))) {
    const auto run = values.first(std::min<size_t>(values.size(), kRun));
    if (run.size() < kFew) {
      Count<1>(run);
    } else {
      Count<kManyTables>(run);
    }
  }
}

void MagnitudeHistogram::Merge(const MagnitudeHistogram& other) {
  for (int bin = 0; bin < kBins; ++bin) {
    counts_[bin] += other.counts_[bin];
    offsets_[bin] += other.offsets_[bin];
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
  const Place place = AtThreshold(threshold);
  return {Interpolate(place, &Tail::count), Interpolate(place, &Tail::sum),
          Interpolate(place, &Tail::squares)};
}

MagnitudeCurve::Place MagnitudeCurve::AtRank(int64_t k) const {
  assert(0 <= k && k <= Count());
  const auto rank = static_cast<double>(k);
  const auto found =
      std::ranges::lower_bound(steps_, rank, {}, [](const Step& step) { return step.tail.count; });
  const auto step = static_cast<size_t>(found - steps_.begin());
  if (step == 0) return {0, 0};
  const double above = steps_[step - 1].tail.count;
  return {step, (rank - above) / (found->tail.count - above)};
}

MagnitudeCurve::Place MagnitudeCurve::AtThreshold(double threshold) const {
  const auto found = std::find_if(steps_.begin() + 1, steps_.end(),
                                  [&](const Step& step) { return step.low <= threshold; });
  if (found == steps_.end()) return {steps_.size() - 1, 1};
  const auto step = static_cast<size_t>(found - steps_.begin());
  if (found->low == threshold) return {step, 1};
  return {step, std::max(0.0, (found->high - threshold) / (found->high - found->low))};
}

double MagnitudeCurve::Interpolate(Place place, double Tail::*quantity) const {
  if (place.step == 0) return 0;
  return std::lerp(steps_[place.step - 1].tail.*quantity, steps_[place.step].tail.*quantity,
                   place.part);
}

}  // namespace legacy::cpu
