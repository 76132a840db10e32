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

// Reads a list of algorithms. Each carries every payload that it can; payloads that none of them
// carries keep the defaults above. Throws Error on algorithms that carry no payload here or need
// more than messages (groups, switches that add, shards).
Collectives ParseCollectives(const std::string& text);

// Returns the fabric's collective for a call that exchanges the gradients of `elements` values.
fabric::CollectiveSpec CollectiveOf(const Collectives& collectives, const SentCall& call,
                                    int64_t elements);

}  // namespace legacy
