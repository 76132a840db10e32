// MakeTopology: from a request's text, or the file it names, to a topology.
#include "error.h"
#include "settings.h"
#include "topology-builders.h"
#include "topology-file.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

constexpr int kMaxHosts = 65536;
constexpr int kMaxPorts = 64;     ///< k of a fat-tree: 65,536 hosts
constexpr int kDefaultHosts = 16; ///< where neither a size nor a need is given

struct Build
{
    Settings settings;
    int hostsNeeded = 0;
    Tier common;

    int Needed() const
    {
        return hostsNeeded > 0 ? hostsNeeded : kDefaultHosts;
    }

    Tier TierOf(const std::string& name)
    {
        return Tier{settings.Rate(name + ".rate", common.rateBps),
                    settings.Time(name + ".delay", common.delay),
                    settings.Bytes(name + ".queue", common.queueBytes)};
    }

    /// Throws where `hosts`, which follow from the value of `key`, are too few.
    void CheckHosts(int64_t hosts, const std::string& key, const std::string& remedy) const
    {
        const std::string has = std::to_string(hosts) + " hosts";
        if (hosts < hostsNeeded)
        {
            throw Error(settings.Place(key) + ": " + settings.Type() + " has " + has + ", but " +
                        std::to_string(hostsNeeded) + " are needed; allowed: " + remedy);
        }
        if (hosts > kMaxHosts)
        {
            throw Error(settings.Place(key), has, "at most " + std::to_string(kMaxHosts));
        }
    }
};

int64_t FatTreeHosts(int k)
{
    return static_cast<int64_t>(k) * k * k / 4;
}

Topology MakeFatTree(Build& build)
{
    int smallest = 2;
    while (FatTreeHosts(smallest) < build.Needed() && smallest < kMaxPorts)
    {
        smallest += 2;
    }
    // A tree of k = 2 is a chain of switches: take 4 where nobody asks for less.
    const int k = build.settings.Int("k", std::max(4, smallest), 2, kMaxPorts);
    if (k % 2 != 0)
    {
        throw Error(build.settings.Place("k"), std::to_string(k), "an even number");
    }
    build.CheckHosts(FatTreeHosts(k), "k", "k = " + std::to_string(smallest) + " or more");
    return BuildFatTree(k, build.TierOf("host"), build.TierOf("aggregation"), build.TierOf("core"));
}

Topology MakeLeafSpine(Build& build)
{
    constexpr int kHostsPerLeaf = 4;
    Settings& settings = build.settings;
    const int needed = build.Needed();
    const int wishedLeaves = settings.Int("leaves", 0, 1, kMaxHosts);
    const int spread = wishedLeaves ? (needed + wishedLeaves - 1) / wishedLeaves : kHostsPerLeaf;
    const int hosts = settings.Int("hosts", spread, 1, kMaxHosts);
    const int leaves = wishedLeaves ? wishedLeaves : std::max(2, (needed + hosts - 1) / hosts);
    build.CheckHosts(static_cast<int64_t>(leaves) * hosts,
                     settings.Has("leaves") ? "leaves" : "hosts",
                     "leaves x hosts of at least " + std::to_string(build.hostsNeeded));

    const Tier host = build.TierOf("host");
    Tier spine = build.TierOf("spine");
    const bool ratioGiven = settings.Has("oversubscription");
    const double ratio = settings.Real("oversubscription", 1, 0.01, 1000);
    const int spines =
        settings.Int("spines", std::clamp(static_cast<int>(hosts / ratio), 1, hosts), 1, 1024);
    if (ratioGiven)
    {
        if (settings.Has("spine.rate"))
        {
            throw Error(settings.Place("oversubscription"),
                        settings.Text("oversubscription", ""),
                        "either this or spine.rate, which follow from each other");
        }
        const double down = static_cast<double>(hosts) * static_cast<double>(host.rateBps);
        spine.rateBps = std::max<int64_t>(1, static_cast<int64_t>(down / (spines * ratio)));
    }
    return BuildLeafSpine(leaves, hosts, spines, host, spine);
}

Topology MakeDumbbell(Build& build)
{
    Settings& settings = build.settings;
    const int needed = build.Needed();
    const int wishedLeft = settings.Int("left", 0, 1, kMaxHosts);
    const int wishedRight = settings.Int("right", 0, 1, kMaxHosts);
    const int left = wishedLeft    ? wishedLeft
                     : wishedRight ? std::max(1, needed - wishedRight)
                                   : (needed + 1) / 2;
    const int right = wishedRight ? wishedRight : std::max(1, needed - left);
    build.CheckHosts(static_cast<int64_t>(left) + right,
                     "left",
                     "left + right of at least " + std::to_string(build.hostsNeeded));
    return BuildDumbbell(left, right, build.TierOf("host"), build.TierOf("bottleneck"));
}

Topology MakeStar(Build& build)
{
    const int hosts = build.settings.Int("hosts", std::max(2, build.Needed()), 1, kMaxHosts);
    build.CheckHosts(hosts, "hosts", std::to_string(build.hostsNeeded) + " hosts or more");
    return BuildStar(hosts, build.TierOf("host"));
}

bool IsPath(const std::string& text)
{
    const auto endsWith = [&text](const std::string& end)
    {
        return text.size() >= end.size() &&
               text.compare(text.size() - end.size(), end.size(), end) == 0;
    };
    return endsWith(".yaml") || endsWith(".yml") || text.find('/') != std::string::npos;
}

Topology MakeByType(Build& build)
{
    const std::string& type = build.settings.Type();
    if (type == "fat-tree")
    {
        return MakeFatTree(build);
    }
    if (type == "leaf-spine")
    {
        return MakeLeafSpine(build);
    }
    if (type == "dumbbell")
    {
        return MakeDumbbell(build);
    }
    if (type == "star")
    {
        return MakeStar(build);
    }
    throw Error(build.settings.Where(),
                type,
                "fat-tree, leaf-spine, dumbbell, star, or the path of a .yaml file");
}

} // namespace

Topology MakeTopology(const TopologyRequest& request)
{
    Build build{IsPath(request.text) ? LoadTopologyFile(request.text)
                                     : Settings::FromText(request.text, "topology"),
                request.hostsNeeded,
                {}};
    Settings& settings = build.settings;
    build.common.rateBps = settings.Rate("rate", request.rateBps);
    build.common.delay = settings.Time("delay", request.delay);
    build.common.queueBytes = settings.Bytes("queue", request.queueBytes);
    const std::string name = settings.Text("name", settings.Type());
    Topology topology = MakeByType(build);
    settings.RejectUnread();
    topology.SetName(name);
    topology.SetEcmpSeed(request.ecmpSeed);
    topology.SetMultipath(request.multipath);
    return topology;
}

} // namespace legacy::fabric
