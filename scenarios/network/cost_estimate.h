// A cost estimate says how long a packet simulation will run, before it starts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/engines/network.h"

namespace legacy {

// A PacketCost is the cost of simulating steps with packets.
struct PacketCost {
  double seconds = 0;  // wall time, from the packet engine's usual rate
  int64_t steps = 0;   // steps that have to be simulated
};

// A CostEstimate adds up what the packet engine does for steps and flows: transmissions over links;
// with TCP also the search of the connection that each packet belongs to, and that of the next
// segment to send among those in flight. It is right within a factor of 2 on one core of the
// processor that the rates were measured on (scenarios/network/bench/estimates.py).
class CostEstimate {
 public:
  explicit CostEstimate(const Network& network) : network_(network) {}

  // Adds a step. `different` is the number of steps like `traffic` that have to be simulated
  // (others are memoised).
  void Add(const fabric::StepTraffic& traffic, int64_t different);

  // Adds one flow between two workers.
  void AddFlow(int source, int destination, int64_t bytes);

  double Packets() const { return packets_; }
  PacketCost Cost() const { return {Seconds(), steps_}; }
  // Returns the wall time, from the packet engine's usual rate.
  double Seconds() const;
  // Returns "42 different steps, 3.1 M packet transmissions, about 12 s".
  std::string Text() const;

 private:
  // A Path is what matters of the paths of messages.
  struct Path {
    double links = 0;     // mean
    double segments = 0;  // that are in flight on the longest one at its rate
  };
  // Messages are messages of equal size.
  struct Messages {
    double count = 0;
    double bytes = 0;        // of each
    double endpoints = 0;    // sockets of a host, among which each packet's is looked for
    double at_once = 1;      // that share the rate of a host
    double connections = 0;  // that are opened
  };

  Path PathOf(int source, int destination) const;
  Path MeanPath(fabric::CollectiveAlgorithm algorithm) const;
  Messages MessagesOf(const fabric::CollectiveSpec& spec) const;
  void Add(const Messages& messages, const Path& path, double runs);
  double OpeningSeconds(const Messages& messages) const;
  double TcpSeconds(const Messages& messages, const Path& path) const;

  const Network& network_;
  double packets_ = 0;  // packet transmissions, summed over links
  double beyond_ = 0;   // seconds beyond those of transmissions
  int64_t steps_ = 0;
  std::map<int, double> endpoints_;  // sockets of each worker's host, of flows
};

}  // namespace legacy
