// Adaptive policies watch gradients and the learning rate. These are values: they are copied whole,
// and loaded into a copy, so that a state that is refused changes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/state.h"
#include "compress/unit.h"

namespace legacy {

// A GradientSum is the sum of gradients over some steps, flat as the units are in the model.
class GradientSum {
 public:
  explicit GradientSum(std::span<const Unit> units);

  // Adds one unit's gradient, and its residual where one is given.
  void Add(const Unit& unit, std::span<const float> gradient, std::span<const float> residual = {});
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

// A RateDrop tells when the learning rate drops to at most 0.9 of what it was a step before, so
// that schedules that fall a little at every step (cosine, linear) do not count.
class RateDrop {
 public:
  // Takes the rate of the next step, and returns true where it dropped.
  bool Sees(double learning_rate);
  void Save(StateWriter& out) const { out.Real(last_); }
  void Load(StateReader& in) { last_ = in.Real("learning rate"); }

 private:
  double last_ = 0;
};

// CriticalRegimes is Accordion's test (Agarwal et al., "Adaptive Gradient Communication via
// Critical Learning Regime Identification", MLSys 2021, Algorithm 1): a unit is critical where the
// norm of its accumulated gradient moved by at least the fraction eta of what it was at the
// decision before. The first decision, and one after a norm of 0, is critical.
class CriticalRegimes {
 public:
  CriticalRegimes(size_t units, double eta) : eta_(eta), before_(units, 0.0) {}

  double eta() const { return eta_; }
  // Returns by what fraction of the norm before each unit's norm changed; NaN where there was none.
  std::vector<double> Moved(std::span<const double> norms) const;
  // Returns whether each unit is critical, and keeps `norms` for the next decision.
  std::vector<bool> Test(std::span<const double> norms);
  // Makes the next decision like the first.
  void Forget();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  double eta_;
  std::vector<double> before_;
};

}  // namespace legacy
