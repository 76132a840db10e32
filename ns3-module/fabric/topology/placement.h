// Placement: which host each worker, and the parameter server, sits on.
#pragma once

#include "topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// Endpoints are numbered: workers, then parameter servers, then aggregators (switches that sum).
struct Placement
{
    std::string description;      ///< "packed", "strided", "random:7"
    std::vector<int> hosts;       ///< node of each worker
    std::vector<int> servers;     ///< node of each parameter server
    std::vector<int> aggregators; ///< switch node of each aggregator
    /// of each worker and then of each aggregator: the endpoint of the aggregator above it, -1 at
    /// the root; empty without aggregators
    std::vector<int> parents;

    int Workers() const
    {
        return static_cast<int>(hosts.size());
    }

    int Endpoints() const
    {
        return static_cast<int>(hosts.size() + servers.size() + aggregators.size());
    }

    /// Throws Error where there is no such endpoint, naming what is lacking.
    int NodeOf(int endpoint) const;
};

struct PlacementRequest
{
    /// "packed" (hosts in order), "strided" (round robin over the switches that hosts hang on, so
    /// that ring neighbours are far apart), "random:SEED"
    std::string text = "packed";
    int workers = 1;
    int servers = 0;
    /// servers sit on the workers' hosts (server s with worker s) instead of on the next hosts in
    /// the same order
    bool colocated = false;
    /// aggregators at the switches of the shortest-path tree from a root switch to the workers, of
    /// least depth
    bool aggregation = false;
};

/// Throws Error where the topology has too few hosts, saying how many are needed.
Placement MakePlacement(const PlacementRequest& request, const Topology& topology);

} // namespace legacy::fabric
