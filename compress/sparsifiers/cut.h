// Selecting by magnitude: what the sparsifiers share. Deterministic, in index order, on one thread.
#pragma once

#include <cstdint>
#include <span>

#include "compress/sparsifier.h"

namespace legacy {

// Every |x| >= threshold; all of them at 0. One pass: 4 bytes read an element. Like all of these it
// throws Error on NaN and infinity, naming the unit.
Selection SelectAtLeast(std::span<const float> values, float threshold, uint32_t unit);

// residual += gradient, where there is one; then the same of the sum, cleared in it. In the same
// pass where threshold > 0: 8 bytes read and 4 written an element.
Selection SelectAtLeastWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                    float threshold, uint32_t unit);

// The `k` largest magnitudes (all where there are fewer), ties to the lower index. One pass.
Selection SelectLargest(std::span<const float> values, int64_t k, uint32_t unit);

// The smallest magnitude of a selection that is not empty.
float SmallestMagnitude(const Selection& selection);

// What was selected from outer.values, as a selection from where `outer` was selected.
Selection Within(const Selection& outer, Selection inner);

}  // namespace legacy
