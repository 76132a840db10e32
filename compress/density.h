// The density rule: how many elements sparsifiers keep.
#pragma once

#include <cstdint>

#include "compress/codec.h"

namespace legacy {

// Parameter of codecs that have none, and the fraction of elements that sparsifiers keep.
const ParameterSpec& NoParameter();
const ParameterSpec& DensityParameter();

// Elements kept of `numel`: max(1, floor(density * numel)), and 0 of nothing. The product is nudged
// up by its rounding error, so that a density that is written as k / numel keeps exactly k.
int64_t KeptCount(int64_t numel, double density);

}  // namespace legacy
