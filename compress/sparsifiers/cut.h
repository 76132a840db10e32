// Sparsifiers share how they select by magnitude: deterministically, in index order, on one thread.
#pragma once

#include <cstdint>
#include <span>

#include "compress/sparsifier.h"

namespace legacy {

// Selects every |x| >= threshold; all of them at 0. It reads 4 bytes an element in one pass. Like
// all of these it throws Error on NaN and infinity, naming the unit.
Selection SelectAtLeast(std::span<const float> values, float threshold, uint32_t unit);

// Adds `gradient`, where there is one, to `residual`; then selects from the sum, and clears there
// what it selects. With threshold > 0 it is one pass, which reads 8 bytes an element and writes 4.
Selection SelectAtLeastWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                    float threshold, uint32_t unit);

// The `k` largest magnitudes (all where there are fewer), ties to the lower index. One pass.
Selection SelectLargest(std::span<const float> values, int64_t k, uint32_t unit);

// The smallest magnitude of a selection that is not empty.
float SmallestMagnitude(const Selection& selection);

// Returns what was selected from outer.values, as a selection from where `outer` was selected.
Selection Within(const Selection& outer, Selection inner);

}  // namespace legacy
