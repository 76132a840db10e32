#include "compress/policies/pareto.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace legacy {
namespace {

bool IsFinite(const Objectives& point) {
  return std::ranges::all_of(point, [](double value) { return std::isfinite(value); });
}

bool Dominates(const Objectives& a, const Objectives& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
  }
  return a != b;
}

}  // namespace

std::vector<size_t> ParetoFront(std::span<const Objectives> points) {
  std::vector<size_t> front;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool dominated = std::ranges::any_of(points, [&](const Objectives& other) {
      return IsFinite(other) && Dominates(other, points[i]);
    });
    if (IsFinite(points[i]) && !dominated) front.push_back(i);
  }
  return front;
}

size_t NearestToIdeal(std::span<const Objectives> points, std::span<const size_t> front) {
  assert(!front.empty());
  Objectives ideal = points[front.front()];
  for (const size_t i : front) {
    for (size_t j = 0; j < ideal.size(); ++j) ideal[j] = std::min(ideal[j], points[i][j]);
  }
  size_t nearest = front.front();
  double least = std::numeric_limits<double>::infinity();
  for (const size_t i : front) {
    double distance = 0;  // squared
    for (size_t j = 0; j < ideal.size(); ++j) {
      if (ideal[j] > 0) distance += std::pow(points[i][j] / ideal[j] - 1, 2);
    }
    if (distance >= least) continue;
    least = distance;
    nearest = i;
  }
  return nearest;
}

}  // namespace legacy
