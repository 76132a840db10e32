// Traffic says which algorithm carries a collective call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ns3-module/fabric/collective/collective.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// Collectives has one algorithm for each payload.
struct Collectives {
  fabric::CollectiveAlgorithm sum = fabric::CollectiveAlgorithm::RingAllReduce;
  fabric::CollectiveAlgorithm concat = fabric::CollectiveAlgorithm::RingAllGather;
  fabric::CollectiveAlgorithm broadcast = fabric::CollectiveAlgorithm::Broadcast;
  fabric::CollectiveAlgorithm requantised_sum = fabric::CollectiveAlgorithm::ScatterReduceAllGather;
};

// Reads a list of algorithms: each carries every payload that it can, the others stay as above.
// Throws Error on algorithms that carry none of these or need more than messages (groups, switches
// that add, shards).
Collectives ParseCollectives(const std::string& text);

// Returns the collective of a call in which the gradients of `elements` are exchanged.
fabric::CollectiveSpec CollectiveOf(const Collectives& collectives, const SentCall& call,
                                    int64_t elements);

}  // namespace legacy
