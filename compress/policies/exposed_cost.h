// An exposed cost is what a unit's bytes cost in time that is not hidden: the slope beta of exposed
// communication seconds over bytes, by least squares through the origin over all units that were
// exposed at all. Units that never were cost nothing.
//
// It is also what work costs that grows with the parameter (PowerSGD's products with the rank): the
// slope of all codec seconds over multiply-adds, by least squares with a constant, which takes in
// launches and passes that no option changes. It is known once the amount has changed, and 0
// before.
#pragma once

#include <span>
#include <vector>

#include "compress/policies/knapsack.h"
#include "compress/state.h"

namespace legacy {

// An ExposedCost collects steps and prices options.
class ExposedCost {
 public:
  explicit ExposedCost(size_t units) : exposed_(units, 0.0) {}

  // Adds one step's bytes and exposed seconds by unit; nothing where both are empty.
  void Add(std::span<const double> bytes, std::span<const double> seconds);
  // Multiply-adds of one step, and its seconds of encoding and decoding.
  void AddWork(double amount, double seconds);
  // Turns bytes and multiply-adds of options into seconds; leaves bytes where nothing was added.
  void Price(const OptionTable& work, OptionTable& bytes) const;
  // Forgets bytes; what work costs stays.
  void Clear();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  std::vector<double> exposed_;  // exposed seconds of each unit
  double bytes_seconds_ = 0;     // sums of products over exposed units
  double bytes_bytes_ = 0;
  bool measured_ = false;
  // Steps whose work was added; below are means, and sums of products about them.
  double steps_ = 0;
  double mean_amount_ = 0;
  double mean_seconds_ = 0;
  double amount_amount_ = 0;
  double amount_seconds_ = 0;
};

}  // namespace legacy
