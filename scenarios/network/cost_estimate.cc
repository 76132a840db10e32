#include "scenarios/network/cost_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace legacy {
namespace {

// Packet transmissions per second of wall time that the packet engine reaches: 2.9 events each at
// 5.8e5 events per second (legacy-ring-example, one core of an AMD EPYC). Other machines differ in
// proportion to their speed.
constexpr double kTransmissionsPerSecond = 2e5;
// The same of RoCEv2: 1.7 events each at 10e6 events per second (legacy-bench-roce: a ring
// all-reduce of 44.7 MB among 16 hosts of a k=4 fat-tree, the same processor).
constexpr double kRoceTransmissionsPerSecond = 5.8e6;

// Returns how often a step is simulated: connections of TCP are opened by a step before it.
int RunsOf(const fabric::Transport& transport) {
  return transport.WarmsUp() && !transport.roce ? 2 : 1;
}

// Returns whether every worker sends to every other one.
bool IsBetweenAllPairs(fabric::CollectiveAlgorithm algorithm) {
  using Algorithm = fabric::CollectiveAlgorithm;
  return algorithm == Algorithm::DirectAllReduce || algorithm == Algorithm::DirectAllGather ||
         algorithm == Algorithm::AllToAll || algorithm == Algorithm::AllToAllV ||
         algorithm == Algorithm::ScatterReduceAllGather;
}

// Returns the number of links that a flow crosses, on average: between neighbours of the ring, or
// between workers at up to 16 distances where all pairs send.
double MeanHops(const Network& network, fabric::CollectiveAlgorithm algorithm) {
  constexpr int kDistances = 16;
  constexpr int kStride = 37;  // a prime, so that distances are not all multiples of a node's size
  const int workers = network.placement.Workers();
  const int distances = IsBetweenAllPairs(algorithm) ? std::clamp(workers - 1, 1, kDistances) : 1;
  double links = 0;
  for (int i = 0; i < distances; ++i) {
    const int distance = 1 + i * kStride % std::max(1, workers - 1);
    for (int w = 0; w < workers; ++w) {
      const int from = network.placement.hosts[w];
      const int to = network.placement.hosts[(w + distance) % workers];
      links += static_cast<double>(network.topology.Route(from, to, 0).size());
    }
  }
  return links / workers / distances;
}

// Returns the number of segments of `bytes` and of the ACKs that answer them.
double PacketsOf(int64_t bytes, const fabric::Transport& transport) {
  const double segments = std::ceil(static_cast<double>(bytes) / transport.segmentBytes);
  return segments * (1 + 1.0 / transport.segmentsPerAck);
}

}  // namespace

void CostEstimate::Add(const fabric::StepTraffic& traffic, int64_t different) {
  const fabric::Transport& transport = network_.request.transport;
  double packets = 0;
  for (const fabric::BucketTraffic& bucket : traffic.buckets) {
    for (const fabric::CallTraffic& call : bucket.calls) {
      const double hops = MeanHops(network_, call.collective.algorithm);
      for (const int64_t bytes : fabric::BytesSent(call.collective)) {
        packets += PacketsOf(bytes, transport) * hops;
      }
    }
  }
  packets_ += packets * static_cast<double>(different) * RunsOf(transport);
  steps_ += different;
}

void CostEstimate::AddFlow(int source, int destination, int64_t bytes) {
  const fabric::Transport& transport = network_.request.transport;
  const auto hops = network_.topology.Route(network_.placement.NodeOf(source),
                                            network_.placement.NodeOf(destination), 0);
  packets_ += PacketsOf(bytes, transport) * static_cast<double>(hops.size()) * RunsOf(transport);
}

double CostEstimate::Seconds() const {
  return packets_ /
         (network_.request.transport.roce ? kRoceTransmissionsPerSecond : kTransmissionsPerSecond);
}

std::string CostEstimate::Text() const {
  char text[160];
  std::snprintf(text, sizeof(text),
                "%lld different steps, %.1f M packet transmissions, about %.0f s of wall time",
                static_cast<long long>(steps_), packets_ * 1e-6, std::ceil(Seconds()));
  return text;
}

}  // namespace legacy
