// Topologies are made from a text: a named type with parameters, or a file in one of the formats
// that readers of this folder and of topology/ know.
#pragma once

#include "import.h"

#include "fabric/topology/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A TopologyRequest asks for a topology by name and parameters, as on the command line:
/// "fat-tree:k=4", "leaf-spine:leaves=4,hosts=4,spines=2" (all types: TopologyTypes of report.h);
/// or for a file: "topologies/two-sites.yaml", "Abilene.gml",
/// "graphml:maps/Kdl.xml,hosts=Louisville+Lexington,default_rate=1Gbps".
struct TopologyRequest
{
    std::string text = "fat-tree";
    /// Rate of host links, and of all links where the topology does not say otherwise.
    int64_t rateBps = 1'000'000'000;
    TimeNs delay = 10'000; ///< propagation delay of each link
    int64_t queueBytes = 0;
    /// Number of hosts that sets the size of a topology without a given one. A given size that has
    /// fewer is an error.
    int hostsNeeded = 0;
    /// Rates and failures over time (changes.h), separated by '|'; "" for none.
    std::string changes{};
    std::string changesOption = "--changes"; ///< what messages about them name
    uint64_t ecmpSeed = 1;
    Multipath multipath = Multipath::Ecmp;
};

/// True where MakeTopology would read a file for that text.
bool NamesTopologyFile(const std::string& text);

/// Builds the topology, and says what it assumed. Throws Error with file, line and column (files)
/// or the parameter, its value and what is allowed.
ImportedTopology ImportTopology(const TopologyRequest& request);

/// Returns the topology of ImportTopology alone.
Topology MakeTopology(const TopologyRequest& request);

} // namespace legacy::fabric
