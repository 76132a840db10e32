// Draws from distributions, each a pure function of one hash. Arithmetic and square roots are exact
// to the last bit on every machine; logarithms and exponentials may differ in the last one, so
// what is drawn is rounded before anything depends on it.
#pragma once

#include <cstdint>

namespace legacy {

// Returns the quantile of the standard normal distribution at p in (0, 1), to 1e-15 relative
// (Wichura, Algorithm AS 241, PPND16, Applied Statistics 1988).
double NormalQuantile(double p);

// Return a draw from the standard normal, and from the exponential distribution of mean 1.
double NormalDraw(uint64_t hash);
double ExponentialDraw(uint64_t hash);

}  // namespace legacy
