// The makers of fat-tree, leaf-spine, dumbbell and star, and the list of all types.
#include "types.h"

#include "base/error.h"
#include "base/nearest.h"
#include "report.h"

#include <algorithm>

namespace legacy::fabric
{

// Each of these functions makes one type. It reads the type's parameters from the settings, and
// throws Error on invalid values.
Topology MakeFatTree(TopologyBuild& build);
Topology MakeLeafSpine(TopologyBuild& build);
Topology MakeDumbbell(TopologyBuild& build);
Topology MakeStar(TopologyBuild& build);
Topology MakeTorus(TopologyBuild& build);
Topology MakeDragonfly(TopologyBuild& build);
Topology MakeRailOptimised(TopologyBuild& build);
Topology MakeRing(TopologyBuild& build);
Topology MakeNodes(TopologyBuild& build);

namespace
{

constexpr int kMaxPorts = 64;     ///< k of a fat-tree: 65,536 hosts
constexpr int kDefaultHosts = 16; ///< number of hosts if neither a size nor a need is given
constexpr int kHostsPerLeaf = 4;
constexpr int kFastLink = 8; ///< rate of the links inside a node, relative to other links

int64_t FatTreeHosts(int k)
{
    return static_cast<int64_t>(k) * k * k / 4;
}

struct Entry
{
    TopologyType type;
    Topology (*make)(TopologyBuild& build);
};

const std::vector<Entry>& Entries()
{
    static const std::vector<Entry> entries{
        {{"fat-tree",
          "k, gpus, oversubscription, core.oversubscription",
          "node, host, aggregation, core",
          "k pods of k/2 edge and k/2 aggregation switches; k^3/4 hosts. With gpus above 1, so "
          "many "
          "hosts are a node, with a fast link each to its switch. oversubscription divides the "
          "rate of the edge switches' uplinks, core.oversubscription that of the aggregation "
          "switches'"},
         MakeFatTree},
        {{"leaf-spine",
          "leaves, hosts, spines, oversubscription",
          "host, spine",
          "every leaf switch, with its hosts, has a link to every spine. oversubscription divides "
          "the rate of the leaves' uplinks"},
         MakeLeafSpine},
        {{"dumbbell", "left, right", "host, bottleneck", "two switches with one link between them"},
         MakeDumbbell},
        {{"star", "hosts", "host", "one switch"}, MakeStar},
        {{"torus",
          "x, y, z",
          "host, router",
          "a router for each host in a grid that wraps around, of two dimensions or three"},
         MakeTorus},
        {{"dragonfly",
          "groups, routers, hosts, global",
          "host, local, global",
          "groups of routers that are all linked to each other; global links between every two "
          "groups"},
         MakeDragonfly},
        {{"rail-optimised",
          "nodes, gpus, spines, oversubscription",
          "node, rail, spine",
          "host i of each node has a fast link to its node's switch and a link to rail switch i; "
          "spines join the rails. oversubscription divides the rate of the rails' uplinks"},
         MakeRailOptimised},
        {{"ring", "hosts", "host, router", "a router for each host, in a ring"}, MakeRing},
        {{"nodes",
          "nodes, gpus, leaves",
          "node, network",
          "hosts on the fast switch of their node; every node has a link to each leaf switch"},
         MakeNodes},
    };
    return entries;
}

} // namespace

const std::vector<TopologyType>& TopologyTypes()
{
    static const std::vector<TopologyType> types = []
    {
        std::vector<TopologyType> all;
        for (const Entry& entry : Entries())
        {
            all.push_back(entry.type);
        }
        return all;
    }();
    return types;
}

Topology MakeByType(TopologyBuild& build)
{
    std::vector<std::string> names;
    for (const Entry& entry : Entries())
    {
        if (entry.type.name == build.settings.Type())
        {
            return entry.make(build);
        }
        names.push_back(entry.type.name);
    }
    throw NotAmong(
        build.settings.Where(),
        build.settings.Type(),
        names,
        "",
        "a file: .yaml, .txt or .topo (HPCC), .graphml, .gml, .json, .xml, or hpcc:PATH");
}

int TopologyBuild::Needed() const
{
    return hostsNeeded > 0 ? hostsNeeded : kDefaultHosts;
}

Tier TopologyBuild::TierOf(const std::string& name)
{
    return TierOf(name, common);
}

Tier TopologyBuild::TierOf(const std::string& name, const Tier& fallback)
{
    return Tier{settings.Rate(name + ".rate", fallback.rateBps),
                settings.Time(name + ".delay", fallback.delay),
                settings.Bytes(name + ".queue", fallback.queueBytes)};
}

Tier TopologyBuild::NodeTier()
{
    Tier fast = common;
    fast.rateBps = std::min(fast.rateBps, INT64_MAX / kFastLink) * kFastLink;
    return TierOf("node", fast);
}

void TopologyBuild::Divide(const std::string& key,
                           const std::string& name,
                           int down,
                           int64_t downBps,
                           int up,
                           Tier& tier)
{
    const double ratio = settings.Real(key, 1, 0.01, 1000);
    if (!settings.Has(key))
    {
        return;
    }
    if (settings.Has(name + ".rate"))
    {
        throw Error(settings.Location(key),
                    settings.Text(key, ""),
                    "either this or " + name + ".rate, which follow from each other");
    }
    const double incoming = static_cast<double>(down) * static_cast<double>(downBps);
    tier.rateBps = std::max<int64_t>(1, static_cast<int64_t>(incoming / (up * ratio)));
}

void TopologyBuild::CheckHosts(int64_t hosts,
                               const std::string& key,
                               const std::string& remedy) const
{
    const std::string has = std::to_string(hosts) + " hosts";
    if (hosts < hostsNeeded)
    {
        throw Error::Refusal(settings.Location(key) + ": " + settings.Type() + " has " + has +
                             ", but " + std::to_string(hostsNeeded) +
                             " are needed; allowed: " + remedy);
    }
    if (hosts > kMaxHosts)
    {
        throw Error(settings.Location(key), has, "at most " + std::to_string(kMaxHosts));
    }
}

void TopologyBuild::CheckLinks(int64_t links, const std::string& key) const
{
    if (links > kMaxLinks)
    {
        throw Error(settings.Location(key),
                    std::to_string(links) + " links",
                    "at most " + std::to_string(kMaxLinks));
    }
}

Topology MakeFatTree(TopologyBuild& build)
{
    int smallest = 2;
    while (FatTreeHosts(smallest) < build.Needed() && smallest < kMaxPorts)
    {
        smallest += 2;
    }
    // A tree of k = 2 is a chain of switches, so k is 4 or more unless the user asks for less.
    const int k = build.settings.Int("k", std::max(4, smallest), 2, kMaxPorts);
    if (k % 2 != 0)
    {
        throw Error(build.settings.Location("k"), std::to_string(k), "an even number");
    }
    build.CheckHosts(FatTreeHosts(k), "k", "k = " + std::to_string(smallest) + " or more");
    const int gpus = build.settings.Int("gpus", 1, 1, k / 2);
    if (k / 2 % gpus != 0)
    {
        throw Error(build.settings.Location("gpus"),
                    std::to_string(gpus),
                    "a divisor of k/2 = " + std::to_string(k / 2));
    }
    const Tier node = build.NodeTier();
    const Tier host = build.TierOf("host");
    Tier aggregation = build.TierOf("aggregation");
    build.Divide("oversubscription", "aggregation", k / 2, host.rateBps, k / 2, aggregation);
    // Core links get the rate of the divided uplinks, because the edge lets no more traffic
    // through.
    Tier above = build.common;
    if (build.settings.Has("oversubscription"))
    {
        above.rateBps = aggregation.rateBps;
    }
    Tier core = build.TierOf("core", above);
    build.Divide("core.oversubscription", "core", k / 2, aggregation.rateBps, k / 2, core);
    return BuildFatTree(k, host, aggregation, core, gpus, node);
}

Topology MakeLeafSpine(TopologyBuild& build)
{
    constexpr int kMaxHosts = TopologyBuild::kMaxHosts;
    Settings& settings = build.settings;
    const int needed = build.Needed();
    const int wishedLeaves = settings.Int("leaves", 0, 1, kMaxHosts);
    const int spread = wishedLeaves ? (needed + wishedLeaves - 1) / wishedLeaves : kHostsPerLeaf;
    const int hosts = settings.Int("hosts", spread, 1, kMaxHosts);
    const int leaves = wishedLeaves ? wishedLeaves : std::max(2, (needed + hosts - 1) / hosts);
    const std::string key = settings.Has("leaves") ? "leaves" : "hosts";
    build.CheckHosts(static_cast<int64_t>(leaves) * hosts,
                     key,
                     "leaves x hosts of at least " + std::to_string(build.hostsNeeded));
    const Tier host = build.TierOf("host");
    Tier spine = build.TierOf("spine");
    const double ratio = settings.Real("oversubscription", 1, 0.01, 1000);
    const int spines =
        settings.Int("spines", std::clamp(static_cast<int>(hosts / ratio), 1, hosts), 1, 1024);
    build.CheckLinks(static_cast<int64_t>(leaves) * (hosts + spines), key);
    build.Divide("oversubscription", "spine", hosts, host.rateBps, spines, spine);
    return BuildLeafSpine(leaves, hosts, spines, host, spine);
}

Topology MakeDumbbell(TopologyBuild& build)
{
    Settings& settings = build.settings;
    const int needed = build.Needed();
    const int wishedLeft = settings.Int("left", 0, 1, TopologyBuild::kMaxHosts);
    const int wishedRight = settings.Int("right", 0, 1, TopologyBuild::kMaxHosts);
    const int left = wishedLeft    ? wishedLeft
                     : wishedRight ? std::max(1, needed - wishedRight)
                                   : (needed + 1) / 2;
    const int right = wishedRight ? wishedRight : std::max(1, needed - left);
    build.CheckHosts(static_cast<int64_t>(left) + right,
                     "left",
                     "left + right of at least " + std::to_string(build.hostsNeeded));
    return BuildDumbbell(left, right, build.TierOf("host"), build.TierOf("bottleneck"));
}

Topology MakeStar(TopologyBuild& build)
{
    const int hosts =
        build.settings.Int("hosts", std::max(2, build.Needed()), 1, TopologyBuild::kMaxHosts);
    build.CheckHosts(hosts, "hosts", std::to_string(build.hostsNeeded) + " hosts or more");
    return BuildStar(hosts, build.TierOf("host"));
}

} // namespace legacy::fabric
