// A slow oracle of routes.
#pragma once

#include <algorithm>
#include <vector>

#include "ns3-module/fabric/topology/topology.h"

namespace legacy::fabric {

constexpr int kFar = 1'000'000;

// Returns the hops between every two nodes by Floyd-Warshall, with hosts as ends only; kFar means
// no path.
inline std::vector<std::vector<int>> AllDistances(const Topology& topology) {
  const int nodes = topology.NodeCount();
  std::vector<std::vector<int>> distance(nodes, std::vector<int>(nodes, kFar));
  for (int i = 0; i < nodes; ++i) distance[i][i] = 0;
  for (const Link& link : topology.Links()) distance[link.a][link.b] = distance[link.b][link.a] = 1;
  for (int via = 0; via < nodes; ++via) {
    if (topology.IsHost(via)) continue;
    for (int a = 0; a < nodes; ++a) {
      for (int b = 0; b < nodes; ++b) {
        distance[a][b] = std::min(distance[a][b], distance[a][via] + distance[via][b]);
      }
    }
  }
  return distance;
}

}  // namespace legacy::fabric
