// Sums by hops (hops/hop_sum.h) of slices with owners (owned_slices.h): a reduce-scatter whose
// partial sums are decoded, added to and encoded again by every worker on the way. Each slice is
// one piece of whole blocks, the last of which may be short.
//
//   ring       the sum of slice j begins with worker j + 1 of a copy of the model and ends with
//              worker j, its owner: S - 1 messages, of which the first has one worker's values and
//              the last those of S - 1
//   butterfly  recursive halving among S workers, a power of two: a worker sends the slices of the
//              other half of the workers to that at distance S / 2, and so on
//
// The owner adds its own values last, in fp32, and encodes nothing. So a ring of independent values
// has q (S-1)/2 times the energy of the mean as its error, and a butterfly q log2(S)/2, where one
// encoding has q. Copies of the model have a sum each, and owners then add them up. A worker sends
// (S-1)/S of the bytes of its messages, as without hops.
#pragma once

#include <memory>
#include <string>

#include "compress/exchange.h"
#include "compress/schemes/owners/owned_slices.h"

namespace legacy {

// Returns true if a scheme forms sums by hops, each encoded again (reduction=ring, butterfly).
bool SumsByHops(const Scheme& scheme);

// Returns what keeps such a scheme from ending with the owners of slices; empty: nothing.
std::string HopObstacleOf(const Scheme& scheme, const Cut& cut);

// Returns the scheme whose sums end with the owners. Nothing keeps `scheme` from it.
std::unique_ptr<Scheme> WithOwnedHops(std::shared_ptr<const Scheme> scheme, const Cut& cut);

}  // namespace legacy
