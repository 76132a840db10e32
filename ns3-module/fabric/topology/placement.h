// A placement says which host each worker, and each parameter server, sits on.
#pragma once

#include "topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A Placement numbers its endpoints: workers, then parameter servers, then aggregators (switches
/// that sum), then hosts of background traffic.
struct Placement
{
    std::string description;      ///< "packed", "strided", "random:7"
    std::vector<int> hosts;       ///< node of each worker
    std::vector<int> servers;     ///< node of each parameter server
    std::vector<int> aggregators; ///< switch node of each aggregator
    std::vector<int> others;      ///< hosts of background traffic
    /// Of a tree: for each worker and then each aggregator, the endpoint of the aggregator above
    /// it, -1 at the root. Of the switches of nodes: for each plane and worker, the plane's switch
    /// next to it, -1 where it is alone in its node. Empty without aggregators.
    std::vector<int> parents;
    int node = 1; ///< consecutive workers of a node

    int Workers() const
    {
        return static_cast<int>(hosts.size());
    }

    int Endpoints() const
    {
        return static_cast<int>(hosts.size() + servers.size() + aggregators.size() + others.size());
    }

    /// Returns the number of the first aggregator.
    int FirstAggregator() const
    {
        return static_cast<int>(hosts.size() + servers.size());
    }

    /// Returns the node of an endpoint. Throws Error where there is no such endpoint, naming what
    /// is lacking.
    int NodeOf(int endpoint) const;

    /// Returns the nodes of the members of a collective; with no members, of all workers. Throws
    /// Error where there is no such worker.
    std::vector<int> HostsOf(const std::vector<int>& members) const;
};

/// An Aggregation says which switches sum.
enum class Aggregation : uint8_t
{
    None,
    Tree,  ///< those of the shortest-path tree, of least depth, from a root switch to the workers
    Nodes, ///< those next to all workers of a node, as many for each node (planes)
};

/// A PlacementRequest says what to place, and how.
struct PlacementRequest
{
    /// "packed" (hosts in order), "strided" (round robin over the switches that hosts are on, so
    /// that ring neighbours are far apart), or "random:SEED".
    std::string text = "packed";
    int workers = 1;
    int servers = 0;
    /// True: servers sit on the workers' hosts (server s with worker s) instead of on the next
    /// hosts in the same order.
    bool colocated = false;
    Aggregation aggregation = Aggregation::None;
    /// Consecutive workers of a node; the last may have fewer. 0: as many of the first workers as
    /// are on one server, or where nothing is known of servers, as have the same first switch.
    int node = 0;
    int server = 0; ///< consecutive hosts of a server; 0: unknown
    /// Nodes of the workers' hosts, one for each; empty: `text` says where they are.
    std::vector<int> hosts = {};
    /// Nodes of hosts that are not free, as others use them. They are left out of the order.
    std::vector<int> taken = {};
};

/// Makes the placement. Throws Error where the topology has too few hosts, saying how many are
/// needed, and where the workers of a node share no switch that is to sum.
Placement MakePlacement(const PlacementRequest& request, const Topology& topology);

} // namespace legacy::fabric
