// Contention measures whether connections share links, which decides if a case is congested.
#pragma once

#include <vector>

#include "scenarios/network/engines/network.h"
#include "scenarios/network/flow_recorder.h"

namespace legacy {

// Returns the longest time, over all directed links, that a link has flows of two or more
// connections (ordered pairs of endpoints) crossing it at once, as a fraction of the time from the
// first start to the last arrival. It is 0 where nothing is sent.
double ContendedFraction(const std::vector<RecordedFlow>& flows, const Network& network);

}  // namespace legacy
