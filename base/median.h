// The median of some values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace legacy {

// Returns the value in the middle of `values`, or the mean of the two there; at least one is
// given.
template <typename T>
double Median(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const auto upper = static_cast<double>(values[middle]);
  return values.size() % 2 == 1 ? upper : (static_cast<double>(values[middle - 1]) + upper) / 2;
}

}  // namespace legacy
