/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "turns.h"

#include <algorithm>
#include <set>
#include <utility>

namespace legacy
{
namespace packet
{

namespace
{

/// Returns the Turn of a node.
template <typename List>
auto& TurnOf(List& turns, int node)
{
    return *std::lower_bound(
        turns.begin(), turns.end(), node, [](const Turn& one, int at) { return one.node < at; });
}

} // namespace

void Turns::Find(const fabric::Topology& topology, const fabric::ConnectionName& name)
{
    std::vector<int> open{name.source};
    std::set<int> known{name.source, name.destination};
    while (!open.empty())
    {
        Turn turn;
        turn.node = open.back();
        open.pop_back();
        turn.links = topology.NextHopsOf(turn.node, name.source, name.destination);
        const fabric::DirectedLink chosen =
            topology.NextHop(turn.node, name.source, name.destination, name.id);
        turn.first = static_cast<std::size_t>(
            std::find(turn.links.begin(), turn.links.end(), chosen) - turn.links.begin());
        for (const fabric::DirectedLink link : turn.links)
        {
            if (known.insert(topology.To(link)).second)
            {
                open.push_back(topology.To(link));
            }
        }
        m_turns.push_back(std::move(turn));
    }
    std::sort(m_turns.begin(),
              m_turns.end(),
              [](const Turn& a, const Turn& b) { return a.node < b.node; });
    Renew();
}

const std::vector<fabric::DirectedLink>& Turns::LinksOf(int node) const
{
    return TurnOf(m_turns, node).links;
}

fabric::DirectedLink Turns::Next(int node)
{
    Turn& turn = TurnOf(m_turns, node);
    const fabric::DirectedLink link = turn.links[turn.next];
    turn.next = turn.next + 1 < turn.links.size() ? turn.next + 1 : 0;
    return link;
}

void Turns::Renew()
{
    for (Turn& turn : m_turns)
    {
        turn.next = turn.first;
    }
}

} // namespace packet
} // namespace legacy
