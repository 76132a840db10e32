// These are closed forms of the collectives on an idle fabric whose workers all start at once and
// are all equally far apart (a star; one leaf): alpha-beta with headers, ACKs and store-and-forward
// switches. Tests compare the analytic engine with them, to the nanosecond, and packet runs, within
// what TCP adds.
//
// With W wire bytes of a flow, F its first frame, A the ACKs' bytes, rate r, and h links of delay d
// each:
//   T(W)             = h (d + F/r) + (W - F)/r    a switch waits for a whole frame;
//                                               the rest streams
//   ring all-reduce  = R T + (R - 1) A/r          R = 2 (N - 1), messages of M/N: the ACKs of what
//                                                 a worker receives share its NIC with its data
//   ring all-gather  = the same                   R = N - 1, messages of M
//   ring reduce-scatter = the same                R = N - 1, messages of M/N
//   rings of C channels = max of R T + (R - 1) A/r + (C - 1) (W + A)/r and
//                         T + (R C - 1) W/r + (R - 1) C A/r, messages of M/N/C, M/C: the way of a
//                                                 block round its ring, or the NIC that all rings
//                                                 share, whichever takes longer. Where messages
//                                                 exceed a protocol's chunk, R counts the rounds
//                                                 of all turns; a protocol's times (protocol.h)
//                                                 come on top: of all hops, or of the first
//   broadcast        = max over ranks 0 < v < N of (1 + floor(log2 v)) T + (popcount(v) - 1) A/r
//   parameter server = (T + (N - 1) W/r) + A/r + (T' + (N - 1) W'/r)
//                                                 the server's link carries all pushes, then pulls
//   halving-doubling = sum over its messages M/2, M/4, .., M/P, M/P, .., M/2 of (T + A/r) - A/r,
//                      and where N > P: (T + A/r) of M before, A/r + T of M after, and W/r of one
//                      byte for each of the floor((P - 1) / (N - P)) words of a worker
//   halving reduce-scatter = sum over M/2, M/4, .., M/P of (T + A/r), without the last A/r; where
//                      N > P: (T + A/r) of M before, T of M/N after, T of a word and W/r of the
//                      others; messages have the blocks of folded workers too
//   recursive doubling, Bruck = sum over stages k of (T + A/r) of min(2^k, N - 2^k) M, without the
//                      last A/r
//   direct           = T + (N - 2) W/r            one phase; a second one starts after
//                                                 max((N-1) (W+A)/r, T + (N-2) W/r + A/r)
//   all-to-all with relays: T of a node's joined messages more, and W/r for each message that a
//                      worker sends on; an estimate
//   hierarchical     = rounds of three rings, each round T + A/r, without the last A/r
//   sharded server   = (T + (m - 1) W/r) + A/r + (T' + (m - 1) W'/r) of shards, m = max(N, S)
//   sparse tree      = sum over its levels of (T + A/r), then the broadcast
//   in-network       = 2 T1 + (K A + (K - 1) W)/r  K pieces; T1 of one piece, on half of the links
//   NVLS             = 4 T1 + ((H + 1) P + S - 3) (W + A)/r + 2 D (T' + W'/r)
//                      + n (K - 1) (W' + A')/r
//                      H heads with P pieces each, in S streams (one for each tree over the nodes)
//                      of K pieces; T1 of one piece on half of the links; D levels of nodes, n
//                      neighbours of the busiest node; W' without a protocol's lines. This is an
//                      estimate: the analytic engine takes 0.79 to 1.24 of it on a star
//   ring by hops     = R T + (R - 1) A/r + (N - 1) C, R = 2 (N - 1), messages of M/N; C is what the
//                      slowest worker computes between two messages, and ACKs then delay nothing,
//                      so that this is an upper bound where C > 0. With S slices (S - 1) (W +
//                      A)/r more, or the time of the NIC or of the device, where one is longer: an
//                      estimate
//   butterfly by hops = that of halving-doubling, and C of each message that is reduced; where N >
//   P
//                      the messages before and after it, and W/r of a half one instead of words:
//                      an upper bound; that of each slice
//   reduce-scatter by hops = the first half of either: R = N - 1 and (N - 2) C in a ring, no
//   doubling
//                      and no C of the last message in the other
//   block-sparse     = max of L + (K - 1) m X and R L
//                      K pieces of a shard, in R sets of slots; L = T + (m - 1) W/r + T' + (m - 1)
//                      W'/r; m = max(N, S), N - 1 where workers aggregate; X = max(W + A', W' +
//                      A)/r, or their sum where they do: an estimate
//   double tree      = 2 D (T + W/r) + 4 (K - 1) (W + A)/r
//                      D levels of two children, K pieces in each tree; an inner node sends and
//                      ACKs four pieces for each pair of pieces. This is an estimate: the analytic
//                      engine takes 0.75 to 1.05 of it, as no simple form says how the two trees
//                      share the NICs
//
// With roce:cc=hpcc, frames and ACKs have the telemetry of h - 1 switches, and what follows a first
// frame takes 1/eta times as long where h > 1, or where the switch that sums sends it.
//
// They are exact where messages are cut evenly (N, G, P, S divide what they cut; S divides N) and
// all are of one size. Elsewhere they are an upper bound, as the larger parts are taken, except for
// halving algorithms with N > P, where ACKs may delay messages by up to 2 %. For direct algorithms
// and sharded servers this holds for up to `window` + 1 workers. With HPCC they are upper bounds
// where a NIC sends to several at once, as it fills its own link.
#pragma once

#include "base/units.h"
#include "collective.h"
#include "fabric/engine/transport.h"

namespace legacy::fabric
{

/// A UniformPath is a number of equal links in a row between every two endpoints.
struct UniformPath
{
    int hops = 2;
    int64_t rateBps = 0;
    TimeNs delay = 0; ///< propagation delay of each hop
};

/// Returns the closed form of any algorithm, with the largest of the workers' bytes. Throws Error
/// on an invalid spec.
TimeNs
ClosedFormTime(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport);

/// Returns the time of one flow of `payload` bytes alone; 0 for 0 bytes.
TimeNs FlowTime(const UniformPath& path, int64_t payload, const Transport& transport);

/// NodePaths has the paths between workers of one node, and between workers of the same rail of two
/// nodes. Every worker has a link of each kind.
struct NodePaths
{
    UniformPath inside;
    UniformPath across;
};

/// Returns the closed form of a ring algorithm over `spec.channels` rings on an idle fabric of
/// nodes of `spec.group` workers, with a rail for each (rail-optimised). Of three times it takes
/// the longest: that of a block that passes R hops, Q of them across nodes, R the rounds and Q =
/// floor((R - 1) / G) + 1; that of the rail that carries the most rings; that of a worker's link
/// inside the node. The analytic engine takes 0.96 to 1.06 of it where the number of nodes is even,
/// and within 1 % where one of the three times is much longer than the others. Throws Error on an
/// invalid spec, another algorithm, or workers that do not fill two nodes or more.
TimeNs
RailRingsTime(const CollectiveSpec& spec, const NodePaths& paths, const Transport& transport);

/// Returns the closed form of an NVLS all-reduce on an idle fabric of nodes of `spec.group`
/// workers, each of which has a rail: what the first piece takes, and then the longer of two times,
/// that of a worker's link inside the node and that of the busiest rail. The analytic and flow
/// engines take 0.8 to 1.12 of it. Throws Error on an invalid spec, another algorithm, or a single
/// worker.
TimeNs RailNvlsTime(const CollectiveSpec& spec, const NodePaths& paths, const Transport& transport);

/// Return the closed forms of four algorithms. `bytes` are those of each worker; the time is 0 for
/// one worker. The all-reduce is exact where `workers` divides `bytes`, and an upper bound
/// elsewhere, as it takes the larger chunks.
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
                           const Transport& transport,
                           TimeNs serve = 0);

} // namespace legacy::fabric
