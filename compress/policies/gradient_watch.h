// What adaptive policies remember of gradients and of the learning rate. Values: copied whole, and
// loaded into a copy, so that a state that is refused changes nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/state.h"
#include "compress/unit.h"

namespace legacy {

// The sum of gradients over some steps, flat as the units lie in the model.
class GradientSum {
 public:
  explicit GradientSum(std::span<const Unit> units);

  void Add(const Unit& unit, std::span<const float> gradient, std::span<const float> residual = {});
  void AddFlat(std::span<const float> gradient);
  void CountStep() { ++steps_; }
  int64_t steps() const { return steps_; }
  // The mean over the counted steps replaces the sum.
  std::span<const float> TakeMean();
  double Norm(const Unit& unit) const;  // of the sum
  void Clear();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  std::vector<float> sum_;
  int64_t steps_ = 0;
};

// Tells when the learning rate drops: to at most 0.9 of what it was a step before, so that
// schedules that fall a little at every step (cosine, linear) do not count.
class RateDrop {
 public:
  bool Sees(double learning_rate);
  void Save(StateWriter& out) const { out.Real(last_); }
  void Load(StateReader& in) { last_ = in.Real("learning rate"); }

 private:
  double last_ = 0;
};

// Accordion's test for critical regimes (Agarwal et al., "Adaptive Gradient Communication via
// Critical Learning Regime Identification", MLSys 2021, Algorithm 1): the norm of a unit's
// accumulated gradient moved by at least the share eta of what it was at the decision before. The
// first decision, and one after a norm of 0, is critical.
class CriticalRegimes {
 public:
  CriticalRegimes(size_t units, double eta) : eta_(eta), before_(units, 0.0) {}

  double eta() const { return eta_; }
  // By what part of the norm before each unit's norm changed; NaN where there was none.
  std::vector<double> Moved(std::span<const double> norms) const;
  // Whether each unit is critical; `norms` are kept for the next decision.
  std::vector<bool> Test(std::span<const double> norms);
  void Forget();  // the next decision is like the first

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  double eta_;
  std::vector<double> before_;
};

}  // namespace legacy
