// Natural dithering rounds each value at random to a power of two times the norm of its bucket, so
// that its expectation is the value. Horvath et al., "Natural Compression for Distributed Deep
// Learning", 2019, section 4.
//
// With s levels the magnitudes are 0 and u 2^(1-s), ..., u / 2, u, for the norm u of the bucket.
// The scale of a bucket is the f32 norm u, and code c, up to 2 s, has the sign and number of c - s:
// codes have 1 + ceil(log2(s + 1)) bits or less. A bucket whose norm is so small that its lowest
// level were no normal number becomes zeros, and its norm is written as 0.
//
// E||x - Q(x)||^2 <= (1/8 + B 4^-s) ||x||^2 for a bucket of B values: an error between two levels
// is at most 1/8 of the square (natural.cc), and each of the values below the lowest level adds at
// most a quarter of that level's square. Error feedback is allowed where that is below 1.
#pragma once

#include <memory>
#include <vector>

#include "compress/options.h"
#include "compress/quantiser.h"

namespace legacy {

// Returns the options "levels", "bucket" and "norm", and makes the quantiser from them.
std::vector<OptionSpec> NaturalDitheringOptions();
std::unique_ptr<Quantiser> MakeNaturalDithering(const OptionReader& options);

}  // namespace legacy
