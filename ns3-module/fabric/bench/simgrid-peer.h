// The same traffic on SimGrid (Casanova, Giersch, Legrand, Quinson, Suter, JPDC'14), the flow-level
// simulator that the benchmark is measured against.
//
// Model CM02 without cross-traffic, window limit and correction factors, so that flows share links
// by plain max-min fairness where all latencies are equal. Routes are explicit lists of our
// directed links, so they are the same. Communications go directly from host to host
// (Comm::sendto_init) and the next one starts in the completion callback, in the kernel: no actor,
// no mailbox. This is the fastest of the ways that SimGrid's public interface has.
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

/// Runs it. Once in a process: SimGrid cannot be set up twice.
Measured RunSimGrid(const Case& what);

} // namespace legacy::fabric::bench
