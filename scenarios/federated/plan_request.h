// A plan request is what options of a plan stand for: population, network, server, work.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/population/population.h"
#include "ns3-module/fabric/tasks/server.h"
#include "scenarios/federated/plan_options.h"

namespace legacy {

// Work of a task on a device with a slowdown of 1.
struct ClientWork {
  double seconds = 0;  // where no shape was given
  // Of a shape, seconds of one local step by the name of the profile; empty without a shape.
  std::map<std::string, double> step_seconds;
  std::string profile;      // of clients without one
  int64_t local_steps = 0;  // 0: an epoch of the client's samples
  int64_t batch = 20;
};

// An ExchangeRequest says how clients without a server exchange their updates.
struct ExchangeRequest {
  fabric::CollectiveAlgorithm algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
  std::vector<int> order;  // client of each rank
  int group = 1;           // ranks of a group of hierarchical algorithms
};

// A PlanRequest describes one plan.
struct PlanRequest {
  explicit PlanRequest(fabric::Population clients) : population(std::move(clients)) {}

  fabric::Population population;
  std::optional<fabric::Topology> core;  // nothing: a star
  std::string availability;
  fabric::Dropout dropout;
  TimeNs detection = 0;
  int64_t down_bytes = 0;
  int64_t up_bytes = 0;
  ClientWork work;
  std::variant<fabric::SyncOptions, fabric::AsyncOptions> server;
  std::optional<ExchangeRequest> exchange;  // instead of a server; `server` has the versions
  std::string selection;
  std::string fidelity;
  fabric::EngineFactory engine;
  fabric::Transport transport;
  int streams = 1;
  uint64_t seed = 1;

  int64_t Versions() const;
  bool Synchronous() const { return std::holds_alternative<fabric::SyncOptions>(server); }
  // Returns the seconds of one task's work on a client.
  double WorkSeconds(int64_t client) const;
  // Returns what is assumed rather than measured, for people; empty where nothing is.
  std::vector<std::string> Assumptions() const;
};

// Return the population, and the whole plan. With `trains` the plan has no bytes and no work, which
// a workload gives. Throw Error naming option, value and what is allowed.
fabric::Population ParsePopulation(const PlanOptions& options);
PlanRequest ParsePlan(const PlanOptions& options, bool trains = false);

// Returns the topology of the option, or nothing where none was given.
std::optional<fabric::Topology> ParseCore(const PlanOptions& options);

// Sets the exchange of a plan without a server, which has its population, core and fidelity.
void ReadExchange(const FederatedSection& options, PlanRequest& plan);

// Packet simulations of more clients are refused: each takes tens of KiB.
inline constexpr int64_t kMostPacketClients = 4000;
// Exchanges of more messages a round are refused.
inline constexpr double kMostExchangeFlows = 1e7;

}  // namespace legacy
