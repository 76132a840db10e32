// A topology is hosts, switches and full-duplex links, and the routes between hosts. Equal-cost
// multipath is per connection: every node picks one of its shortest-path next hops by a hash of
// (seed, node, source, destination, connection), so the packet, flow and analytic engines use the
// same routes. Shortest paths have the fewest hops, or the least sum of weights where any link has
// a weight other than 1. Flows between two hosts with an explicit route follow that one instead.
#pragma once

#include "base/units.h"
#include "fabric/schedule/link-schedule.h"
#include "routing-cache.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// Highest probability of loss that files may give a link.
inline constexpr double kMostErrorRate = 0.999999;

/// A Port is the sending side of one direction of a link: its rate, its queue, and what happens on
/// its wire.
struct Port
{
    int64_t rateBps = 0;    ///< bits per second; with a schedule, its highest rate
    int64_t queueBytes = 0; ///< queue of the port; 0: the preset's
    double errorRate = 0;   ///< probability that a packet is lost on the wire
    /// USD per GB (1e9 bytes on the wire); 0: none. Prices have no influence on time.
    double usdPerGb = 0;
    /// Rate over time; nullptr: it is always rateBps.
    std::shared_ptr<const LinkSchedule> schedule = nullptr;
    /// Bucket of a port that limits by tokens, as Linux's tbf and clouds do: bytes that pass at
    /// once after idle time. 0: the port sends each frame at its rate.
    int64_t burstBytes = 0;
};

/// A Link is one full-duplex link between nodes `a` and `b`.
struct Link
{
    int a = 0;
    int b = 0;
    TimeNs delay = 0;            ///< propagation, one way
    int weight = 1;              ///< cost on a path, 1 or more
    std::array<Port, 2> ports{}; ///< from a to b, and from b to a

    Link() = default;
    /// Makes a link that is the same in both directions.
    Link(int from, int to, TimeNs oneWay, const Port& both)
        : a(from),
          b(to),
          delay(oneWay),
          ports{both, both}
    {
    }
    /// Returns true where both directions have the same rate, queue, error rate, bucket and
    /// schedule.
    bool Symmetric() const;
    /// Multiplies all rates by `factor` >= 1.
    void SpeedUp(int factor);
};

/// A Multipath says how a node chooses among its next hops on shortest paths.
enum class Multipath : uint8_t
{
    Ecmp,  ///< one next hop for each connection, by hash
    Spray, ///< another one for each packet, all with the same probability
};

/// A ConnectionId numbers the connections between two nodes: it is what the hash of ECMP has in the
/// place of ports (engine/connection.h). It has 16 bits each of: rank of the source among the
/// endpoints of its node, rank of the destination, lane, queue pair.
using ConnectionId = uint64_t;
inline constexpr int kSourceRankShift = 48;
inline constexpr int kDestinationRankShift = 32;
inline constexpr int kLaneShift = 16;
inline constexpr ConnectionId kConnectionField = 0xFFFF;

/// A DirectedLink is a number: link `i` is 2 i from a to b, and 2 i + 1 from b to a.
using DirectedLink = int;

/// A LinkShare is a link with the fraction of packets that takes it.
struct LinkShare
{
    DirectedLink link = 0;
    double share = 1; ///< (0, 1]
};

/// ExplicitRoutes have the nodes between two hosts, by (source, destination).
using ExplicitRoutes = std::map<std::pair<int, int>, std::vector<int>>;

/// A Position is where a node is drawn, in any unit; y grows downwards.
struct Position
{
    double x = 0;
    double y = 0;
};

/// TopologyParts are what a topology is made of, as a plain value.
struct TopologyParts
{
    struct Node
    {
        std::string name;
        bool host = false;
        std::optional<Position> position;
        std::vector<Outage> failures; ///< which the schedules of its ports have already
    };

    std::string name;
    std::vector<Node> nodes;
    std::vector<Link> links;
    uint64_t seed = 1; ///< of the hashes of ECMP
    Multipath multipath = Multipath::Ecmp;
    ExplicitRoutes routes;
};

/// A Topology answers queries of several threads at once; changes come from one thread alone.
class Topology
{
  public:
    Topology() = default;
    /// Makes the topology of these parts. Throws Error as AddLink and AddRoute do.
    explicit Topology(const TopologyParts& parts);
    TopologyParts Parts() const;

    /// Add a node and return its number. Hosts and switches share one numbering, from 0 in the
    /// order of adding.
    int AddHost(const std::string& name);
    int AddSwitch(const std::string& name);
    /// Adds a link and returns its number. Throws Error on unknown nodes, a == b, rate <= 0, delay
    /// < 0 or an invalid price, and sets the rate of scheduled ports.
    int AddLink(const Link& link);
    /// Makes flows from host `from` to host `to` pass the switches `via`, in order, and no other.
    /// Where several links join two nodes in a row, a hash chooses one. Throws Error where there is
    /// such a route, a node is neither host nor switch, is passed twice, or has no link to the next
    /// one.
    void AddRoute(int from, int to, const std::vector<int>& via);

    /// Lets a node fail: its links carry nothing in either direction, and connections that end at
    /// it are lost where it is a host. Routes stay what they are. Throws Error on an empty outage.
    void AddFailure(int node, const Outage& outage);
    /// Returns when the node next fails after `time`; kNever where it does not.
    TimeNs NextFailure(int node, TimeNs time) const;

    /// Set the seed of the hashes, and how nodes choose among next hops.
    void SetEcmpSeed(uint64_t seed);
    void SetMultipath(Multipath multipath);
    Multipath GetMultipath() const;

    int NodeCount() const;
    bool IsHost(int node) const;
    const std::string& NodeName(int node) const;
    const std::vector<int>& Hosts() const; ///< node numbers, in host order
    const std::vector<Link>& Links() const;
    /// Returns the outgoing links of `node`, in the order of adding.
    const std::vector<DirectedLink>& Out(int node) const;
    int From(DirectedLink link) const;
    int To(DirectedLink link) const;
    /// Returns "from>to", and "from>to#2" for the second of several links in parallel.
    std::string LinkName(DirectedLink link) const;
    const Link& LinkOf(DirectedLink link) const;
    const Port& PortOf(DirectedLink link) const;
    /// Returns the link's mean rate in bit/s, which is its rate where that does not change.
    int64_t MeanRate(DirectedLink link) const;
    /// Returns true where the rate of any link changes over time.
    bool HasSchedules() const;
    /// Returns true where paths are by weight, as a link has a weight other than 1.
    bool Weighted() const;
    const ExplicitRoutes& Routes() const;

    /// Returns the outgoing links of `node` on shortest paths to any node `destination`,
    /// ascending. Hosts do not forward. It is empty at the destination. Throws Error where there is
    /// no path, naming both ends.
    std::vector<DirectedLink> NextHops(int node, int destination) const;
    /// Returns the links that packets from `source` to `destination` may take at `node`: NextHops,
    /// or the links to the next node of their explicit route.
    std::vector<DirectedLink> NextHopsOf(int node, int source, int destination) const;
    /// Returns the link that a connection takes at `node`. The connections of a host take in turn
    /// those of its links that lead to one destination.
    DirectedLink NextHop(int node, int source, int destination, ConnectionId connection) const;
    /// Returns the directed links of a connection between two nodes; empty for source ==
    /// destination.
    std::vector<DirectedLink> Route(int source, int destination, ConnectionId connection) const;

    /// Returns the number of planes between two hosts: of the links by which the first reaches the
    /// other over one switch that links hosts alone, as the NVSwitches of a node do. What it sends
    /// to the other is spread evenly over them (Stripes). 1 where any other switch is between them.
    int Planes(int source, int destination) const;
    /// Returns the most planes between any two hosts, 1 or more.
    int MostPlanes() const;

    /// Returns the links that packets between two nodes take, and the fraction of them that takes
    /// each: under Ecmp the links of Route, with a share of 1.
    std::vector<LinkShare> Shares(int source, int destination, ConnectionId connection) const;

    /// Returns the same nodes and routes over other links: `change` may set anything but a link's
    /// ends. Throws Error as AddLink does.
    Topology WithLinks(const std::function<void(int index, Link& link)>& change) const;

    /// Returns a text that identifies hosts, switches, links and the ECMP seed. It is a part of the
    /// key of memoised steps, so prices are left out.
    std::string Fingerprint() const;

    const std::string& Name() const;
    void SetName(const std::string& name);

    /// Sets where a node is drawn.
    void SetPosition(int node, const Position& position);
    const std::optional<Position>& PositionOf(int node) const;

  private:
    struct Node
    {
        std::string name;
        bool host = false;
        std::optional<Position> position;
        std::vector<DirectedLink> out;
        std::vector<Outage> failures;
    };

    void CheckLink(const Link& link) const;
    /// Returns the node after `node` on the explicit route, or kNone where `node` is on none.
    int NextOnRoute(int node, int source, int destination) const;
    std::vector<DirectedLink> LinksBetween(int from, int to) const;
    bool LinksHostsAlone(int node) const;
    [[noreturn]] void ThrowNoPath(int from, int to) const;

    std::string m_name;
    std::vector<Node> m_nodes;
    std::vector<int> m_hosts;
    std::vector<Link> m_links;
    uint64_t m_seed = 1;
    Multipath m_multipath = Multipath::Ecmp;
    bool m_weighted = false;
    ExplicitRoutes m_routes;
    RoutingCache m_routing;
};

} // namespace legacy::fabric
