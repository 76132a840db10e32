// Data-centre networks as other simulators describe them.
#pragma once

#include "base/settings.h"
#include "import.h"

#include "fabric/topology/file.h"

#include <string>

namespace legacy::fabric
{

/// Reads the text of the HPCC simulator (Li et al., SIGCOMM'19), which much of the field shares;
/// `path` is for messages.
///
///   3 1 2                   # nodes, switches, links
///   2                       # the switches' numbers; the others are hosts
///   0 2 10Gbps 1000ns 0     # a link a line: ends, rate, delay, error rate
///   1 2 10Gbps 1000ns 0
///
/// Other first lines are those of SimAI, ns3-datacenter and simulators with optical switches. A
/// rate without a unit is bit/s, a delay without one seconds, as ns-3 reads them. Hosts come before
/// switches, both ascending; `numbers` of the result has the file's. Lines after the announced
/// links are not read, and reported. Throws Error with file, line and column.
ImportedTopology ReadHpccText(const std::string& path, std::string text);

/// True where a text is htsim's topology text, which begins with one of its words.
bool IsHtsimText(const std::string& text);

/// Reads the topology text of htsim (csg-htsim, UET htsim): a fat-tree of two or three tiers, whose
/// switches are "tor0", "agg0" and "core0" on. Lines are a key and a number; keys are
/// * in front: Nodes (hosts), Tiers (2, 3), Podsize (hosts of a pod);
/// * after "Tier 0", "Tier 1" and "Tier 2": Downlink_speed_Gbps and Downlink_Latency_ns (of the
///   links below the tier), Radix_Down, Radix_Up (ports; none in the last tier), Bundle (parallel
///   links between two switches, counted below the tier: 1), Oversubscribed (which must be what
///   radices and speeds give), Queue, Queue_Down, Queue_Up (bytes), Switch_Latency_ns (0).
/// A topology has no latency of switches: half of each moves to every link of the switch, so that
/// every path has the same delay, and the report says so. Throws Error with file, line and column.
ImportedTopology ReadHtsimFile(const std::string& path, const LinkDefaults& defaults);

/// Reads the network file of ASTRA-sim: lists of the same length, one entry for each dimension.
///
///   topology: [ Ring, Switch ]      # or FullyConnected
///   npus_count: [ 4, 2 ]
///   bandwidth: [ 50.0, 25.0 ]       # of a link, each way: GB/s, 10^9 bytes
///   latency: [ 500.0, 2000.0 ]      # ns
///
/// NPU i becomes host i; along a dimension, those that differ in this coordinate alone (the first
/// coordinate varies fastest) are linked in a ring, pairwise, or by a switch. A host is at a router
/// of its own, as hosts do not forward; its line is as fast as all links of the router together,
/// without a delay. With the single dimension Switch there are no routers. Of several dimensions
/// the first one is a server's. `options` has unit: GB (10^9 bytes) or GiB (2^30). Throws Error
/// with file, line and column.
ImportedTopology
ReadAstraSimFile(const std::string& path, Settings& options, const LinkDefaults& defaults);

} // namespace legacy::fabric
