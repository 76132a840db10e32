// Parts that plans with a server and plans without one share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "ns3-module/fabric/engine/dead-link.h"
#include "ns3-module/fabric/population/client-network.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// Throws Error where the network of so many clients and their plan, with a server or an exchange,
// would not fit the memory.
void CheckMemory(int64_t clients, bool exchange);

// Multiplies the rate of a port, and its schedule.
void ScaleRate(fabric::Port& port, double factor);

// Returns the network of a plan, with the remedy's rates and, where the plan has one, the server of
// `population`. Throws Error on places that the topology lacks.
fabric::ClientNetwork NetworkOf(const fabric::Population& population, const PlanRequest& request,
                                const PlanRemedy& remedy);

// Returns the rows of links that carried `counters` (by directed link) in `seconds`: links of the
// core and the server's line singly, access lines summed by group and direction.
std::vector<analysis::LinkRow> LinksOf(const PlanRequest& request,
                                       const fabric::ClientNetwork& network,
                                       const std::vector<fabric::LinkCounters>& counters,
                                       double seconds);

// Throws Error with what `dead` says, and whose transfer waits: clients by number and group.
[[noreturn]] void ThrowWithClients(const fabric::DeadLink& dead,
                                   const fabric::ClientNetwork& network,
                                   const fabric::Population& population);

}  // namespace legacy
