// A cost estimate says how long a packet simulation will run, before it starts.
#pragma once

#include <cstdint>
#include <string>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/network.h"

namespace legacy {

// A PacketCost is the cost of simulating steps with packets.
struct PacketCost {
  double seconds = 0;  // wall time, from the packet engine's usual rate
  int64_t steps = 0;   // steps that have to be simulated
};

// A CostEstimate adds up the packets of steps and flows.
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
  const Network& network_;
  double packets_ = 0;  // packet transmissions, summed over links
  int64_t steps_ = 0;
};

}  // namespace legacy
