#include "link-rates.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

/// Rounding may leave up to this much of a sum of shares.
constexpr double kNoShare = 1e-9;

} // namespace

LinkRates::LinkRates(const Topology& topology, const Transport& transport)
    : m_topology(topology),
      m_transport(transport),
      m_ackRatio(transport.AckRatio()),
      m_dataOn(2 * topology.Links().size(), 0),
      m_acksOn(2 * topology.Links().size(), 0),
      m_watched(topology.HasSchedules() ? 2 * topology.Links().size() : 0, false)
{
    m_now.reserve(2 * topology.Links().size());
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(2 * topology.Links().size());
         ++link)
    {
        m_now.push_back(FilledShare(topology, transport, link) * BytesPerNs(topology.PortOf(link)));
    }
}

void LinkRates::Count(const FlowPath& path, double sign, MaxMin& rates)
{
    for (const LinkShare& hop : path.data)
    {
        m_dataOn[hop.link] += sign * hop.share;
        Lend(hop.link, rates);
    }
    for (const LinkShare& hop : path.acks)
    {
        m_acksOn[hop.link] += sign * hop.share * path.ackWeight;
        Lend(hop.link, rates);
    }
}

/// Sets the capacity of the link for data, which is what ACKs leave of the link.
void LinkRates::Lend(DirectedLink link, MaxMin& rates) const
{
    if (m_dataOn[link] > kNoShare)
    {
        const double acks = std::max(0.0, m_acksOn[link]) / m_dataOn[link];
        rates.SetCapacity(link, m_now[link] / (1 + m_ackRatio * acks));
    }
}

TimeNs LinkRates::Take(DirectedLink link, TimeNs time, MaxMin& rates)
{
    const LinkSchedule& schedule = *m_topology.PortOf(link).schedule;
    m_now[link] = FilledShare(m_topology, m_transport, link) *
                  static_cast<double>(schedule.RateAt(time)) / 8e9;
    Lend(link, rates);
    const TimeNs next = schedule.NextChange(time);
    m_watched[link] = next != kNever;
    return next;
}

bool LinkRates::EndWatch(uint64_t watch)
{
    const DirectedLink link = LinkOf(watch);
    m_watched[link] = false;
    return m_dataOn[link] > kNoShare || m_acksOn[link] > kNoShare;
}

void LinkRates::ForgetWatches()
{
    // Links take their present rates when they are used. Changes that were due no longer apply.
    std::fill(m_watched.begin(), m_watched.end(), false);
    ++m_watch;
}

double LinkRates::SlowestOf(const FlowPath& path) const
{
    double slowest = path.slowest;
    for (const LinkShare& hop : path.data)
    {
        slowest = std::min(slowest, m_now[hop.link] / hop.share);
    }
    return slowest > 0 ? slowest : path.slowest;
}

double LinkRates::ByteTimeOf(const FlowPath& path) const
{
    double time = 0;
    for (const LinkShare& hop : path.data)
    {
        const double rate = m_now[hop.link];
        time += hop.share / (rate > 0 ? rate : BytesPerNs(m_topology.PortOf(hop.link)));
    }
    return std::max(0.0, time - 1 / SlowestOf(path));
}

DirectedLink LinkRates::DeadOn(const FlowPath& path) const
{
    for (const std::vector<LinkShare>* way : {&path.data, &path.acks})
    {
        for (const LinkShare& hop : *way)
        {
            if (m_now[hop.link] == 0)
            {
                return hop.link;
            }
        }
    }
    return -1;
}

} // namespace legacy::fabric
