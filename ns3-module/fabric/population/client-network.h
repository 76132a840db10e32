// The network of some clients of a population: the server and their access lines, around a core.
#pragma once

#include "fabric/topology/placement.h"
#include "population.h"

#include <cstdint>
#include <vector>

namespace legacy::fabric
{

/// A ClientNetwork has the clients as endpoints 0, 1, ..., in the order in which they were given,
/// and the server as the endpoint after them.
struct ClientNetwork
{
    Topology topology;
    Placement placement;
    int serverEndpoint = 0; ///< -1: there is no server
    /// Down of an access line, from the core; the line's other direction is this number ^ 1.
    std::vector<DirectedLink> accessLinks; ///< by endpoint of a client
    std::vector<DirectedLink> coreLinks;   ///< all links that were given with the core, one way
    DirectedLink serverLink = 0;           ///< from the server to the core; -1: there is none
};

/// Throws Error where a group, or with `server` the server, names a place by `at` that is not a
/// switch of `core`; with nullptr, all lines meet in one switch, and no place may be named.
void CheckPlaces(const Population& population, const Topology* core, bool server = true);

/// Returns the network of `clients` (all of them where nullptr). `core` gives the nodes that groups
/// and server name by `at`. Without `server` the clients are among themselves, and where the server
/// would be is not read. Throws Error on places as CheckPlaces does, and where a client's error
/// rate is 1.
ClientNetwork MakeClientNetwork(const Population& population,
                                const std::vector<int64_t>* clients,
                                const Topology* core,
                                bool server = true);

} // namespace legacy::fabric
