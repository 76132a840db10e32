// The cost of a call is what it takes on the network, as far as workers know it (LinkEstimate).
#pragma once

#include <cstdint>
#include <span>

#include "compress/exchange.h"

namespace legacy {

// Returns the seconds of a collective call of a unit of `elements` in which worker w sends
// bytes[w]: by the configured algorithm, else, for N workers, the largest message of M bytes,
// latency a and seconds b per byte,
//
//   all-gather, ring    (N - 1) (a + M b)
//   all-reduce, ring    2 (N - 1) (a + M b / N)
//   broadcast, tree     log2 N (a + M b)
double CallSeconds(const LinkEstimate& link, const CollectiveCall& call, int64_t elements,
                   std::span<const int64_t> bytes);

// Returns the seconds of calls of that many active workers, one after the other.
double CallsSeconds(const LinkEstimate& link, std::span<const PlannedCall> calls, int64_t elements,
                    int active_workers);

}  // namespace legacy
