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

// Returns the 95 % t-interval of a mean; none below two values. Where each value is only known to
// lie in a range, the interval also holds the means of the ends of these ranges: no mean is better
// known than its values, however well they agree.
std::optional<Interval> MeanInterval(const Spread& spread,
                                     const std::vector<Interval>& ranges = {});

struct GeometricMean {
  int count = 0;
  double mean = kUnknown;
  std::optional<Interval> interval;  // none below two values
};
// `values` are positive, and so are the ends of their ranges.
GeometricMean GeometricMeanOf(const std::vector<double>& values,
                              const std::vector<Interval>& ranges = {});

}  // namespace legacy::analysis
