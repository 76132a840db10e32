#include "topology-builders.h"

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
    topology.AddLink(Link{a, b, tier.rateBps, tier.delay, tier.queueBytes});
}

std::string Numbered(const char* name, int i)
{
    return name + std::to_string(i);
}

} // namespace

Topology BuildFatTree(int k, const Tier& host, const Tier& aggregation, const Tier& core)
{
    assert(k >= 2 && k % 2 == 0);
    const int half = k / 2;
    Topology topology;
    topology.SetName("fat-tree");
    AddHosts(topology, k * half * half);
    std::vector<int> edges;
    std::vector<int> aggregations;
    std::vector<int> cores;
    for (int i = 0; i < k * half; ++i)
    {
        edges.push_back(topology.AddSwitch(Numbered("edge", i)));
    }
    for (int i = 0; i < k * half; ++i)
    {
        aggregations.push_back(topology.AddSwitch(Numbered("aggregation", i)));
    }
    for (int i = 0; i < half * half; ++i)
    {
        cores.push_back(topology.AddSwitch(Numbered("core", i)));
    }
    for (int i = 0; i < k * half * half; ++i)
    {
        Connect(topology, i, edges[i / half], host);
    }
    for (int pod = 0; pod < k; ++pod)
    {
        for (int i = 0; i < half; ++i)
        {
            for (int j = 0; j < half; ++j)
            {
                Connect(topology, edges[pod * half + i], aggregations[pod * half + j], aggregation);
                // Aggregation switch i of every pod meets the same group of k/2 cores.
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
    std::vector<int> tops;
    for (int i = 0; i < spines; ++i)
    {
        tops.push_back(topology.AddSwitch(Numbered("spine", i)));
    }
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

} // namespace legacy::fabric
