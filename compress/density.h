// The density determines how many elements sparsifiers select.
#pragma once

#include <cstdint>

#include "compress/codec.h"

namespace legacy {

// Return the specification of codecs without a parameter, and that of a density: the fraction of
// elements that sparsifiers select.
const ParameterSpec& NoParameter();
const ParameterSpec& DensityParameter();

// Returns the number of selected elements of `numel`: max(1, floor(density * numel)), and 0 if
// numel is 0. The product is increased by its rounding error, so that a density written as k /
// numel selects exactly k.
int64_t KeptCount(int64_t numel, double density);

}  // namespace legacy
