// The network of clients that exchange without a server: each client is a rank of collectives.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ns3-module/fabric/population/client-network.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/federated/plan.h"
#include "trainer/clock/transfers.h"

namespace legacy {

// PairBytes counts what one endpoint sends to another in a round.
struct PairBytes {
  int64_t payload = 0;
  int64_t wire = 0;
  int64_t acks = 0;
};
// ExchangedPairs has those of all endpoints, by sender and receiver. Ranks come before switches.
using ExchangedPairs = std::map<std::pair<int, int>, PairBytes>;

// A PairPath sums up the links from one endpoint to another.
struct PairPath {
  double seconds_per_byte = 0;  // of the slowest link, at mean rates
  double delay = 0;             // seconds, one way
  double links = 0;
  double usd_per_gb = 0;
};

// An ExchangeNetwork is of a request that has an exchange, and that outlives it.
class ExchangeNetwork {
 public:
  // Throws Error on places that the topology lacks.
  ExchangeNetwork(const PlanRequest& request, const PlanRemedy& remedy);
  ExchangeNetwork(const ExchangeNetwork&) = delete;
  ExchangeNetwork& operator=(const ExchangeNetwork&) = delete;

  const fabric::ClientNetwork& Network() const { return network_; }
  const fabric::Topology& Topology() const { return network_.topology; }
  const fabric::Placement& Placement() const { return placement_; }
  const fabric::Transport& Transport() const { return transport_; }
  // Returns the client of each rank.
  const std::vector<int>& Order() const { return request_.exchange->order; }
  int Ranks() const { return static_cast<int>(Order().size()); }

  fabric::StepSimulator Simulator() const;
  // Returns the algorithms of collective calls: the request's own for those that it carries, and
  // for the others that of the same name, or a ring.
  TransferOptions Transfers() const;

  // Returns what is sent in a round of that traffic.
  ExchangedPairs PairsOf(const fabric::StepTraffic& traffic) const;
  PairPath Path(std::pair<int, int> ends) const;
  // Adds what clients send, get and pay in `rounds` such rounds. A flow and its ACKs are paid by
  // the client that sends it; what switches send in a collective belongs to nobody.
  void AddBytes(const ExchangedPairs& pairs, int64_t rounds,
                std::vector<ClientTotals>& clients) const;

 private:
  const PlanRequest& request_;
  fabric::Transport transport_;
  fabric::ClientNetwork network_;
  fabric::Placement placement_;
};

// Adds one count to another.
void Add(const ExchangedPairs& pairs, ExchangedPairs& sums);
// Returns the wire bytes of a round, without ACKs.
int64_t WireBytes(const ExchangedPairs& pairs);

}  // namespace legacy
