#include "pfc-check.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace legacy::fabric
{

namespace
{

/// The links that others wait for, with the first route that causes this.
using Dependencies = std::vector<std::map<DirectedLink, std::pair<int, int>>>;

/// Adds the waits between links that traffic from one node to another causes. A connection may take
/// any of the shortest paths, because a hash chooses one. Links that are `known` have been added
/// before.
void AddPaths(const Topology& topology,
              int source,
              int destination,
              std::vector<bool>& known,
              Dependencies& dependencies)
{
    std::vector<DirectedLink> open;
    const auto enter = [&](const std::vector<DirectedLink>& links)
    {
        for (const DirectedLink link : links)
        {
            if (!known[link])
            {
                known[link] = true;
                open.push_back(link);
            }
        }
    };
    enter(topology.NextHopsOf(source, source, destination));
    while (!open.empty())
    {
        const DirectedLink link = open.back();
        open.pop_back();
        const auto links = topology.NextHopsOf(topology.To(link), source, destination);
        for (const DirectedLink next : links)
        {
            dependencies[link].try_emplace(next, source, destination);
        }
        enter(links);
    }
}

Dependencies DependenciesOf(const Topology& topology, const std::vector<int>& nodes)
{
    const size_t links = 2 * topology.Links().size();
    Dependencies dependencies(links);
    for (const int destination : nodes)
    {
        std::vector<bool> known(links); // paths to it are the same for all sources
        for (const int source : nodes)
        {
            if (source == destination)
            {
                continue;
            }
            const bool explicitly = topology.Routes().count({source, destination}) > 0;
            std::vector<bool> own(explicitly ? links : 0);
            AddPaths(topology, source, destination, explicitly ? own : known, dependencies);
        }
    }
    return dependencies;
}

} // namespace

std::vector<BufferDependency> FindBufferCycle(const Topology& topology,
                                              const std::vector<int>& nodes)
{
    const Dependencies dependencies = DependenciesOf(topology, nodes);
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
        // The search is depth-first without recursion, because paths may be as long as there are
        // links.
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
                enter(next); // `step` advances when that is done
                continue;
            }
            ++step.next;
        }
    }
    return {};
}

} // namespace legacy::fabric
