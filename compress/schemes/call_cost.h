// The time of a collective call on the network, as far as workers know the network (LinkEstimate).
#pragma once

#include <cstdint>
#include <span>

#include "compress/exchange.h"

namespace legacy {

// Returns the seconds of a collective call for a unit of `elements` in which worker w sends
// bytes[w]. They are those of the configured algorithm, or else, for N workers, a largest message
// of M bytes, latency a and b seconds per byte,
//
//   all-gather, ring    (N - 1) (a + M b)
//   all-reduce, ring    2 (N - 1) (a + M b / N)
//   broadcast, tree     log2 N (a + M b)
//   all-to-all          a + (N - 1) M b / N
//   block-sparse        2 a + (N - 1) (M + U) b / N   U: bytes of the sum
double CallSeconds(const LinkEstimate& link, const CollectiveCall& call, int64_t elements,
                   std::span<const int64_t> bytes);

// Returns the seconds of these calls one after the other, with that many active workers.
double CallsSeconds(const LinkEstimate& link, std::span<const PlannedCall> calls, int64_t elements,
                    int active_workers);

}  // namespace legacy
