// A network map is what files of wide-area networks have in common: places and the lines between
// them. Readers fill it with what the file says; BuildMap makes a topology of it and counts what it
// assumed.
#pragma once

#include "base/settings.h"
#include "geo.h"
#include "import.h"

#include "fabric/topology/file.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A MapNode is a place of a map.
struct MapNode
{
    std::string name; ///< name as the file has it, on one line; may be empty or another node's too
    std::string id;   ///< name where it has none
    std::optional<Place> place;
    bool hyperedge = false;               ///< stands for a medium that several nodes share
    bool host = false;                    ///< a host itself (files that we wrote), not a switch
    std::array<int64_t, 2> hostRateBps{}; ///< of its hosts' links, from and to them; 0: none given
    int line = 0;                         ///< line of the file, from 1
};

/// A MapLine is a line between two places.
struct MapLine
{
    int a = 0; ///< node of the map
    int b = 0;
    bool directed = false; ///< another line from b to a is the same line's other direction
    // From a to b, and from b to a:
    std::array<int64_t, 2> rateBps{};            ///< 0: the file has none
    std::array<int64_t, 2> queueBytes{{-1, -1}}; ///< -1: the file has none
    std::array<double, 2> errorRate{};
    std::array<double, 2> usdPerGb{};
    Assumed rateSource = Assumed::Speed; ///< LabelledSpeed, ModuleSpeed: assumed so; Speed: stated
    std::optional<TimeNs> delay;         ///< nothing: from the length or the places
    std::optional<double> km;            ///< length; nothing: from the places
    int line = 0;
};

/// A MapDemand is a demand between nodes of a map.
struct MapDemand
{
    int source = 0;
    int destination = 0;
    double bitsPerSecond = 0;
};

/// A NetworkMap is a file's nodes and lines. `path` is for messages.
struct NetworkMap
{
    std::string path;
    std::string name; ///< empty: the file's
    int line = 1;     ///< where the list of nodes begins
    std::vector<MapNode> nodes;
    std::vector<MapLine> lines;
    std::vector<MapDemand> demands;
    ImportReport report; ///< what the reader left unused

    /// Returns a line of the file, for messages.
    std::string At(int number) const
    {
        return path + ":" + std::to_string(number);
    }
};

/// Makes the topology. Nodes become switches of their names, with hosts "NAME/0", "NAME/1" and so
/// on; lines become links. It reads from `options`:
/// * hosts: their number on each node (1), or names of nodes with one each, joined by '+';
/// * host_rate, host_delay, host_queue: of the hosts' links (the defaults of `defaults`);
/// * default_rate (10Gbps): of lines without a rate;
/// * delay: of every line without a delay of its own; absent: FibreDelay of its length, or of the
///   places;
/// * stretch (1): of distances; queue: of the lines;
/// * component (largest): what becomes of nodes that others do not reach; or error. Throws Error
/// with file and line on maps without nodes and on names that no node has.
ImportedTopology BuildMap(const NetworkMap& map, Settings& options, const LinkDefaults& defaults);

/// RawAttributes are the values of a node, an edge or the graph by name.
struct RawAttributes
{
    std::map<std::string, std::string> values;
    std::set<std::string> several; ///< names of those that are lists, or are given several times
    int line = 0;
};

/// A RawGraph is what GraphML, GML and node-link JSON say: nodes and edges with values by name.
struct RawGraph
{
    struct Node : RawAttributes
    {
        std::string id;
    };

    struct Edge : RawAttributes
    {
        std::string source; ///< id of a node
        std::string target;
        bool directed = false;
    };

    std::string path;
    std::string name;
    int line = 1;
    RawAttributes own; ///< what the file says of the graph itself
    std::vector<Node> nodes;
    std::vector<Edge> edges;
};

/// Return what the file says, without any meaning. Throw Error with file and line on text that is
/// malformed or has parts of the format that no map has (nested graphs, hyperedges).
RawGraph ReadRawGraphml(const std::string& path);
RawGraph ReadRawGml(const std::string& path);
RawGraph ReadRawNodeLink(const std::string& path);

/// Gives the values of a graph their meaning, by the names of the Internet Topology Zoo (label,
/// Latitude, Longitude, hyperedge, LinkSpeedRaw, LinkLabel), those of other common writers
/// (bandwidth, capacity, latency, delay, rtt, dist, packet_loss, host_bandwidth_up; in any case and
/// with units after them) and those that WriteGraphml adds. `options` has the units of rates
/// (unit) and delays (delay_unit) that have none. Throws Error with file and line on edges to nodes
/// that are not there and on values out of range.
NetworkMap MapOfGraph(const RawGraph& graph, Settings& options);

/// Return the map of a file in SNDlib's native or XML format; `unitBps` is the unit of its
/// capacities and demands, 0: the one that the file names. Throw Error with file and line.
NetworkMap ReadSndlibNative(const std::string& path, int64_t unitBps);
NetworkMap ReadSndlibXml(const std::string& path, int64_t unitBps);

} // namespace legacy::fabric
