// Chooses by several objectives, all of which are minimised.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace legacy {

using Objectives = std::array<double, 3>;  // not negative

// Returns the positions of the points that no other point dominates, ascending. A point dominates
// another one if no objective is larger and at least one is smaller. Points with an objective that
// is infinite or NaN are left out.
std::vector<size_t> ParetoFront(std::span<const Objectives> points);

// Returns the position, in the non-empty `front`, of the point nearest to the ideal point, which
// has the least value of each objective over the front: the method of the global criterion.
// Distances are Euclidean, relative to the ideal's values (2 is three times the least). An
// objective whose least value is 0 does not count. Among equally near points it takes the first.
size_t NearestToIdeal(std::span<const Objectives> points, std::span<const size_t> front);

}  // namespace legacy
