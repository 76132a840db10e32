// Numbers are shown to people in suitable units: "46.4 Mbit/s", "12.3 ms", "1 %". The texts are the
// same in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/study/statistics.h"
#include "analysis/study/study.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// Returns the number with `digits` significant digits and without an exponent: "0.0123", "4.40",
// "1234"; "-" for nan.
std::string ShowNumber(double value, int digits = 3);

// Returns a number of an axis or a column in its unit, which is "bit/s", "s", "B", "fraction"
// (percent), "USD" or "". It has no zeros at the end: 1 Gbit/s, not 1.00 Gbit/s.
std::string ShowQuantity(double value, const std::string& unit, int digits = 3);

// Returns mean and deviation with one common prefix, "12.3 ± 0.4 ms", or the mean alone where there
// is no deviation.
std::string ShowSpread(const Spread& spread, const std::string& unit, int digits = 3);

// Returns a mean with its interval, where it has one: "412 [380, 450] Mbit/s".
std::string ShowEstimate(double mean, const std::optional<Interval>& interval,
                         const std::string& unit, int digits = 3);

// Returns "4.40 [3.90, 5.00]", or "≥ 12.0" and "≤ 0.250" for bounds, or "-" where it is unknown.
std::string ShowSpeedup(const Speedup& speedup);

// Returns a difference of values of the metric with its interval: "+0.40 [-1.00, +1.80]", in points
// (hundredths) of a fraction, else in the metric's unit; "-" where it is unknown.
std::string ShowDifference(const Metric& metric, const Spread& difference);
// Returns the interval of such a difference alone, " [-1.00, +1.80]"; "" where there is none.
std::string ShowDifferenceInterval(const Metric& metric, const Spread& difference);
// Returns the number of decimals of such a difference.
int DifferenceDecimals(const Metric& metric, const Spread& difference);

// Returns "1 seed", "3 seeds".
std::string ShowCount(int64_t count, const std::string& noun);

// Returns one value of an axis alone: "8", "fat-tree", "1 Gbit/s", "1 %".
std::string ShowValue(const StudyAxis& axis, size_t value);

// Returns the value with its noun: "8 workers", "fat-tree", "1 Gbit/s", "density 1 %", "sigma 0.5".
std::string ShowAxisValue(const StudyAxis& axis, size_t value);

// Returns the axis as a label: "bandwidth", "device profile".
std::string ShowAxisName(const StudyAxis& axis);

}  // namespace legacy::analysis
