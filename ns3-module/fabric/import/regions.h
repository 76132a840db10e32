// Regions of clouds: measured rates and round-trip times between any two, and prices of what leaves
// each.
//
//   matrix: wan.csv         # src,dst,gbps,rtt_ms[,rtt_suspect]: ordered pairs, a line each
//   prices: egress.csv      # src,dst,usd_per_gb; may be absent
//   regions: [aws:us-east-1, gcp:us-east4]        # or all (the default)
//   hosts: 2                # on each region (default 1), or a map: {aws:us-east-1: 3}; others none
//   core: per-host          # or shared, see ReadRegions
//   scale: 1                # multiplies the rates of the matrix
//   missing: error          # or the rate of pairs that the matrix lacks, such as 1Gbps
//   suspect: error          # or allow: pairs whose round-trip time looks wrong
//   host_rate: 10Gbps       # of hosts' links; host_delay, host_queue likewise
//   queue: 0                # of the links between regions
//
// Paths of CSV files are relative to the YAML file. A key may also follow the file's path, as in
// regions:clouds.yaml,hosts=4,core=shared, and has precedence there; paths are then those of the
// command line.
#pragma once

#include "base/settings.h"
#include "import.h"

#include "fabric/topology/file.h"

#include <string>

namespace legacy::fabric
{

/// Reads a file of regions. Each region becomes a switch of its name, with hosts "NAME/0", "NAME/1"
/// and so on; every two have a link with a delay of half their round-trip time (the mean of both
/// directions' measurements), and the rate and price of each direction. The rates were measured
/// between single machines, and:
/// * core per-host gives each host those rates. A host's own line has the largest rate of its row
///   as it sends, and of its column as it receives (at most host_rate, where that is given); a
///   link's direction has the measured rate times the hosts of the region that it leaves, at least
///   one;
/// * core shared takes the measured rate for the link, whatever the number of hosts.
/// Throws Error with file and line on pairs that are missing (unless `missing` is a rate), suspect
/// (unless `suspect` is allow), given twice or no numbers, and on regions that the matrix lacks.
ImportedTopology
ReadRegions(const std::string& path, Settings& options, const LinkDefaults& defaults);

} // namespace legacy::fabric
