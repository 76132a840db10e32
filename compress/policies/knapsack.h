// Solves the multiple-choice knapsack by dynamic programming: one option for each unit, such that
// the sum of one quantity is minimal and the sum of another is within a budget. L-GreCo (Markov,
// Alimohammadi, Frantar, Alistarh, "L-GreCo: Layerwise-Adaptive Gradient Compression For Efficient
// Data-parallel Deep Learning", MLSys 2024) takes the least bytes within an error; Kimad+ (Xin et
// al., DistributedML 2023) the least error within a number of bytes.
//
// The budget is divided into D steps, and weights are rounded up to whole steps: a solution never
// exceeds the budget, and costs no more than the best choice within budget * (1 - L / D). It takes
// O(L A D) time and O(L D) bytes for L units with A options. Costs become whole numbers (exactly if
// they are whole and sum to less than 2^30), so the answer is the same everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace legacy {

// A quantity of every unit's options, row by row: [unit * options + option].
struct ChoiceTable {
  size_t units = 0;
  size_t options = 0;  // at most 256
  std::vector<double> values;

  ChoiceTable(size_t units, size_t options)
      : units(units), options(options), values(units * options) {}
  double& At(size_t unit, size_t option) { return values[unit * options + option]; }
  double At(size_t unit, size_t option) const { return values[unit * options + option]; }
};

// One option for each unit.
using Choices = std::vector<uint8_t>;

// Returns the sum of the chosen values, in unit order and in double precision.
double SumOf(const ChoiceTable& table, std::span<const uint8_t> choices);

// Returns the choice of least total cost among those whose weights, rounded up to steps of budget /
// `steps`, sum to at most `steps`, or nothing if there is none. Among equal costs it takes the
// least weight, then the lowest options. Weight 0 takes no step; options whose weight or cost is
// NaN, infinite or negative are never taken. `budget` is positive and finite.
std::optional<Choices> SolveKnapsack(const ChoiceTable& weights, const ChoiceTable& costs,
                                     double budget, int64_t steps);

// Returns for each unit the option of the least value; among equal ones that of the least `second`,
// then the lowest. NaN counts as largest.
Choices LeastOf(const ChoiceTable& values, const ChoiceTable& second);

// Returns L-GreCo's choice: the least cost with an error of at most alpha times that of
// `reference`, which has an option for each unit (the uniform parameter that is known to work). It
// is the reference itself if the reference's error is zero or not finite and, for alpha >= 1, if
// nothing cheaper was found. For alpha < 1, if nothing is within the budget, it is the least error
// for each unit.
Choices CheapestWithinError(const ChoiceTable& errors, const ChoiceTable& costs,
                            std::span<const uint8_t> reference, double alpha, int64_t steps);

}  // namespace legacy
