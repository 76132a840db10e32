// The density rule says how many elements sparsifiers keep.
#pragma once

#include <cstdint>

#include "compress/codec.h"

namespace legacy {

// Return the specification of codecs without a parameter, and that of a density: the fraction of
// elements that sparsifiers keep.
const ParameterSpec& NoParameter();
const ParameterSpec& DensityParameter();

// Returns how many of `numel` elements are kept: max(1, floor(density * numel)), and 0 of 0. The
// product is nudged up by its rounding error, so that a density written as k / numel keeps exactly
// k.
int64_t KeptCount(int64_t numel, double density);

}  // namespace legacy
