// Numbers are shown to people in suitable units: "46.4 Mbit/s", "12.3 ms", "1 %". The texts are the
// same in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/intervals.h"
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

// IntervalMarks are written before the ends of an interval.
struct IntervalMarks {
  const char* low = "";
  const char* high = "";
};

// Returns a mean with its interval, where it has one: "412 [380, 450] Mbit/s".
std::string ShowEstimate(double mean, const std::optional<Interval>& interval,
                         const std::string& unit, int digits = 3, const IntervalMarks& marks = {});

// Returns "1 seed", "3 seeds".
std::string ShowCount(int64_t count, const std::string& noun);

// Returns "a", "a and b", "a, b and c".
std::string JoinWords(const std::vector<std::string>& words);

}  // namespace legacy::analysis
