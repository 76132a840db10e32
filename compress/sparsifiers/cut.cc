#include "compress/sparsifiers/cut.h"

#include <algorithm>
#include <cmath>

#include "compress/checks.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/topk_gather.h"
#include "compress/cpu/vector.h"

namespace legacy {
namespace {

// Both streams of a tile stay in the first caches.
constexpr int64_t kTile = 8192;

// Calls gather(begin, size, out) for each tile of n elements, and returns all found elements one
// after the other.
template <typename Gather>
Selection GatherTiles(int64_t n, Gather gather) {
  std::vector<uint32_t> indices(kTile + cpu::kGatherSlack);
  std::vector<float> values(kTile + cpu::kGatherSlack);
  Selection selection;
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t found =
        gather(begin, std::min(kTile, n - begin), cpu::Gathered{indices.data(), values.data()});
    selection.positions.insert(selection.positions.end(), indices.begin(), indices.begin() + found);
    selection.values.insert(selection.values.end(), values.begin(), values.begin() + found);
  }
  return selection;
}

// Returns true if a selection is finite. NaN and infinity have the largest keys and are therefore
// always selected.
bool IsFinite(const Selection& selection) { return !cpu::FirstNonFinite(selection.values); }

}  // namespace

Selection SelectAtLeast(std::span<const float> values, float threshold, uint32_t unit) {
  const cpu::Simd simd = cpu::ActiveSimd();
  const auto gather = [&](int64_t begin, int64_t size, cpu::Gathered out) {
    return cpu::Gather(simd, values.subspan(begin, size), static_cast<uint32_t>(begin),
                       cpu::KeyOf(threshold), out);
  };
  Selection selection = GatherTiles(static_cast<int64_t>(values.size()), gather);
  if (!IsFinite(selection)) CheckFinite(values, unit);
  return selection;
}

Selection SelectAtLeastWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                    float threshold, uint32_t unit) {
  const uint32_t key = cpu::KeyOf(threshold);
  if (gradient.empty() || key == 0) {
    if (!gradient.empty()) cpu::Add(gradient, residual);
    Selection selection = SelectAtLeast(residual, threshold, unit);
    cpu::ClearAt(residual, selection.positions);
    return selection;
  }
  const cpu::Simd simd = cpu::ActiveSimd();
  const auto gather = [&](int64_t begin, int64_t size, cpu::Gathered out) {
    return cpu::GatherCompensated(simd, gradient.subspan(begin, size),
                                  residual.subspan(begin, size), static_cast<uint32_t>(begin),
                                  {key, key - 1}, out);
  };
  Selection selection = GatherTiles(static_cast<int64_t>(residual.size()), gather);
  if (!IsFinite(selection)) {
    for (size_t i = 0; i < selection.positions.size(); ++i) {
      residual[selection.positions[i]] = selection.values[i];
    }
    CheckFinite(residual, unit);
  }
  return selection;
}

Selection SelectLargest(std::span<const float> values, int64_t k, uint32_t unit) {
  k = std::min(k, static_cast<int64_t>(values.size()));
  if (k == 0) CheckFinite(values, unit);
  Selection selection;
  cpu::TopKStats stats;
  selection.positions = cpu::SelectTopK(values, k, &selection.values, &stats);
  if (stats.non_finite) CheckFinite(values, unit);
  return selection;
}

float SmallestMagnitude(const Selection& selection) {
  float smallest = std::abs(selection.values.front());
  for (const float x : selection.values) smallest = std::min(smallest, std::abs(x));
  return smallest;
}

Selection Within(const Selection& outer, Selection inner) {
  for (uint32_t& position : inner.positions) position = outer.positions[position];
  return inner;
}

}  // namespace legacy
