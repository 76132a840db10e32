#include "compress/policies/marchenko_pastur.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace legacy {
namespace {

// Returns the part of the eigenvalues that lie above the one at angle a.
double NumberAbove(double a, double c) {
  const double square = c * c;
  const double half = std::numbers::pi / 2;
  const double turn = a >= std::numbers::pi ? (c == 1 ? 0.0 : half)
                                            : std::atan((1 - c) / (1 + c) * std::tan(a / 2));
  const double sum =
      -std::sin(a) / (2 * c) + (1 + square) * a / (4 * square) - (1 - square) / (2 * square) * turn;
  return sum / half;
}

}  // namespace

double RandomMatrixError(MatrixShape shape, int64_t rank) {
  const auto [least, most] = std::minmax(shape.rows, shape.columns);
  if (rank <= 0) return 1;
  if (rank >= least) return 0;
  const double c = std::sqrt(static_cast<double>(least) / static_cast<double>(most));
  const double wanted = static_cast<double>(rank) / static_cast<double>(least);
  double low = 0, high = std::numbers::pi;
  // Each round halves the interval; 60 leave nothing of it.
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (NumberAbove(middle, c) < wanted ? low : high) = middle;
  }
  const double share = (low - std::sin(low) * std::cos(low)) / std::numbers::pi;
  return std::sqrt(std::max(0.0, 1 - share));
}

int64_t RankOfRandomError(MatrixShape shape, double error) {
  int64_t low = 0, high = std::min(shape.rows, shape.columns);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (RandomMatrixError(shape, middle) <= error) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace legacy
