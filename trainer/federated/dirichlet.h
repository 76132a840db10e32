// Draws of Gamma and Dirichlet variates, for partitions.
#pragma once

#include <span>
#include <vector>

#include "base/random.h"

namespace legacy {

// Returns the logarithm of a Gamma(shape, 1) variate, shape > 0 (Marsaglia and Tsang, ACM TOMS
// 2000; below 1 as Gamma(shape + 1) U^(1/shape)). Logarithms keep variates of tiny shapes apart.
double LogGamma(RandomStream& random, double shape);

// Returns shares from a Dirichlet distribution with these concentrations, >= 0 and not all 0. They
// sum to 1, whatever the concentrations are.
std::vector<double> Dirichlet(RandomStream& random, std::span<const double> concentrations);

}  // namespace legacy
