// A flow list is arbitrary traffic: flows with start times, from a file or a pattern, as a graph
// for any engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/engine/flow-graph.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/engines/network.h"
#include "scenarios/network/flow_recorder.h"

namespace legacy {

// A FlowRequest is one flow. Each has a connection of its own, as the flows of other simulators
// have.
struct FlowRequest {
  int source = 0;  // worker of the placement
  int destination = 0;
  int64_t bytes = 0;
  TimeNs start = 0;
  uint16_t lane = 0;  // number of its connection among those of its workers, by their starts
};

// Reads flows from CSV: source, destination, bytes, start in seconds (0 where it is left out).
// Hosts are given by name or by number (host_names.h); a header line and lines that start with '#'
// are skipped. Lists of htsim and HPCC are read as they are (flow_formats.h). Files may be packed
// by gzip. Throws Error with file and line.
std::vector<FlowRequest> ReadFlows(const std::string& path, const Network& network);

// Reads flows without an end: source, destination, start in seconds (0 where it is left out), else
// as ReadFlows does.
std::vector<FlowRequest> ReadEndlessFlows(const std::string& path, const Network& network);

// Makes the flows of a pattern. "permutation" (each worker sends to one other and receives from
// one), "incast:N" (workers 1 to N to worker 0) and "all-to-all" have flows of `bytes` that start
// at once. "poisson:load=0.5,cdf=websearch,flows=1000" has independent arrivals between random
// workers at that fraction of the hosts' rates. Draws are keyed by `seed`. Throws Error on other
// texts and ranges.
std::vector<FlowRequest> MakePattern(const std::string& text, int64_t bytes, uint64_t seed,
                                     const Network& network);

// Returns the time of the flow alone on the network: alpha-beta on its route, with headers and
// store-and-forward switches.
TimeNs IdealTime(const FlowRequest& flow, const Network& network);

// A FlowListGraph sends the flows of a list, with their positions as tags. `flows` outlives the
// graph.
class FlowListGraph : public fabric::FlowGraph {
 public:
  explicit FlowListGraph(const std::vector<FlowRequest>& flows);
  void OnStart(fabric::FlowSink& sink) override;
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override;
  void OnWake(uint64_t token, fabric::FlowSink& sink) override;
  bool Done() const override { return started_ && delivered_ == flows_.size(); }

 private:
  void SendDue(fabric::FlowSink& sink);

  const std::vector<FlowRequest>& flows_;
  std::vector<size_t> order_;  // positions by start
  size_t next_ = 0;            // next position in order_
  size_t delivered_ = 0;
  bool started_ = false;
  TimeNs origin_ = 0;
};

// A FlowListTiming has the times of a list of flows.
struct FlowListTiming {
  fabric::StepTiming timing;  // total: when the last flow has arrived; counters, links
  std::vector<RecordedFlow> flows;
};

// Simulates the flows. With warm connections they run twice, and the second run counts. Throws
// Error where an engine stops before all have arrived.
FlowListTiming SimulateFlows(const std::vector<FlowRequest>& flows,
                             const fabric::EngineRequest& request,
                             const fabric::EngineFactory& factory);

}  // namespace legacy
