// What a policy decided and why, for people: the rows of decisions.csv. Nothing that trains depends
// on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace legacy {

// What a policy went by; NaN where it goes by no such thing. docs/policies.md has the units of each
// policy.
struct DecisionGrounds {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double error = kNone;    // that it takes the compression for
  double budget = kNone;   // what it may spend, or what it compares with
  double gain = kNone;     // what it gets for it
  double seconds = kNone;  // time estimate
  std::string reason = {};
};

struct Decision {
  static constexpr size_t kAllUnits = std::numeric_limits<size_t>::max();
  int64_t step = 0;         // the first that it holds for
  int64_t number = 0;       // decisions so far, this one included; 0: what holds before the first
  size_t unit = kAllUnits;  // position among the policy's units
  double parameter = 0;
  DecisionGrounds grounds = {};
};

class DecisionLog {
 public:
  // What is added from here on belongs to the next decision.
  void Begin() { ++number_; }
  // `step` never falls.
  void Add(int64_t step, size_t unit, double parameter, DecisionGrounds grounds) {
    started_ = true;
    decisions_.push_back({step, number_, unit, parameter, std::move(grounds)});
  }
  // One for each unit, for one reason.
  void AddAll(int64_t step, std::span<const double> parameters, const std::string& reason) {
    for (size_t unit = 0; unit < parameters.size(); ++unit) {
      Add(step, unit, parameters[unit], {.reason = reason});
    }
  }
  // Whether anything was ever added.
  bool Started() const { return started_; }
  std::vector<Decision> Take() { return std::exchange(decisions_, {}); }

 private:
  bool started_ = false;
  int64_t number_ = 0;
  std::vector<Decision> decisions_;  // since they were taken last
};

}  // namespace legacy
