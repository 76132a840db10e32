// Background traffic keeps links busy while a step, or a client's task, is simulated: flows between
// random hosts that arrive as Poisson processes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"
#include "scenarios/network/flow_sizes.h"

namespace legacy {

// A BackgroundRequest says how much traffic there is, and of which flows.
struct BackgroundRequest {
  double load = 0;    // mean part of the capacity of links that is used; 0: no background
  bool core = false;  // true: of links between switches; false: of hosts' links
  std::string sizes = "websearch";
};

// Reads "none", or "poisson:load=0.3,on=access|core,sizes=websearch|datamining|FILE". Throws Error
// naming `key`.
BackgroundRequest ParseBackground(const std::string& text, const std::string& key);

// A BackgroundTraffic is what all flows of a network's background are drawn from. Flow i of a host
// depends on (seed, host, i) alone. Traffic that is asked for from a later time on lacks the flows
// that began before.
class BackgroundTraffic {
 public:
  // `endpoints` are those of the hosts that send and receive, two or more; the rest outlives this.
  // Throws fabric::Error where no link is loaded.
  BackgroundTraffic(const BackgroundRequest& request, const std::string& key,
                    const fabric::Topology& topology, const fabric::Placement& placement,
                    const fabric::Transport& transport, std::vector<int> endpoints, uint64_t seed);

  // Returns the flows from `start` on, as an endless graph. It must not outlive this.
  std::unique_ptr<fabric::FlowGraph> From(fabric::TimeNs start) const;

  // Returns the flows per second that each host starts.
  double FlowsPerSecond() const { return rate_; }

 private:
  class Graph;

  // Arrivals are drawn by windows of time, so that any time can be the start.
  struct Arrival {
    fabric::TimeNs time = 0;
    fabric::Flow flow;
  };
  std::vector<Arrival> ArrivalsIn(size_t source, int64_t window) const;

  FlowSizes sizes_;
  std::vector<int> endpoints_;
  uint64_t seed_;
  double rate_ = 0;            // flows per second of each host
  fabric::TimeNs window_ = 0;  // time in which a host starts kFlowsAWindow flows on average
};

}  // namespace legacy
