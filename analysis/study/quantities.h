// Numbers as people read them: "46.4 Mbit/s", "12.3 ms", "1 %". Deterministic, in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/study/statistics.h"
#include "analysis/study/study.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// That many significant digits, no exponent: "0.0123", "4.40", "1234"; "-" for nan.
std::string ShowNumber(double value, int digits = 3);

// A number of an axis or a column in its unit: "bit/s", "s", "B", "fraction" (percent), "USD" or
// "". Without zeros at the end: 1 Gbit/s, not 1.00 Gbit/s.
std::string ShowQuantity(double value, const std::string& unit, int digits = 3);

// "12.3 ms ± 0.4 ms" in one common prefix: "12.3 ± 0.4 ms"; no deviation where there is none.
std::string ShowSpread(const Spread& spread, const std::string& unit, int digits = 3);

// "412 [380, 450] Mbit/s": a mean and its interval, where it has one.
std::string ShowEstimate(double mean, const std::optional<Interval>& interval,
                         const std::string& unit, int digits = 3);

// "4.40 [3.90, 5.00]", "≥ 12.0" and "≤ 0.250" for bounds, "-" for the unknown.
std::string ShowSpeedup(const Speedup& speedup);

// "1 seed", "3 seeds".
std::string ShowCount(int64_t count, const std::string& noun);

// One value of an axis alone: "8", "fat-tree", "1 Gbit/s", "1 %".
std::string ShowValue(const StudyAxis& axis, size_t value);

// With what it is of: "8 workers", "fat-tree", "1 Gbit/s", "density 1 %", "sigma 0.5".
std::string ShowAxisValue(const StudyAxis& axis, size_t value);

// The axis as a label: "bandwidth", "device profile".
std::string ShowAxisName(const StudyAxis& axis);

}  // namespace legacy::analysis
