// Placement: which host each worker, and the parameter server, sits on.
#pragma once

#include "topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// Endpoint w < Workers() is worker w; endpoint Workers() is the parameter server.
struct Placement
{
    std::string description; ///< "packed", "strided", "random:7"
    std::vector<int> hosts;  ///< node of each worker
    int server = -1;         ///< node of the parameter server; -1: none

    int Workers() const
    {
        return static_cast<int>(hosts.size());
    }

    int NodeOf(int endpoint) const
    {
        return endpoint < Workers() ? hosts[endpoint] : server;
    }
};

/// `text`: "packed" (hosts in order), "strided" (round robin over the switches that hosts hang on,
/// so that ring neighbours are far apart), "random:SEED". With `withServer` the next host in the
/// same order carries the server. Throws Error where the topology has too few hosts, saying how
/// many are needed.
Placement
MakePlacement(const std::string& text, const Topology& topology, int workers, bool withServer);

} // namespace legacy::fabric
