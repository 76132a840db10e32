// The peer runs the same traffic on SimGrid (Casanova, Giersch, Legrand, Quinson, Suter, JPDC'14),
// the flow-level simulator that the benchmark compares the flow engine with.
//
// It uses model CM02 without cross-traffic, window limit and correction factors, so that flows
// share links by plain max-min fairness where all latencies are equal. Routes are explicit lists of
// our directed links, so they are the same. Communications go directly from host to host
// (Comm::sendto_init) and the next one starts in the completion callback, in the kernel: no actor,
// no mailbox. This is the fastest way that SimGrid's public interface offers.
#pragma once

#include "traffic.h"

namespace legacy::fabric::bench
{

/// Seconds of processor time and of simulated time.
struct Measured
{
    double seconds = 0;
    double simulated = 0;
};

/// Runs the case on SimGrid. A process may call it once, because SimGrid cannot be set up twice.
Measured RunSimGrid(const Case& what);

} // namespace legacy::fabric::bench
