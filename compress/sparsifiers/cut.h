// Selection by magnitude for all sparsifiers: deterministic, in index order, on one thread.
#pragma once

#include <cstdint>
#include <span>

#include "compress/sparsifier.h"

namespace legacy {

// Selects every |x| >= threshold, and everything at 0. Reads 4 bytes per element in one pass. Like
// all functions here it throws Error for NaN and infinity, naming the unit.
Selection SelectAtLeast(std::span<const float> values, float threshold, uint32_t unit);

// Adds `gradient`, unless it is empty, to `residual`, selects from the sum, and clears selected
// elements there. With threshold > 0 it takes one pass that reads 8 bytes per element and writes 4.
Selection SelectAtLeastWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                    float threshold, uint32_t unit);

// Selects the `k` largest magnitudes (all if there are fewer), ties to the lower index, in one
// pass.
Selection SelectLargest(std::span<const float> values, int64_t k, uint32_t unit);

// Returns the smallest magnitude of a selection, which must not be empty.
float SmallestMagnitude(const Selection& selection);

// Converts a selection from outer.values to a selection from the values that `outer` was selected
// from.
Selection Within(const Selection& outer, Selection inner);

}  // namespace legacy
