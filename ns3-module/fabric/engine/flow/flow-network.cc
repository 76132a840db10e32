#include "flow-network.h"

#include "flow-event.h"
#include "link-totals.h"

#include <algorithm>

namespace legacy::fabric
{

FlowNetwork::FlowNetwork(const Topology& topology,
                         const Placement& placement,
                         const Transport& transport,
                         const ConnectionNames& names,
                         uint64_t draws,
                         Agenda& agenda)
    : m_topology(topology),
      m_agenda(agenda),
      m_links(topology, transport),
      m_rates(m_links.Now()),
      m_connections(topology, placement, transport, names, draws, m_rates)
{
}

void FlowNetwork::SetBusy(int number, bool busy)
{
    FlowConnection& connection = m_connections[number];
    if (connection.busy == busy)
    {
        return;
    }
    connection.busy = busy;
    if (!busy)
    {
        m_rates.Leave(number);
        m_links.Remove(connection.path, m_rates);
        return;
    }
    m_rates.Join(number);
    if (connection.path.timed)
    {
        Watch(connection.path.data);
        Watch(connection.path.acks);
        AwaitFailure(number);
    }
    m_links.Put(connection.path, m_rates);
}

/// Follows the rates of the links from now on, until they are idle.
void FlowNetwork::Watch(const std::vector<LinkShare>& way)
{
    for (const LinkShare& hop : way)
    {
        if (m_links.WantsWatch(hop.link))
        {
            TakeRate(hop.link);
        }
    }
}

/// Takes the present rate of a link with a schedule, and waits for its next change.
void FlowNetwork::TakeRate(DirectedLink link)
{
    const TimeNs time = m_agenda.ScheduleTime();
    const TimeNs next = m_links.Take(link, time, m_rates);
    if (next != kNever)
    {
        const TimeNs change = Later(m_agenda.Now(), next - time);
        m_agenda.Push(change, FlowEvent::kRate, 0, m_links.WatchOf(link));
    }
}

void FlowNetwork::OnRate(uint64_t watch)
{
    if (m_links.EndWatch(watch))
    {
        TakeRate(LinkRates::LinkOf(watch));
    }
}

/// Waits for the next failure of an end of the connection.
void FlowNetwork::AwaitFailure(int number)
{
    FlowConnection& connection = m_connections[number];
    const TimeNs time = m_agenda.ScheduleTime();
    const TimeNs next = m_connections.NextFailure(connection, time);
    connection.lost = next == kNever ? kNever : Later(m_agenda.Now(), next - time);
    if (connection.lost != kNever)
    {
        m_agenda.Push(connection.lost, FlowEvent::kLost, 0, static_cast<uint64_t>(number));
    }
}

void FlowNetwork::OnScheduleTime()
{
    m_links.ForgetWatches();
}

std::vector<LinkCounters> FlowNetwork::Carried() const
{
    LinkTotals totals(2 * m_topology.Links().size());
    for (int number = 0; number < m_connections.Count(); ++number)
    {
        totals.Add(m_connections[number], m_rates.PeakRate(number));
    }
    std::vector<LinkCounters> links(2 * m_topology.Links().size());
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(links.size()); ++link)
    {
        links[link] = totals.Of(link);
        links[link].peak = std::max(totals.PeakOf(link), m_rates.PeakLoad(link)) /
                           BytesPerNs(m_topology.PortOf(link));
    }
    return links;
}

} // namespace legacy::fabric
