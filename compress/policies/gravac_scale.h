// GraVAC's scale (Tyagi and Swany, "GraVAC: Adaptive Compression for Communication-Efficient
// Distributed DL Training", IEEE CLOUD 2023, Algorithm 1) says which compression factors are tried,
// what is known of each, and when to stay. Messages are gravac.cc's.
//
// The paper leaves these open, which are decided here:
//   - candidates are one list of absolute factors from theta_min on, whatever theta_min rises to
//   - in the first window theta_cur is theta_min
//   - a gain's moving average starts with its first sample; that of theta_cur starts anew whenever
//     theta_cur changes, and goes on as theta_min's when theta_min rises to theta_cur
//   - the dense branch takes no part in the choice to stay; with fewer than two throughputs there
//     is nothing to compare; where the factor that is stayed at lies below a theta_min that has
//     risen, theta_min comes down to it
//   - "staying" takes the lower factor of the two (the prose; the listing takes that of the lower
//     throughput), and holds until the learning rate drops if release is asked for, else for ever;
//     windows then change nothing
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compress/state.h"

namespace legacy {

// A GravacScaling says which factors are tried.
enum class GravacScaling : uint8_t {
  kExponential,  // theta_min * {1, 2, 4, 16, 256, ...}, the exponent doubles; theta_max last
  kGeometric,    // theta_min * {1, 2, 4, 8, ...}; theta_max last
};

// Returns the factors, rising from theta_min to theta_max. 1 <= theta_min <= theta_max.
std::vector<double> GravacFactors(double theta_min, double theta_max, GravacScaling scaling);

// GravacRules are the constants of the algorithm.
struct GravacRules {
  double epsilon = 0.7;     // least gain that is accepted
  double omega = 0.01;      // relative difference that counts as none
  double smoothing = 0.01;  // weight of a new sample in the moving averages
};

// A GravacBranch says what a step sends: everything, or the lower or the current factor.
enum class GravacBranch : uint8_t { kDense, kMinimum, kCurrent };

// A GravacScale runs the algorithm.
class GravacScale {
 public:
  GravacScale(std::vector<double> factors, const GravacRules& rules)
      : factors_(std::move(factors)), rules_(rules) {}

  double minimum() const { return factors_[minimum_]; }
  double current() const { return factors_[current_]; }
  bool stays() const { return stays_; }

  // Takes the gains of this step's gradient at minimum() and current(), updates the averages, and
  // returns what is sent.
  GravacBranch Weigh(double minimum_gain, double current_gain);
  // Records what the last weighed branch achieved: `throughput` without compression's loss, 1 /
  // seconds of the step times a constant, is multiplied by its gain.
  void Record(double throughput);
  // Ends a window: the next one may try other factors, or stay.
  void EndWindow();
  void Release() { stays_ = false; }

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  static constexpr double kNoSample = -1;

  bool FindStay();

  std::vector<double> factors_;
  GravacRules rules_;
  size_t minimum_ = 0;  // positions in factors_
  size_t current_ = 0;
  double minimum_gain_ = kNoSample;  // moving averages
  double current_gain_ = kNoSample;
  size_t sent_ = 0;  // position of the factor that the last step sent
  double sent_gain_ = 1;
  bool sent_dense_ = true;
  std::map<size_t, double> throughputs_;  // last value of each factor that was sent
  bool stays_ = false;
};

}  // namespace legacy
