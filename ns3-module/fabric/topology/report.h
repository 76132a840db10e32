// What a topology is, for people: its facts as text, what is odd about it, a picture, and the list
// of the named types.
#pragma once

#include "topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// One named type, for help texts and documentation.
struct TopologyType
{
    std::string name;       ///< "fat-tree"
    std::string parameters; ///< "k=4,oversubscription=1,core.oversubscription=1"
    std::string tiers;      ///< "host, aggregation, core"; each has .rate, .delay and .queue
    std::string summary;    ///< one sentence
};

/// In the order of the documentation.
const std::vector<TopologyType>& TopologyTypes();

/// Several lines, each ending in a newline: hosts, switches, links by rate and delay, prices, the
/// longest shortest path in hops, the sum of rates from hosts and between switches, what each tier
/// of switches receives from below divided by what it can send up, equal-cost paths of sampled host
/// pairs. Never throws on an odd topology: what cannot be said is left out.
std::string DescribeTopology(const Topology& topology);

/// What is probably a mistake, a sentence each: hosts that cannot reach each other, hosts without
/// links or with several rates, switches that lead nowhere, loops without delay. Empty where
/// nothing is odd.
std::vector<std::string> CheckTopology(const Topology& topology);

struct Drawing
{
    std::string title; ///< above the picture; empty: the topology's name
    /// by directed link, 0 to 1: colours, and a legend; empty: all links alike
    std::vector<double> utilisation;
    std::vector<int64_t> bytes; ///< by directed link, for the tooltips; empty: not told
};

/// A picture as SVG text: tiers above the hosts where the switches form tiers, a grid where nodes
/// have places, a circle elsewhere. Readable up to about 200 nodes. Each direction of each link and
/// each node says what it is in a tooltip. Throws Error where a vector has the wrong length.
std::string DrawTopology(const Topology& topology, const Drawing& drawing = {});

} // namespace legacy::fabric
