// Topology: hosts, switches and full-duplex links, and the routes between hosts.
// Equal-cost multipath is per flow: every node picks one of its shortest-path next hops by a hash
// of (seed, node, source, destination, channel), so the packet, flow and analytic engines use the
// same routes.
#pragma once

#include "fabric/base/units.h"
#include "routing-cache.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// One full-duplex link between nodes `a` and `b`. Each direction has its own rate-limited port and
/// queue.
struct Link
{
    int a = 0;
    int b = 0;
    int64_t rateBps = 0;    ///< bits per second, each way
    TimeNs delay = 0;       ///< propagation, one way
    int64_t queueBytes = 0; ///< of each port; 0: the preset's
    double errorRate = 0;   ///< probability that a packet is lost on the wire, each way
    /// USD per GB (1e9 bytes on the wire), from a to b and from b to a; 0: none. No part of time.
    std::array<double, 2> usdPerGb{};
};

/// How a node chooses among its next hops on shortest paths.
enum class Multipath : uint8_t
{
    Ecmp,  ///< one for each flow, by hash
    Spray, ///< each packet anew, all with the same probability
};

/// Link `i` from a to b is directed link 2 i, from b to a 2 i + 1.
using DirectedLink = int;

struct LinkShare
{
    DirectedLink link = 0;
    double share = 1; ///< (0, 1]
};

/// Where a node is drawn; any unit, y grows downwards.
struct Position
{
    double x = 0;
    double y = 0;
};

/// Queries may come from several threads at once, changes only from one alone.
class Topology
{
  public:
    /// Hosts and switches share one numbering of nodes, from 0 in the order of adding.
    int AddHost(const std::string& name);
    int AddSwitch(const std::string& name);
    /// Throws Error on unknown nodes, a == b, rate <= 0, delay < 0 or a price that is none.
    int AddLink(const Link& link);

    void SetEcmpSeed(uint64_t seed);
    void SetMultipath(Multipath multipath);
    Multipath GetMultipath() const;

    int NodeCount() const;
    bool IsHost(int node) const;
    const std::string& NodeName(int node) const;
    const std::vector<int>& Hosts() const; ///< node numbers, in host order
    const std::vector<Link>& Links() const;
    /// Outgoing links of `node`, in the order of adding.
    const std::vector<DirectedLink>& Out(int node) const;
    int From(DirectedLink link) const;
    int To(DirectedLink link) const;
    const Link& LinkOf(DirectedLink link) const;
    /// Price of what this direction carries, USD per GB; 0 where it has none.
    double UsdPerGb(DirectedLink link) const;

    /// Outgoing links of `node` on shortest paths (hops) to any node `destination`, ascending.
    /// Hosts do not forward. Empty at the destination; throws Error where there is no path, naming
    /// both ends.
    std::vector<DirectedLink> NextHops(int node, int destination) const;
    /// The link that a flow takes at `node`.
    DirectedLink NextHop(int node, int source, int destination, uint32_t channel) const;
    /// The directed links of a flow between two nodes; empty for source == destination.
    std::vector<DirectedLink> Route(int source, int destination, uint32_t channel) const;

    /// The links that packets between two nodes take and the fraction of them that takes each:
    /// those of Route, all 1, under Ecmp.
    std::vector<LinkShare> Shares(int source, int destination, uint32_t channel) const;

    /// The same nodes and routes over other links: `change` may set anything but a link's ends.
    /// Throws Error as AddLink.
    Topology WithLinks(const std::function<void(int index, Link& link)>& change) const;

    /// Identifies hosts, switches, links and the ECMP seed: part of the key of memoised steps,
    /// so prices are left out.
    std::string Fingerprint() const;

    const std::string& Name() const;
    void SetName(const std::string& name);

    void SetPosition(int node, const Position& position);
    const std::optional<Position>& PositionOf(int node) const;

  private:
    struct Node
    {
        std::string name;
        bool host = false;
        std::optional<Position> position;
        std::vector<DirectedLink> out;
    };

    void CheckLink(const Link& link) const;
    [[noreturn]] void ThrowNoPath(int from, int to) const;

    std::string m_name;
    std::vector<Node> m_nodes;
    std::vector<int> m_hosts;
    std::vector<Link> m_links;
    uint64_t m_seed = 1;
    Multipath m_multipath = Multipath::Ecmp;
    RoutingCache m_routing;
};

/// A topology by name and parameters, as on the command line: "fat-tree:k=4",
/// "leaf-spine:leaves=4,hosts=4,spines=2" (all types: TopologyTypes of topology-report.h); or the
/// path of a file (topology-file.h): .yaml or .yml, and .txt, .topo or "hpcc:PATH" in HPCC's
/// format.
struct TopologyRequest
{
    std::string text = "fat-tree";
    /// of host links, and of all links where the topology does not say otherwise
    int64_t rateBps = 1'000'000'000;
    TimeNs delay = 10'000; ///< of each link
    int64_t queueBytes = 0;
    /// sizes a topology whose size is not given; error where a given one is too small
    int hostsNeeded = 0;
    uint64_t ecmpSeed = 1;
    Multipath multipath = Multipath::Ecmp;
};

/// Builds it. Throws Error with file, line and column (files) or the parameter, its value and what
/// is allowed.
Topology MakeTopology(const TopologyRequest& request);

} // namespace legacy::fabric
