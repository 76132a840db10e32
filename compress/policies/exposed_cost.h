// What a unit's bytes cost in time that is not hidden: the slope beta of exposed communication
// seconds over bytes, by least squares through the origin over all units that were exposed at all.
// Units that never were cost nothing. Encoding and decoding go over a unit's elements whatever the
// parameter: the same for all its options, they change no choice and are left out.
#pragma once

#include <span>
#include <vector>

#include "compress/policies/knapsack.h"
#include "compress/state.h"

namespace legacy {

class ExposedCost {
 public:
  explicit ExposedCost(size_t units) : exposed_(units, 0.0) {}

  // Of one step, by unit; nothing where both are empty.
  void Add(std::span<const double> bytes, std::span<const double> seconds);
  // Turns bytes into seconds; leaves them where nothing was added.
  void Price(OptionTable& bytes) const;
  void Clear();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  std::vector<double> exposed_;  // seconds of each unit
  double bytes_seconds_ = 0;     // sums of products over exposed units
  double bytes_bytes_ = 0;
  bool measured_ = false;
};

}  // namespace legacy
