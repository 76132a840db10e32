// Topology files are YAML, with the parameters of a named topology or any graph of links. Readers
// of what others wrote are in import/.
//
//   type: leaf-spine        # as on the command line
//   leaves: 4               # a parameter of the type
//   rate: 1Gbps             # of all links: rate, delay, queue
//   spine: {delay: 5us}     # of one tier; on the command line "spine.delay=5us"
//
//   type: links             # any graph
//   hosts: [a, b]           # names, or a number: host0, host1, ...
//   switches: 2             # likewise: switch0, ...; may be absent
//   links:                  # rate, delay and queue default to those of all links
//     - {a: a, b: switch0, rate: 10Gbps, delay: 1us, queue: 64KiB, error: 1e-6}
//     - {a: b, b: switch1}
//     - {a: a, b: switch1, schedule: "csv:lte.csv:scale=mean"}  # rate over time (link-trace.h);
//                         # schedule_back: from b to a, where it is another one
//     - {a: switch0, b: switch1, rate: 50Mbps/10Mbps, price: 0.02/0.09}
//                         # rate, queue, error, price (USD per GB) and burst (bytes of a token
//                         # bucket) may differ by direction: from a to b, and from b to a
//     - {a: switch0, b: switch1, count: 2, weight: 10}
//                         # count: that many links in parallel, among which flows are hashed. The
//                         # same ends may recur where each line has a count. weight (default
//                         # 1): shortest paths are those of the least sum of weights
//   routes:               # explicit routes of flows between two hosts, one way; may be absent
//     - {from: a, to: b, via: [switch0, switch1]}
//   changes: ["switch0@outage:from=60s,for=30s"]  # likewise, and failures (changes.h)
//
// Hosts are numbered before switches, both in the order of the file.
#pragma once

#include "base/settings.h"
#include "topology.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <variant>

namespace legacy::fabric
{

/// A TopologyFormat is a format that topologies are written in.
enum class TopologyFormat : uint8_t
{
    Yaml, ///< type: links
    Hpcc,
    Graphml, ///< with keys of the Internet Topology Zoo and further ones of ours
    Dot,     ///< Graphviz's format, which is only written
};

/// Returns the format of that name: "yaml", "hpcc", "graphml", "dot". Throws Error with the list
/// for any other.
TopologyFormat ParseTopologyFormat(const std::string& text);

/// Writes a topology. Reading it gives one of the same fingerprint where hosts come before
/// switches, as in every topology of MakeTopology. Throws Error on what the format cannot say
/// (HPCC: queues, prices, links in parallel, bursts, weights, routes, schedules; GraphML: the
/// latter four and bursts, and control characters in names). HPCC has no names: it is read back
/// with names of its own.
void WriteTopology(const Topology& topology, TopologyFormat format, std::ostream& stream);

/// LinkDefaults are what links of a file have where its text leaves it open.
struct LinkDefaults
{
    int64_t rateBps = 0;
    TimeNs delay = 0;
    int64_t queueBytes = 0;
};

/// Reads a YAML file: the graph of `type: links`, else the parameters of a named topology,
/// flattened (nested keys are joined by '.'). MakeByType checks what they mean. Throws Error with
/// file, line and column on anything malformed, links given twice, nodes that are not declared,
/// hosts without a link and hosts that cannot reach each other.
std::variant<Settings, Topology> ReadYamlFile(const std::string& path,
                                              const LinkDefaults& defaults);

} // namespace legacy::fabric
