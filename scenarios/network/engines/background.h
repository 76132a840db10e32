// Background traffic keeps links busy while a step, or a client's task, is simulated: flows between
// random hosts, or those of a map's demands, that arrive as Poisson processes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/import/import.h"
#include "scenarios/network/engines/flow_sizes.h"

namespace legacy {

// A BackgroundRequest says how much traffic there is, and of which flows.
struct BackgroundRequest {
  // Mean part of the capacity of links that random pairs of hosts use; 0: none do.
  double load = 0;
  bool core = false;   // true: of links between switches; false: of hosts' links
  double demands = 0;  // factor on the demands of the topology's file; 0: they are not used
  bool Any() const { return load > 0 || demands > 0; }
  std::string sizes = "websearch";
};

// Reads "none", "poisson:load=0.3,on=access|core,sizes=websearch|datamining|FILE", or
// "poisson:pairs=demands,scale=1,sizes=...". Throws Error naming `key`.
BackgroundRequest ParseBackground(const std::string& text, const std::string& key);

// A BackgroundTraffic is what all flows of a network's background are drawn from. Flow i of a
// source depends on (seed, source, i) alone. Traffic that is asked for from a later time on lacks
// the flows that began before.
class BackgroundTraffic {
 public:
  // `endpoints` are those of the hosts that send and receive, two or more; `demands` those of the
  // topology's file. Throws Error where no link is loaded, and where demands are missing.
  BackgroundTraffic(const BackgroundRequest& request, const std::string& key,
                    const fabric::Topology& topology, const fabric::Placement& placement,
                    const fabric::Transport& transport, std::vector<int> endpoints,
                    const std::vector<fabric::Demand>& demands, uint64_t seed);

  // Returns the flows from `start` on, as an endless graph. It must not outlive this.
  std::unique_ptr<fabric::FlowGraph> From(TimeNs start) const;

 private:
  class Graph;

  // Arrivals are drawn by windows of time, so that any time can be the start.
  struct Arrival {
    TimeNs time = 0;
    fabric::Flow flow;
  };
  std::vector<Arrival> ArrivalsIn(size_t source, int64_t window) const;

  // A Source is a Poisson process of flows from one endpoint.
  struct Source {
    int endpoint = 0;
    int destination = -1;  // endpoint; -1: another one at random for each flow
    TimeNs window = 0;     // time in which it starts kFlowsAWindow flows on average
  };
  void AddDemands(const std::vector<fabric::Demand>& demands, double bits_per_flow, double scale,
                  const std::string& key, const fabric::Topology& topology,
                  const fabric::Placement& placement);

  FlowSizes sizes_;
  std::vector<int> endpoints_;
  std::vector<Source> sources_;
  uint64_t seed_;
};

}  // namespace legacy
