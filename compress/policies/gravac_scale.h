// GraVAC's scale (Tyagi and Swany, "GraVAC: Adaptive Compression for Communication-Efficient
// Distributed DL Training", IEEE CLOUD 2023, Algorithm 1) determines which compression factors are
// tried, what is known of each, and when to stay. gravac.cc has the messages.
//
// The paper leaves the following open, which is decided here:
//   - Candidates are one list of absolute factors from the first theta_min on, whatever theta_min
//     rises to.
//   - In the first window theta_cur is theta_min.
//   - A gain's moving average starts with its first sample. That of theta_cur starts again whenever
//     theta_cur changes, and becomes theta_min's when theta_min rises to theta_cur.
//   - The dense branch takes no part in the choice to stay. With fewer than two throughputs there
//     is nothing to compare. If the scale stays at a factor below a theta_min that has risen,
//     theta_min falls to that factor.
//   - To stay means to use the lower factor of the two (the paper's prose; its listing uses the
//     factor of the lower throughput). It lasts until the learning rate drops, with release, or
//     else for ever; windows then change nothing.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/state.h"

namespace legacy {

// The spacing of the factors.
enum class GravacScaling : uint8_t {
  kExponential,  // theta_min * {1, 2, 4, 16, 256, ...}, the exponent doubles; theta_max last
  kGeometric,    // theta_min * {1, 2, 4, 8, ...}; theta_max last
};

// Returns the factors, rising from theta_min to theta_max. 1 <= theta_min <= theta_max.
std::vector<double> GravacFactors(double theta_min, double theta_max, GravacScaling scaling);

// Constants of the algorithm.
struct GravacRules {
  double epsilon = 0.7;     // least gain that is accepted
  double omega = 0.01;      // relative difference that counts as none
  double smoothing = 0.01;  // weight of a new sample in the moving averages
};

// The branch that a step sends: everything, or a compression by the lower or by the current factor.
enum class GravacBranch : uint8_t { kDense, kMinimum, kCurrent };

// Runs the algorithm.
class GravacScale {
 public:
  GravacScale(std::vector<double> factors, const GravacRules& rules)
      : factors_(std::move(factors)), rules_(rules) {}

  double minimum() const { return factors_[minimum_]; }
  double current() const { return factors_[current_]; }
  bool stays() const { return stays_; }
  // Return the moving averages of the gains at minimum() and current(), which are compared with
  // epsilon. Weigh must have been called since the last window ended.
  double minimum_gain() const { return minimum_gain_; }
  double current_gain() const { return current_gain_; }

  // Takes the gains of this step's gradient at minimum() and current(), updates the averages, and
  // returns the branch to send.
  GravacBranch Weigh(double minimum_gain, double current_gain);
  // Records the throughput of the last weighed branch: `throughput`, which is 1 / seconds of the
  // step times a constant, is multiplied by the branch's gain.
  void Record(double throughput);
  // Ends a window: the next one may try another factor, or stay.
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
  std::map<size_t, double> throughputs_;  // last throughput of each factor that was sent
  bool stays_ = false;
};

}  // namespace legacy
