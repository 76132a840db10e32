// Selections from a whole unit, of which each owner of a slice gets its part (owned_slices.h,
// `select=unit`). What a worker selects, and its residual, are those of the scheme without owners,
// and owners add the same values in the same order: the mean is that scheme's, to the bit.
//
// How many values fall on a slice differs between workers, so that each worker first sends every
// owner the length of its part, 4 bytes. Lengths are known without that if all values are sent, or
// if all workers draw the same positions (Random-K). Each part is a message of its slice, which has
// a header alone if nothing is selected there.
#pragma once

#include <memory>
#include <string>

#include "compress/exchange.h"
#include "compress/schemes/owners/owned_slices.h"

namespace legacy {

// Returns what keeps a scheme, which can send to owners, from selecting from whole units; empty:
// nothing.
std::string UnitObstacleOf(const Scheme& scheme, const Cut& cut);

// Returns the scheme that selects from whole units. Nothing keeps `scheme` from it.
std::unique_ptr<Scheme> WithUnitSelection(std::shared_ptr<const Scheme> scheme, const Cut& cut);

}  // namespace legacy
