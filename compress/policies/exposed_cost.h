// The exposed cost of a unit's bytes is the time that they take and that is not hidden: the slope
// beta of exposed communication seconds over bytes, by least squares through the origin over all
// units that were ever exposed. Other units cost nothing.
//
// It also prices work that grows with the parameter (PowerSGD's products with the rank): the slope
// of all codec seconds over multiply-adds, by least squares with a constant, which absorbs launches
// and passes that no option changes. That slope is 0 until the amount of work has changed once.
#pragma once

#include <span>
#include <vector>

#include "base/state.h"
#include "compress/policies/knapsack.h"

namespace legacy {

// Collects steps and prices options.
class ExposedCost {
 public:
  explicit ExposedCost(size_t units) : exposed_(units, 0.0) {}

  // Adds one step's bytes and exposed seconds by unit; adds nothing if both are empty.
  void Add(std::span<const double> bytes, std::span<const double> seconds);
  // Adds the multiply-adds of one step, and its seconds of encoding and decoding.
  void AddWork(double amount, double seconds);
  // Converts bytes and multiply-adds of options to seconds; leaves bytes unchanged if nothing was
  // added.
  void Price(const ChoiceTable& work, ChoiceTable& bytes) const;
  // Clears bytes; the cost of work is kept.
  void Clear();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  std::vector<double> exposed_;  // exposed seconds of each unit
  double bytes_seconds_ = 0;     // sums of products over exposed units
  double bytes_bytes_ = 0;
  bool measured_ = false;
  // Number of steps whose work was added; the following are means, and sums of products about them.
  double steps_ = 0;
  double mean_amount_ = 0;
  double mean_seconds_ = 0;
  double amount_amount_ = 0;
  double amount_seconds_ = 0;
};

}  // namespace legacy
