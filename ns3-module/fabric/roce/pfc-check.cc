#include "pfc-check.h"

#include <algorithm>
#include <map>
#include <set>

namespace legacy::fabric
{

namespace
{

/// Links that others wait for, with the first route that makes them.
using Dependencies = std::vector<std::map<DirectedLink, std::pair<int, int>>>;

/// Adds what one pair of nodes with packets that take any shortest path makes links wait for. They
/// leave the source by the link that ECMP gives, as a queue pair belongs to one NIC.
void AddSprayed(const Topology& topology,
                int source,
                int destination,
                uint32_t channel,
                Dependencies& dependencies)
{
    std::vector<DirectedLink> open{topology.NextHop(source, source, destination, channel)};
    std::set<DirectedLink> known(open.begin(), open.end());
    while (!open.empty())
    {
        const DirectedLink link = open.back();
        open.pop_back();
        for (const DirectedLink next : topology.NextHopsOf(topology.To(link), source, destination))
        {
            dependencies[link].try_emplace(next, source, destination);
            if (known.insert(next).second)
            {
                open.push_back(next);
            }
        }
    }
}

Dependencies
DependenciesOf(const Topology& topology, const std::vector<int>& nodes, uint32_t channels)
{
    Dependencies dependencies(2 * topology.Links().size());
    for (const int source : nodes)
    {
        for (const int destination : nodes)
        {
            if (source == destination)
            {
                continue;
            }
            for (uint32_t channel = 0; channel < channels; ++channel)
            {
                if (topology.GetMultipath() == Multipath::Spray)
                {
                    AddSprayed(topology, source, destination, channel, dependencies);
                    continue;
                }
                const auto route = topology.Route(source, destination, channel);
                for (size_t i = 1; i < route.size(); ++i)
                {
                    dependencies[route[i - 1]].try_emplace(route[i], source, destination);
                }
            }
        }
    }
    return dependencies;
}

} // namespace

std::vector<BufferDependency>
FindBufferCycle(const Topology& topology, const std::vector<int>& nodes, uint32_t channels)
{
    const Dependencies dependencies = DependenciesOf(topology, nodes, channels);
    enum class State : uint8_t
    {
        New,
        Open,
        Done
    };
    struct Step
    {
        DirectedLink link;
        std::map<DirectedLink, std::pair<int, int>>::const_iterator next;
    };
    std::vector<State> states(dependencies.size(), State::New);
    for (DirectedLink first = 0; first < static_cast<DirectedLink>(dependencies.size()); ++first)
    {
        // Depth first, without recursion: paths are as long as there are links.
        std::vector<Step> way;
        const auto enter = [&](DirectedLink link)
        {
            states[link] = State::Open;
            way.push_back({link, dependencies[link].begin()});
        };
        if (states[first] == State::New)
        {
            enter(first);
        }
        while (!way.empty())
        {
            Step& step = way.back();
            if (step.next == dependencies[step.link].end())
            {
                states[step.link] = State::Done;
                way.pop_back();
                continue;
            }
            const DirectedLink next = step.next->first;
            if (states[next] == State::Open)
            {
                std::vector<BufferDependency> cycle;
                auto begin = std::find_if(
                    way.begin(), way.end(), [&](const Step& one) { return one.link == next; });
                for (; begin != way.end(); ++begin)
                {
                    cycle.push_back({begin->link, begin->next->second});
                }
                return cycle;
            }
            if (states[next] == State::New)
            {
                enter(next); // `step` moves on when it is done
                continue;
            }
            ++step.next;
        }
    }
    return {};
}

} // namespace legacy::fabric
