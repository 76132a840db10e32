// A topology report describes a topology to people: its facts as text, what is odd about it, and a
// picture. The list of the named types is here too.
#pragma once

#include "topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A TopologyType is one named type, for help texts and documentation.
struct TopologyType
{
    std::string name;       ///< name: "fat-tree"
    std::string parameters; ///< defaults: "k=4,oversubscription=1,core.oversubscription=1"
    std::string tiers;      ///< names: "host, aggregation, core"; each has .rate, .delay and .queue
    std::string summary;    ///< one sentence
};

/// Returns all types, in the order of the documentation.
const std::vector<TopologyType>& TopologyTypes();

/// Returns several lines, each ending in a newline: hosts, switches, links by rate and delay,
/// prices, the longest shortest path in hops, the sum of rates from hosts and between switches,
/// what each tier of switches receives from below divided by what it can send up, and equal-cost
/// paths of sampled host pairs; links in parallel, weights and explicit routes where there are any.
/// It never throws on an odd topology, but leaves out what cannot be said.
std::string DescribeTopology(const Topology& topology);

/// Returns what is probably a mistake, a sentence each: hosts that cannot reach each other, hosts
/// without links or with several rates, switches that lead nowhere, loops without delay, links that
/// are on no shortest path because of their weight. Empty where nothing is odd.
std::vector<std::string> CheckTopology(const Topology& topology);

/// A Drawing says what a picture shows besides the topology.
struct Drawing
{
    std::string title; ///< text above the picture; empty: the topology's name
    /// Utilisation by directed link, 0 to 1, shown by colours with a legend. Empty: all links look
    /// alike.
    std::vector<double> utilisation;
    /// Bytes by directed link, for the tooltips; empty: they are not shown.
    std::vector<int64_t> bytes;
};

/// Returns a picture as SVG text: tiers above the hosts where the switches form tiers, the nodes'
/// own positions where they have some, a circle elsewhere. It is readable up to about 200 nodes.
/// Tooltips tell what each direction of each link and each node is. Throws Error where a vector has
/// the wrong length.
std::string DrawTopology(const Topology& topology, const Drawing& drawing = {});

} // namespace legacy::fabric
