// Arbitrary traffic: a list of flows with start times, from a file or a pattern, as a graph for any
// engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ns3-module/fabric/engine/flow-graph.h"
#include "scenarios/network/network.h"

namespace legacy {

struct FlowRequest {
  int source = 0;  // worker of the placement
  int destination = 0;
  int64_t bytes = 0;
  fabric::TimeNs start = 0;
};

// CSV: source, destination, bytes, start in seconds (0 where it is left out); hosts by name or by
// number; a header line and lines that start with '#' are passed over. Throws Error with file and
// line.
std::vector<FlowRequest> ReadFlows(const std::string& path, const Network& network);

// "permutation" (everybody to another, nobody receives twice), "incast:N" (workers 1 to N to worker
// 0), "all-to-all": flows of `bytes` that start at once.
// "poisson:load=0.5,cdf=websearch,flows=1000": independent arrivals between random workers at that
// fraction of the hosts' rates. Draws are keyed by `seed`. Throws Error.
std::vector<FlowRequest> MakePattern(const std::string& text, int64_t bytes, uint64_t seed,
                                     const Network& network);

// How long the flow takes alone: alpha-beta on its route, with headers and store-and-forward
// switches.
fabric::TimeNs IdealTime(const FlowRequest& flow, const Network& network);

// Tags are positions in the list. `flows` outlives the graph.
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
  std::vector<size_t> order_;  // by start
  size_t next_ = 0;            // in order_
  size_t delivered_ = 0;
  bool started_ = false;
  fabric::TimeNs origin_ = 0;
};

}  // namespace legacy
