// Closed forms of the collectives on an idle fabric whose workers all start at once and are all
// equally far apart (a star; one leaf): alpha-beta with headers, ACKs and store-and-forward
// switches. The oracle of the analytic engine, exact there (a push to the server to a nanosecond),
// and of packet runs, within what TCP adds.
//
// W wire bytes of a flow, F of its first frame, A of its ACKs (A <= W), rate r, h links of delay d:
//
//   T = h (d + F/r) + (W - F)/r
//     every link waits for a whole frame; the rest streams behind the first
//   ring all-reduce  = (R - 1) max(T, (W + A)/r) + T, R = 2 (N - 1), messages of M/N
//   ring all-gather  = the same with R = N - 1, messages of M
//     ACKs leave while data arrives, behind the worker's own message of the round, on one card
//   broadcast        = ceil(log2 N) T
//   parameter server = T + (N - 1) W/r + T' + (N - 1) W'/r, primed for the pull
//     the server's link carries all pushes, then all pulls; a relay's or the server's card is
//     otherwise idle while data arrives, so that no ACK is in the way of what it sends next
//
// Left out: the ACK of a flow's last frame cannot leave before that frame is in, just ahead of what
// the receiver sends next.
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
