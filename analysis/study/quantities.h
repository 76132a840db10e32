// Figures of a study are shown to people: speed-ups, differences, values of its axes.
#pragma once

#include <optional>
#include <string>

#include "analysis/quantities.h"
#include "analysis/study/statistics.h"
#include "analysis/study/study.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// Returns "4.40 [3.90, 5.00]", or "≥ 12.0" and "≤ 0.250" for bounds, or "-" where it is unknown.
std::string ShowSpeedup(const Speedup& speedup);

// Returns a difference of values of the metric with its interval: "+0.40 [-1.00, +1.80]", in points
// (hundredths) of a fraction, else in the metric's unit; "-" where it is unknown.
std::string ShowDifference(const Metric& metric, const Spread& difference);
// Returns the interval of such a difference alone, " [-1.00, +1.80]"; "" where there is none.
std::string ShowDifferenceInterval(const Metric& metric, const Spread& difference);
// Returns the number of decimals of such a difference.
int DifferenceDecimals(const Metric& metric, const Spread& difference);

// Returns one value of an axis alone: "8", "fat-tree", "1 Gbit/s", "1 %".
std::string ShowValue(const StudyAxis& axis, size_t value);

// Returns the value with its noun: "8 workers", "fat-tree", "1 Gbit/s", "density 1 %", "sigma 0.5".
std::string ShowAxisValue(const StudyAxis& axis, size_t value);

// Returns the axis as a label: "bandwidth", "device profile".
std::string ShowAxisName(const StudyAxis& axis);

// Returns a value between those of an axis with its interval. Where the interval reaches an end of
// the axis, nothing is known beyond: "91.7 [35.2, ≥ 400] Gbit/s".
std::string ShowCrossing(const StudyAxis& axis, double x, const std::optional<Interval>& interval);

}  // namespace legacy::analysis
