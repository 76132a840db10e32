#include "alike-groups.h"

#include "check-traffic.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// Returns values in ascending order, each once.
std::vector<int> Sorted(std::vector<int> values)
{
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

int64_t NumberIn(const std::vector<int>& sorted, int value)
{
    return std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
}

/// Returns the only way between two nodes; nothing where there are several.
std::optional<std::vector<DirectedLink>> OnlyWay(const Topology& topology, int from, int to)
{
    std::vector<DirectedLink> way;
    for (int node = from; node != to; node = topology.To(way.back()))
    {
        const std::vector<DirectedLink> next = topology.NextHopsOf(node, from, to);
        if (next.size() != 1)
        {
            return std::nullopt;
        }
        way.push_back(next.front());
    }
    return way;
}

using Ways = std::map<std::pair<int, int>, std::vector<DirectedLink>>;

/// Returns the ways between the nodes of the members of each collective; nothing where one is not
/// the only one.
std::optional<Ways> WaysOf(const CollectiveGroups& groups, const EngineRequest& network)
{
    Ways ways;
    for (const CollectiveSpec& spec : groups)
    {
        std::vector<int> nodes;
        for (int member : spec.members)
        {
            nodes.push_back(network.placement->NodeOf(member));
        }
        nodes = Sorted(std::move(nodes));
        for (int from : nodes)
        {
            for (int to : nodes)
            {
                if (from == to)
                {
                    continue;
                }
                const auto [entry, added] = ways.try_emplace({from, to});
                if (!added)
                {
                    continue;
                }
                std::optional<std::vector<DirectedLink>> way = OnlyWay(*network.topology, from, to);
                if (!way)
                {
                    return std::nullopt;
                }
                entry->second = *std::move(way);
            }
        }
    }
    return ways;
}

/// Returns all that engines read of a link but its rate over time.
std::vector<int64_t>
PropertiesOf(const Topology& topology, const std::vector<int>& nodes, DirectedLink link)
{
    const Port& port = topology.PortOf(link);
    int64_t errors = 0;
    static_assert(sizeof errors == sizeof port.errorRate);
    std::memcpy(&errors, &port.errorRate, sizeof errors);
    return {NumberIn(nodes, topology.From(link)),
            NumberIn(nodes, topology.To(link)),
            topology.IsHost(topology.From(link)) ? 1 : 0,
            topology.IsHost(topology.To(link)) ? 1 : 0,
            topology.LinkOf(link).delay,
            port.rateBps,
            port.queueBytes,
            port.burstBytes,
            errors};
}

} // namespace

std::vector<int> MembersOf(const CollectiveGroups& groups)
{
    std::vector<int> members;
    for (const CollectiveSpec& spec : groups)
    {
        members.insert(members.end(), spec.members.begin(), spec.members.end());
    }
    return Sorted(std::move(members));
}

std::optional<std::string> CallsOf(const CollectiveGroups& groups, const std::vector<int>& members)
{
    std::string text;
    for (CollectiveSpec spec : groups)
    {
        if (spec.members.empty() || !spec.parents.empty() || HasServers(spec) ||
            IsServer(spec.algorithm))
        {
            return std::nullopt;
        }
        for (int& member : spec.members)
        {
            member = static_cast<int>(NumberIn(members, member));
        }
        AppendCanonical(text, spec);
    }
    return text;
}

std::optional<GroupsForm>
FormOf(const CollectiveGroups& groups, const std::string& calls, const EngineRequest& network)
{
    const Topology& topology = *network.topology;
    const std::optional<Ways> ways = WaysOf(groups, network);
    if (!ways || topology.HasSchedules())
    {
        return std::nullopt;
    }
    GroupsForm form{calls, MembersOf(groups), {}};
    std::vector<int> nodes;
    for (int worker : form.workers)
    {
        nodes.push_back(network.placement->NodeOf(worker));
    }
    for (const auto& [ends, way] : *ways)
    {
        form.links.insert(form.links.end(), way.begin(), way.end());
    }
    form.links = Sorted(std::move(form.links));
    for (DirectedLink link : form.links)
    {
        nodes.push_back(topology.From(link));
        nodes.push_back(topology.To(link));
    }
    nodes = Sorted(std::move(nodes));
    std::vector<int64_t> numbers;
    for (int worker : form.workers)
    {
        numbers.push_back(NumberIn(nodes, network.placement->NodeOf(worker)));
    }
    for (DirectedLink link : form.links)
    {
        const std::vector<int64_t> properties = PropertiesOf(topology, nodes, link);
        numbers.insert(numbers.end(), properties.begin(), properties.end());
    }
    for (const auto& [ends, way] : *ways)
    {
        numbers.insert(numbers.end(),
                       {NumberIn(nodes, ends.first),
                        NumberIn(nodes, ends.second),
                        static_cast<int64_t>(way.size())});
        for (DirectedLink link : way)
        {
            numbers.push_back(NumberIn(form.links, link));
        }
    }
    AppendCanonical(form.text, numbers);
    return form;
}

} // namespace legacy::fabric
