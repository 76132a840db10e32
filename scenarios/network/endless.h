// Endless flows send from their start to the end of a run of given length. What arrives in each
// window of time is their throughput.
#pragma once

#include <cstdint>
#include <vector>

#include "ns3-module/fabric/engine/flow-graph.h"
#include "scenarios/network/engines/network.h"
#include "scenarios/network/flow_list.h"

namespace legacy {

// A ThroughputWindow has what each flow carried in a window of time.
struct ThroughputWindow {
  TimeNs start = 0;
  TimeNs end = 0;
  // Payload that reached the destination, in bits per second, by flow.
  std::vector<double> rates;
  // Whether each flow sent from the window's start to its end; the others do not count in sums.
  std::vector<bool> active;

  // Return the sum of the active flows' rates, the lowest and the highest of them; 0 without any.
  double Total() const;
  double Least() const;
  double Most() const;
  // Returns JainIndex of the active flows.
  double Fairness() const;
};

// Returns the flows with the bytes that each would carry until `duration` if the busier of its two
// NICs were shared equally: what a run will cost. Throws Error naming `where` for a flow that
// starts at the end or later.
std::vector<FlowRequest> WithExpectedBytes(std::vector<FlowRequest> flows, TimeNs duration,
                                           const Network& network, const std::string& where);

// An EndlessGraph keeps every connection of a list of flows busy. A flow is a row of messages, each
// a small part of what its NIC carries in a window, and so many are queued at the sender that the
// connection never runs dry. A message that arrives counts evenly for the time since the one
// before. The graph is never done: run an engine until `duration`, and a window longer, so that
// messages that are under way at the end count. `flows` and `network` outlive it.
class EndlessGraph : public fabric::FlowGraph {
 public:
  EndlessGraph(const std::vector<FlowRequest>& flows, const Network& network, TimeNs duration,
               TimeNs window);
  void OnStart(fabric::FlowSink& sink) override;
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override;
  void OnWake(uint64_t token, fabric::FlowSink& sink) override;
  bool Done() const override { return false; }

  // Returns the windows, the last of which may be shorter.
  std::vector<ThroughputWindow> Windows() const;

 private:
  struct State {
    int64_t message = 0;        // bytes of each message
    int64_t queued = 0;         // messages that are kept on their way
    TimeNs since = 0;           // time of the last arrival, or of the start
    std::vector<double> bytes;  // bytes that arrived in each window
  };

  const std::vector<FlowRequest>& flows_;
  TimeNs duration_;
  TimeNs window_;
  std::vector<State> states_;  // by flow
};

}  // namespace legacy
