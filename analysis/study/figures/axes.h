// Axes of a study's figures: their ranges, scales, ticks and numbers.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace legacy::analysis {

// Least and greatest value that an axis shows.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Add(double value);  // a value that is not finite is left out
  bool empty() const { return !(low <= high); }
};

// Returns a number of an axis without its unit: "10M", "2.5k", "0.1%". Seconds have no prefix where
// the `least` value of the axis is above 10 ms.
std::string PrefixedNumber(double value, const std::string& unit, double least);
// Returns such a number of a linear axis, with the prefix that suits the `most` of the axis.
std::string CommonPrefixNumber(double value, const std::string& unit, double most);

// Returns "bandwidth [bit/s, logarithmic]", without what does not hold.
std::string AxisLabel(const std::string& name, const std::string& unit, bool logarithmic = false);

// Returns gnuplot's settings of an axis, "x" or "y": range with a margin, scale, ticks. It is
// logarithmic where `logarithmic` is true and all values are positive. Ticks are at `marks` where
// these are few and the range is not wide; else at powers of ten, or at 1, 2 and 5 of each.
std::string SetAxis(const std::string& axis, const Range& range, const std::string& unit,
                    bool logarithmic, const std::vector<double>& marks = {});
bool CanBeLogarithmic(const Range& range);
// Returns the position of a value on the axis: 0 at its beginning, 1 at its end.
double PartOfAxis(const Range& range, bool logarithmic, double value);

}  // namespace legacy::analysis
