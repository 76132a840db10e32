// Parts that plans with a server and plans without one share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "ns3-module/fabric/engine/dead-link.h"
#include "ns3-module/fabric/population/client-network.h"
#include "scenarios/federated/plan.h"

namespace legacy {

// Throws Error where the network of that many clients and their plan, with a server or an exchange,
// would not fit the memory.
void CheckMemory(int64_t clients, bool exchange);

// Multiplies the rate of a port, and its schedule.
void ScaleRate(fabric::Port& port, double factor);

// PlanNetworks are the network of a request, which outlives them, and of its remedies. What
// remedies leave as it is, such as a million drawn clients, is made once.
class PlanNetworks {
 public:
  explicit PlanNetworks(const PlanRequest& request) : request_(request) {}

  const PlanRequest& Request() const { return request_; }
  // Returns the network with the remedy's rates and place of the server. Throws Error on places
  // that the topology lacks.
  std::shared_ptr<const fabric::ClientNetwork> With(const PlanRemedy& remedy);

 private:
  const PlanRequest& request_;
  std::shared_ptr<const fabric::ClientNetwork> plain_;  // null: not yet made
};

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
