#include "compress/policies/knapsack.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "base/simd.h"

namespace legacy {
namespace {

// No sum of costs reaches kNone, and kNone plus a sum of costs does not overflow.
constexpr int32_t kNone = 1 << 30;
constexpr double kLargestSum = kNone - 1;
// Best costs within a block of steps stay in the nearest cache while all options are tried.
constexpr int64_t kBlock = 2048;
// Relative rounding error of sums of doubles.
constexpr double kRoundingError = 1e-9;

bool IsAmount(double value) { return value >= 0 && std::isfinite(value); }

// One option of one unit: the steps of the budget that it takes, and its cost as a whole number.
struct Item {
  int64_t steps = 0;
  int32_t cost = 0;
  uint8_t option = 0;
};

LEGACY_INLINE void TryOption(const int32_t* before, int32_t cost, int32_t option, int64_t count,
                             int32_t* __restrict best, int32_t* __restrict chosen) {
  for (int64_t i = 0; i < count; ++i) {
    const int32_t candidate = before[i] + cost;
    const bool better = candidate < best[i];
    best[i] = better ? candidate : best[i];
    chosen[i] = better ? option : chosen[i];
  }
}

LEGACY_INLINE void Narrow(const int32_t* from, int64_t count, uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(from[i]);
}

// Sets best[b] to the least cost within b steps of a unit with these items after units whose least
// costs are `before`.
void AddUnit(std::span<const Item> items, std::span<const int32_t> before, std::span<int32_t> best,
             std::span<uint8_t> chosen) {
  const auto size = static_cast<int64_t>(best.size());
  const cpu::Simd simd = cpu::ActiveSimd();
  std::vector<int32_t> wide(kBlock);
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, size);
    std::fill(best.begin() + begin, best.begin() + end, kNone);
    std::ranges::fill(wide, 0);
    for (const Item& item : items) {
      const int64_t first = std::max(begin, item.steps);
      if (first >= end) continue;
      cpu::Dispatch<TryOption>(simd, before.data() + first - item.steps, item.cost,
                               int32_t{item.option}, end - first, best.data() + first,
                               wide.data() + first - begin);
    }
    cpu::Dispatch<Narrow>(simd, wide.data(), end - begin, chosen.data() + begin);
  }
}

// Returns the unit in which costs are whole numbers: 1 if that is exact, otherwise a unit in which
// the dearest choice costs 2^30.
double CostUnit(const ChoiceTable& costs) {
  double dearest = 0;
  bool whole = true;
  for (size_t unit = 0; unit < costs.units; ++unit) {
    double most = 0;
    for (size_t option = 0; option < costs.options; ++option) {
      const double cost = costs.At(unit, option);
      if (!IsAmount(cost)) continue;
      whole = whole && cost == std::floor(cost);
      most = std::max(most, cost);
    }
    dearest += most;
  }
  if (dearest == 0 || (whole && dearest <= kLargestSum)) return 1;
  // Rounding to the nearest can add half a unit for each of the units of the model.
  return dearest / (kLargestSum - static_cast<double>(costs.units));
}

std::vector<Item> ItemsOf(const ChoiceTable& weights, const ChoiceTable& costs, size_t unit,
                          double step, int64_t steps, double cost_unit) {
  std::vector<Item> items;
  for (size_t option = 0; option < weights.options; ++option) {
    const double weight = weights.At(unit, option);
    const double cost = costs.At(unit, option);
    if (!IsAmount(weight) || !IsAmount(cost)) continue;
    const double taken = weight == 0 ? 0 : std::max(1.0, std::ceil(weight / step));
    if (!(taken <= static_cast<double>(steps))) continue;
    items.push_back({.steps = static_cast<int64_t>(taken),
                     .cost = static_cast<int32_t>(std::lround(cost / cost_unit)),
                     .option = static_cast<uint8_t>(option)});
  }
  return items;
}

}  // namespace

double SumOf(const ChoiceTable& table, std::span<const uint8_t> choices) {
  assert(choices.size() == table.units);
  double sum = 0;
  for (size_t unit = 0; unit < table.units; ++unit) sum += table.At(unit, choices[unit]);
  return sum;
}

std::optional<Choices> SolveKnapsack(const ChoiceTable& weights, const ChoiceTable& costs,
                                     double budget, int64_t steps) {
  assert(weights.units == costs.units && weights.options == costs.options);
  assert(weights.options <= 256 && budget > 0 && std::isfinite(budget) && steps > 0);
  const double step = budget / static_cast<double>(steps);
  const double cost_unit = CostUnit(costs);
  const auto size = static_cast<size_t>(steps) + 1;
  std::vector<int32_t> before(size, 0);
  std::vector<int32_t> best(size);
  std::vector<uint8_t> chosen(weights.units * size);
  std::vector<std::vector<Item>> items;
  for (size_t unit = 0; unit < weights.units; ++unit) {
    items.push_back(ItemsOf(weights, costs, unit, step, steps, cost_unit));
    AddUnit(items.back(), before, best, std::span(chosen).subspan(unit * size, size));
    std::swap(before, best);
  }
  // Costs never rise with the steps, so the first minimum takes the fewest steps.
  auto left = static_cast<size_t>(std::ranges::min_element(before) - before.begin());
  if (before[left] >= kNone) return std::nullopt;
  Choices choices(weights.units);
  for (size_t unit = weights.units; unit-- > 0;) {
    choices[unit] = chosen[unit * size + left];
    left -= std::ranges::find(items[unit], choices[unit], &Item::option)->steps;
  }
  return choices;
}

Choices LeastOf(const ChoiceTable& values, const ChoiceTable& second) {
  const auto rank = [](double value) {
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  Choices choices(values.units);
  for (size_t unit = 0; unit < values.units; ++unit) {
    for (size_t option = 1; option < values.options; ++option) {
      const double value = rank(values.At(unit, option));
      const double least = rank(values.At(unit, choices[unit]));
      const bool cheaper = second.At(unit, option) < second.At(unit, choices[unit]);
      if (value < least || (value == least && cheaper)) {
        choices[unit] = static_cast<uint8_t>(option);
      }
    }
  }
  return choices;
}

Choices CheapestWithinError(const ChoiceTable& errors, const ChoiceTable& costs,
                            std::span<const uint8_t> reference, double alpha, int64_t steps) {
  const Choices kept(reference.begin(), reference.end());
  const double budget = alpha * SumOf(errors, reference);
  if (!(budget > 0) || !std::isfinite(budget)) return kept;
  const auto found = SolveKnapsack(errors, costs, budget, steps);
  if (!found || SumOf(errors, *found) > budget * (1 + kRoundingError)) {
    return alpha < 1 ? LeastOf(errors, costs) : kept;
  }
  if (alpha >= 1 && SumOf(costs, *found) >= SumOf(costs, reference)) return kept;
  return *found;
}

}  // namespace legacy
