// Fairness among those who share a network.
#pragma once

#include <span>

namespace legacy {

// Returns Jain's fairness index of shares, (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe, DEC-TR-301,
// 1984): 1 where all are equal, 1/n where one has everything. It is 1 without shares, and where all
// are 0.
double JainIndex(std::span<const double> shares);

}  // namespace legacy
