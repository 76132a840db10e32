// Adaptive policies watch gradients and the learning rate with these values. They are copied whole
// and loaded into a copy, so that a refused state changes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/state.h"
#include "compress/unit.h"

namespace legacy {

// The sum of gradients over some steps, flat as the units are in the model.
class GradientSum {
 public:
  explicit GradientSum(std::span<const Unit> units);

  // Adds one unit's gradient.
  void Add(const Unit& unit, std::span<const float> gradient);
  // Adds the gradients of all units.
  void AddFlat(std::span<const float> gradient);
  void CountStep() { ++steps_; }
  int64_t steps() const { return steps_; }
  // Replaces the sum by the mean over the counted steps, and returns it.
  std::span<const float> TakeMean();
  // Returns the Euclidean norm of the unit's part of the sum.
  double Norm(const Unit& unit) const;
  void Clear();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  std::vector<float> sum_;
  int64_t steps_ = 0;
};

// Detects drops of the learning rate to at most 0.9 of the previous step's, so that schedules that
// fall a little at every step (cosine, linear) do not count.
class RateDrop {
 public:
  // Takes the rate of the next step, and returns true if it dropped.
  bool Sees(double learning_rate);
  void Save(StateWriter& out) const { out.Real(last_); }
  void Load(StateReader& in) { last_ = in.Real("learning rate"); }

 private:
  double last_ = 0;
};

// Accordion's test (Agarwal et al., "Adaptive Gradient Communication via Critical Learning Regime
// Identification", MLSys 2021, Algorithm 1): a unit is critical if the norm of its accumulated
// gradient changed by at least the fraction eta since the previous decision. At the first decision,
// and after a norm of 0, a unit is critical.
class CriticalRegimes {
 public:
  CriticalRegimes(size_t units, double eta) : eta_(eta), before_(units, 0.0) {}

  double eta() const { return eta_; }
  // Returns the relative change of each unit's norm since the previous decision; NaN if there was
  // none.
  std::vector<double> Moved(std::span<const double> norms) const;
  // Returns for each unit whether it is critical, and keeps `norms` for the next decision.
  std::vector<bool> Test(std::span<const double> norms);
  // Makes the next decision like the first one.
  void Forget();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  double eta_;
  std::vector<double> before_;
};

}  // namespace legacy
