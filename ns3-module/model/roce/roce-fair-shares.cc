/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-fair-shares.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

namespace
{

std::vector<double> RatesOf(const fabric::Topology& topology, const RoceNetwork& network)
{
    std::vector<double> rates;
    const auto links = static_cast<DirectedLink>(2 * topology.Links().size());
    for (DirectedLink link = 0; link < links; ++link)
    {
        rates.push_back(static_cast<double>(network.RateOf(link)));
    }
    return rates;
}

} // namespace

RoceFairShares::RoceFairShares(const fabric::Topology* topology,
                               QueuePairs* pairs,
                               const RoceNetwork& network)
    : m_topology(topology),
      m_pairs(*pairs),
      m_rates(RatesOf(*topology, network))
{
}

int RoceFairShares::Connect(uint32_t number)
{
    m_connections.resize(std::max<std::size_t>(m_connections.size(), number + 1), -1);
    int& own = m_connections[number];
    if (own < 0)
    {
        const QueuePair& pair = m_pairs[number];
        std::vector<fabric::MaxMin::Use> uses;
        for (const auto& [link, share] : m_topology->Shares(pair.source, pair.destination, pair.id))
        {
            uses.push_back({link, share});
        }
        own = m_rates.Add(uses, pair.course->path.lineRate);
        m_sharing.push_back(number);
    }
    return own;
}

std::vector<uint32_t> RoceFairShares::Change(uint32_t number, bool takesPart)
{
    const int own = Connect(number);
    m_pairs[number].fairShare = takesPart;
    if (takesPart)
    {
        m_rates.Join(own);
        m_rates.Start(own);
    }
    else
    {
        m_rates.Stop(own);
        m_rates.Leave(own);
    }
    std::vector<uint32_t> changed;
    for (const int connection : m_rates.Solve())
    {
        changed.push_back(m_sharing[connection]);
    }
    changed.push_back(number);
    return changed;
}

double RoceFairShares::Of(uint32_t number) const
{
    return m_pairs[number].fairShare ? m_rates.Rate(m_connections[number]) : 0;
}

} // namespace packet
} // namespace legacy
