// Checks of RoCEv2 are cases whose figure is held against a result of others: a row each of the
// validation section of RoCEv2 (validation_roce.cc).
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace legacy::roce_validation {

// A RoceFigure is one figure of ours, what it should be, and whether it is.
struct RoceFigure {
  double ours = 0;
  double expected = 0;
  bool holds = false;
};

// A RoceCheck is one row: a case with its figure.
struct RoceCheck {
  std::string part;      // "anchor", "form", "trend" or "train"
  std::string name;      // unique
  std::string quantity;  // with its unit
  std::string target;
  int decimals = 0;
  bool quick = false;
  std::function<RoceFigure()> run;
};

inline RoceFigure Within(double ours, double expected, double tolerance) {
  return {ours, expected, std::abs(ours - expected) <= tolerance * std::abs(expected)};
}

inline RoceFigure AtMost(double ours, double most) { return {ours, most, ours <= most}; }
inline RoceFigure AtLeast(double ours, double least) { return {ours, least, ours >= least}; }

// RoceChecks are the checks of a part, in the order in which they were added.
class RoceChecks {
 public:
  explicit RoceChecks(std::string part) : part_(std::move(part)) {}

  // Adds a check. A quick one is in the sample.
  void Add(const std::string& name, const std::string& quantity, const std::string& target,
           int decimals, const std::function<RoceFigure()>& run, bool quick = false) {
    checks_.push_back({part_, name, quantity, target, decimals, quick, run});
  }
  const std::vector<RoceCheck>& All() const { return checks_; }

 private:
  std::string part_;
  std::vector<RoceCheck> checks_;
};

// Return the checks of each part: times of ASTRA-sim's RDMA model; closed forms; what papers say of
// their testbeds and simulations, of which most rows compare the sign alone; and trains of frames
// compared with single frames.
RoceChecks Anchors();
RoceChecks ClosedForms();
RoceChecks PublishedTrends();
RoceChecks Trains();

}  // namespace legacy::roce_validation
