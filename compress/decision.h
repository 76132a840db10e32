// The decisions of a policy and their reasons, for people: the rows of decisions.csv. Training does
// not depend on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace legacy {

// The numbers that a policy decided by; NaN for numbers that it does not use. docs/policies.md has
// the units of each policy.
struct DecisionGrounds {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double error = kNone;    // error that the policy expects of the compression
  double budget = kNone;   // amount that it may spend, or that it compares with
  double gain = kNone;     // gain that it expects
  double seconds = kNone;  // estimated time
  std::string reason = {};
};

// One row of decisions.csv.
struct Decision {
  static constexpr size_t kAllUnits = std::numeric_limits<size_t>::max();
  int64_t step = 0;         // the first step that it holds for
  int64_t number = 0;       // number of decisions so far, including this one; 0: the initial choice
  size_t unit = kAllUnits;  // position among the policy's units
  double parameter = 0;
  DecisionGrounds grounds = {};
};

// Collects the decisions of one policy.
class DecisionLog {
 public:
  // Begins the next decision, to which all following calls of Add belong.
  void Begin() { ++number_; }
  // Adds the choice for one unit. `step` never falls between calls.
  void Add(int64_t step, size_t unit, double parameter, DecisionGrounds grounds) {
    started_ = true;
    decisions_.push_back({step, number_, unit, parameter, std::move(grounds)});
  }
  // Adds one choice for each unit, all for the same reason.
  void AddAll(int64_t step, std::span<const double> parameters, const std::string& reason) {
    for (size_t unit = 0; unit < parameters.size(); ++unit) {
      Add(step, unit, parameters[unit], {.reason = reason});
    }
  }
  // Returns true if anything was ever added.
  bool Started() const { return started_; }

  // Return and set what a policy logged last, for policies that log changes alone. NaN: nothing.
  double Last() const { return last_; }
  void SetLast(double last) { last_ = last; }

  // A Position says how far a log has got, so that another one can continue from there.
  struct Position {
    bool started = false;
    int64_t number = 0;
    double last = DecisionGrounds::kNone;
  };
  Position At() const { return {started_, number_, last_}; }
  // Continues from there, without the decisions so far.
  void GoOn(const Position& at) {
    started_ = at.started;
    number_ = at.number;
    last_ = at.last;
    decisions_.clear();
  }
  std::vector<Decision> Take() { return std::exchange(decisions_, {}); }

 private:
  bool started_ = false;
  int64_t number_ = 0;
  double last_ = DecisionGrounds::kNone;
  std::vector<Decision> decisions_;  // decisions since the last Take()
};

}  // namespace legacy
