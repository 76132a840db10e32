#include "builders.h"

#include <cassert>

namespace legacy::fabric
{

namespace
{

void AddHosts(Topology& topology, int count)
{
    for (int i = 0; i < count; ++i)
    {
        topology.AddHost("host" + std::to_string(i));
    }
}

void Connect(Topology& topology, int a, int b, const Tier& tier)
{
    topology.AddLink(Link{a, b, tier.delay, Port{tier.rateBps, tier.queueBytes}});
}

std::string Numbered(const char* name, int i)
{
    return name + std::to_string(i);
}

std::vector<int> AddSwitches(Topology& topology, const char* name, int count)
{
    std::vector<int> switches;
    for (int i = 0; i < count; ++i)
    {
        switches.push_back(topology.AddSwitch(Numbered(name, i)));
    }
    return switches;
}

/// Links each of `nodes` to its neighbour in one dimension of a grid, and the last one to the
/// first. The dimension has `size` coordinates, and neighbours are `step` apart in `nodes`.
void ConnectRings(Topology& topology,
                  const std::vector<int>& nodes,
                  int step,
                  int size,
                  const Tier& tier)
{
    for (size_t i = 0; i < nodes.size(); ++i)
    {
        const int at = static_cast<int>(i) / step % size;
        if (at + 1 < size)
        {
            Connect(topology, nodes[i], nodes[i + step], tier);
        }
        else if (size > 2)
        {
            Connect(topology, nodes[i], nodes[i - static_cast<size_t>(size - 1) * step], tier);
        }
    }
}

} // namespace

Topology BuildFatTree(int k,
                      const Tier& host,
                      const Tier& aggregation,
                      const Tier& core,
                      int gpus,
                      const Tier& node)
{
    assert(k >= 2 && k % 2 == 0 && gpus >= 1 && k / 2 % gpus == 0);
    const int half = k / 2;
    Topology topology;
    topology.SetName("fat-tree");
    AddHosts(topology, k * half * half);
    const std::vector<int> edges = AddSwitches(topology, "edge", k * half);
    const std::vector<int> aggregations = AddSwitches(topology, "aggregation", k * half);
    const std::vector<int> cores = AddSwitches(topology, "core", half * half);
    const std::vector<int> inner =
        AddSwitches(topology, "node", gpus > 1 ? k * half * half / gpus : 0);
    for (int i = 0; i < k * half * half; ++i)
    {
        if (gpus > 1)
        {
            Connect(topology, i, inner[i / gpus], node);
        }
        Connect(topology, i, edges[i / gpus / half * gpus + i % gpus], host);
    }
    for (int pod = 0; pod < k; ++pod)
    {
        for (int i = 0; i < half; ++i)
        {
            for (int j = 0; j < half; ++j)
            {
                Connect(topology, edges[pod * half + i], aggregations[pod * half + j], aggregation);
                // Aggregation switch i of every pod is linked to the same group of k/2 cores.
                Connect(topology, aggregations[pod * half + i], cores[i * half + j], core);
            }
        }
    }
    return topology;
}

Topology
BuildLeafSpine(int leaves, int hostsPerLeaf, int spines, const Tier& host, const Tier& spine)
{
    assert(leaves >= 1 && hostsPerLeaf >= 1 && spines >= 1);
    Topology topology;
    topology.SetName("leaf-spine");
    AddHosts(topology, leaves * hostsPerLeaf);
    const std::vector<int> tops = AddSwitches(topology, "spine", spines);
    for (int i = 0; i < leaves; ++i)
    {
        const int leaf = topology.AddSwitch(Numbered("leaf", i));
        for (int j = 0; j < hostsPerLeaf; ++j)
        {
            Connect(topology, i * hostsPerLeaf + j, leaf, host);
        }
        for (int top : tops)
        {
            Connect(topology, leaf, top, spine);
        }
    }
    return topology;
}

Topology BuildDumbbell(int left, int right, const Tier& host, const Tier& bottleneck)
{
    assert(left >= 1 && right >= 1);
    Topology topology;
    topology.SetName("dumbbell");
    AddHosts(topology, left + right);
    const int a = topology.AddSwitch("left");
    const int b = topology.AddSwitch("right");
    for (int i = 0; i < left + right; ++i)
    {
        Connect(topology, i, i < left ? a : b, host);
    }
    Connect(topology, a, b, bottleneck);
    return topology;
}

Topology BuildStar(int hosts, const Tier& host)
{
    assert(hosts >= 1);
    Topology topology;
    topology.SetName("star");
    AddHosts(topology, hosts);
    const int hub = topology.AddSwitch("hub");
    for (int i = 0; i < hosts; ++i)
    {
        Connect(topology, i, hub, host);
    }
    return topology;
}

Topology BuildTorus(int x, int y, int z, const Tier& host, const Tier& router)
{
    assert(x >= 1 && y >= 1 && z >= 1);
    Topology topology;
    topology.SetName("torus");
    const int count = x * y * z;
    AddHosts(topology, count);
    std::vector<int> routers;
    for (int i = 0; i < count; ++i)
    {
        const int column = i % x;
        const int row = i / x % y;
        const int plane = i / (x * y);
        const std::string location = std::to_string(column) + "." + std::to_string(row) +
                                     (z > 1 ? "." + std::to_string(plane) : "");
        routers.push_back(topology.AddSwitch("router" + location));
        // Planes are drawn next to each other, and each host is drawn below and to the right of its
        // router.
        const Position position{static_cast<double>(column + plane * (x + 1)),
                                static_cast<double>(row)};
        topology.SetPosition(routers.back(), position);
        topology.SetPosition(i, Position{position.x + 0.3, position.y + 0.3});
        Connect(topology, i, routers.back(), host);
    }
    ConnectRings(topology, routers, 1, x, router);
    ConnectRings(topology, routers, x, y, router);
    ConnectRings(topology, routers, x * y, z, router);
    return topology;
}

Topology BuildRing(int hosts, const Tier& host, const Tier& router)
{
    assert(hosts >= 1);
    Topology topology;
    topology.SetName("ring");
    AddHosts(topology, hosts);
    const std::vector<int> routers = AddSwitches(topology, "router", hosts);
    for (int i = 0; i < hosts; ++i)
    {
        Connect(topology, i, routers[i], host);
    }
    ConnectRings(topology, routers, 1, hosts, router);
    return topology;
}

Topology
BuildDragonfly(const DragonflySize& size, const Tier& host, const Tier& local, const Tier& global)
{
    assert(size.groups >= 1 && size.routers >= 1 && size.hosts >= 1);
    assert(size.global >= 1 && size.global <= size.routers);
    Topology topology;
    topology.SetName("dragonfly");
    const int count = size.groups * size.routers;
    AddHosts(topology, count * size.hosts);
    const std::vector<int> routers = AddSwitches(topology, "router", count);
    for (int i = 0; i < count * size.hosts; ++i)
    {
        Connect(topology, i, routers[i / size.hosts], host);
    }
    for (int i = 0; i < count; ++i)
    {
        for (int j = i + 1; j < (i / size.routers + 1) * size.routers; ++j)
        {
            Connect(topology, routers[i], routers[j], local);
        }
    }
    std::vector<int> used(size.groups, 0); // number of global links of each group so far
    const auto next = [&](int group)
    { return routers[group * size.routers + used[group]++ % size.routers]; };
    for (int a = 0; a < size.groups; ++a)
    {
        for (int b = a + 1; b < size.groups; ++b)
        {
            for (int link = 0; link < size.global; ++link)
            {
                const int from = next(a);
                Connect(topology, from, next(b), global);
            }
        }
    }
    return topology;
}

Topology BuildRailOptimised(int nodes,
                            int gpus,
                            int spines,
                            const Tier& node,
                            const Tier& rail,
                            const Tier& spine)
{
    assert(nodes >= 1 && gpus >= 1 && spines >= 1);
    Topology topology;
    topology.SetName("rail-optimised");
    AddHosts(topology, nodes * gpus);
    const std::vector<int> inner = AddSwitches(topology, "node", nodes);
    const std::vector<int> rails = AddSwitches(topology, "rail", gpus);
    const std::vector<int> tops = AddSwitches(topology, "spine", spines);
    for (int i = 0; i < nodes * gpus; ++i)
    {
        Connect(topology, i, inner[i / gpus], node);
        Connect(topology, i, rails[i % gpus], rail);
    }
    for (int from : rails)
    {
        for (int top : tops)
        {
            Connect(topology, from, top, spine);
        }
    }
    return topology;
}

Topology BuildNodes(int nodes, int gpus, int leaves, const Tier& node, const Tier& network)
{
    assert(nodes >= 1 && gpus >= 1 && leaves >= 1);
    Topology topology;
    topology.SetName("nodes");
    AddHosts(topology, nodes * gpus);
    const std::vector<int> inner = AddSwitches(topology, "node", nodes);
    const std::vector<int> tops = AddSwitches(topology, "leaf", leaves);
    for (int i = 0; i < nodes * gpus; ++i)
    {
        Connect(topology, i, inner[i / gpus], node);
    }
    for (int from : inner)
    {
        for (int top : tops)
        {
            Connect(topology, from, top, network);
        }
    }
    return topology;
}

} // namespace legacy::fabric
