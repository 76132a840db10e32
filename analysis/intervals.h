// Intervals of means over seeds, by Student's t.
#pragma once

#include <optional>
#include <vector>

#include "analysis/summary.h"

namespace legacy::analysis {

inline constexpr double kConfidence = 0.95;  // confidence of all intervals

struct Interval {
  double low = 0;
  double high = 0;
};

// Returns Student's t with P(T <= t) = probability, which is in (0, 1). `degrees` of freedom are 1
// or more.
double StudentQuantile(double probability, int degrees);

// Returns the 95 % t-interval of a mean; none below two values.
std::optional<Interval> MeanInterval(const Spread& spread);

struct GeometricMean {
  int count = 0;
  double mean = kUnknown;
  std::optional<Interval> interval;  // none below two values
};
GeometricMean GeometricMeanOf(const std::vector<double>& values);  // `values` are positive

}  // namespace legacy::analysis
