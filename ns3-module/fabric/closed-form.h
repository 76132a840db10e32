// Closed forms of the collectives on an idle fabric whose workers all start at once and are all
// equally far apart (a star; one leaf): alpha-beta with headers, ACKs and store-and-forward
// switches. The oracle of the analytic engine, exact to the nanosecond there, and of packet runs,
// within what TCP adds.
//
// With W wire bytes of a flow, F its first frame, A the ACKs' bytes, rate r, and h links of delay d
// each:
//   T(W)             = h (d + F/r) + (W - F)/r    a switch waits for a whole frame; the rest streams
//   ring all-reduce  = R T + (R - 1) A/r          R = 2 (N - 1), messages of M/N: the ACKs of what
//                                                 a worker receives share its card with its data
//   ring all-gather  = the same                   R = N - 1, messages of M
//   broadcast        = max over ranks 0 < v < N of (1 + floor(log2 v)) T + (popcount(v) - 1) A/r
//   parameter server = (T + (N - 1) W/r) + A/r + (T' + (N - 1) W'/r)
//                                                 the server's link carries all pushes, then pulls
#pragma once

#include "transport.h"
#include "units.h"

namespace legacy::fabric
{

/// Equal links in a row between every two endpoints.
struct UniformPath
{
    int hops = 2;
    int64_t rateBps = 0;
    TimeNs delay = 0; ///< of each hop
};

/// One flow of `payload` bytes alone; 0 for 0 bytes.
TimeNs FlowTime(const UniformPath& path, int64_t payload, const Transport& transport);

/// `bytes` of each worker; 0 for one worker. The all-reduce is exact where `workers` divides
/// `bytes`, and an upper bound elsewhere (it takes the larger chunks).
TimeNs
RingAllReduceTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport);
TimeNs
RingAllGatherTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport);
TimeNs
BroadcastTime(int workers, int64_t bytes, const UniformPath& path, const Transport& transport);
TimeNs ParameterServerTime(int workers,
                           int64_t pushBytes,
                           int64_t pullBytes,
                           const UniformPath& path,
                           const Transport& transport);

} // namespace legacy::fabric
