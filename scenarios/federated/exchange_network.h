// The network of clients that exchange without a server: each client is a rank of collectives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ns3-module/fabric/population/client-network.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/federated/plan.h"
#include "scenarios/federated/plan_parts.h"
#include "trainer/clock/transfers.h"

namespace legacy {

// ExchangedBytes count what one endpoint sends to another in a round.
struct ExchangedBytes {
  std::pair<int, int> ends;  // sender and receiver; ranks come before switches
  int64_t payload = 0;
  int64_t wire = 0;
  int64_t acks = 0;
};
// ExchangedPairs have those of all endpoints, by sender and receiver.
using ExchangedPairs = std::vector<ExchangedBytes>;

// A PairPath sums up the links from one endpoint to another.
struct PairPath {
  double seconds_per_byte = 0;  // of the slowest link, at mean rates
  double delay = 0;             // seconds, one way
  double links = 0;
  double usd_per_gb = 0;
  std::vector<fabric::LinkShare> shares = {};
};

// An ExchangeNetwork is the network of a request that has an exchange. Its PlanNetworks outlive it.
class ExchangeNetwork {
 public:
  // Throws Error on places that the topology lacks.
  ExchangeNetwork(PlanNetworks& networks, const PlanRemedy& remedy);
  ExchangeNetwork(const ExchangeNetwork&) = delete;
  ExchangeNetwork& operator=(const ExchangeNetwork&) = delete;

  const fabric::ClientNetwork& Network() const { return *network_; }
  const fabric::Topology& Topology() const { return network_->topology; }
  const fabric::Placement& Placement() const { return placement_; }
  const fabric::Transport& Transport() const { return transport_; }
  // Returns the client of each rank.
  const std::vector<int>& Order() const { return request_.exchange->order; }
  int Ranks() const { return static_cast<int>(Order().size()); }
  // Returns true for the network of no remedy.
  bool AsItIs() const { return as_it_is_; }

  fabric::StepSimulator Simulator() const;
  // Returns the algorithms of collective calls: the request's own for those that it carries, and
  // for the others that of the same name, or a ring.
  TransferOptions Transfers() const;

  // Returns what is sent in a round of that traffic.
  ExchangedPairs PairsOf(const fabric::StepTraffic& traffic) const;
  PairPath Path(std::pair<int, int> ends) const;
  // Adds what clients send, get and pay in `rounds` such rounds. A flow and its ACKs are paid by
  // the client that sends it; what switches send in a collective counts for no client.
  void AddBytes(const ExchangedPairs& pairs, int64_t rounds,
                std::vector<ClientTotals>& clients) const;

 private:
  const PlanRequest& request_;
  fabric::Transport transport_;
  std::shared_ptr<const fabric::ClientNetwork> network_;
  fabric::Placement placement_;
  bool as_it_is_;
  bool priced_;  // true: some link has a price
};

// Sorts counts by their ends, and makes those of the same ends one.
void AddUp(ExchangedPairs& pairs);
// Returns the wire bytes of a round, without ACKs.
int64_t WireBytes(const ExchangedPairs& pairs);

}  // namespace legacy
