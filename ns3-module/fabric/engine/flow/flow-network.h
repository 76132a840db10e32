// The network of the flow engine: connections, the links that busy ones share, and their max-min
// fair rates. Internal to fabric/.
#pragma once

#include "fabric/engine/agenda.h"
#include "fabric/engine/engine.h"
#include "fabric/engine/max-min.h"
#include "flow-connections.h"
#include "link-rates.h"

#include <cstdint>
#include <vector>

namespace legacy::fabric
{

/// A FlowNetwork puts connections on their links and takes them off. On links whose rates change,
/// and at hosts that fail, it has events on the agenda while connections are busy.
class FlowNetwork
{
  public:
    /// All references outlive this object. Losses are a function of `draws`, see FlowConnections.
    FlowNetwork(const Topology& topology,
                const Placement& placement,
                const Transport& transport,
                const ConnectionNames& names,
                uint64_t draws,
                Agenda& agenda);

    FlowConnections& Connections()
    {
        return m_connections;
    }

    const FlowConnections& Connections() const
    {
        return m_connections;
    }

    /// Returns the rates of connections. What changes them is solved when the clock advances.
    MaxMin& Rates()
    {
        return m_rates;
    }

    const LinkRates& Links() const
    {
        return m_links;
    }

    /// Lets a connection take part in its links, or not. It sends nothing now.
    void SetBusy(int number, bool busy);

    /// An event of kind kRate has come.
    void OnRate(uint64_t watch);
    /// Returns true for an event of kind kRate that is due.
    bool IsCurrent(uint64_t watch) const
    {
        return m_links.IsCurrent(watch);
    }

    /// Reads schedules at another time from now on. No connection is busy.
    void OnScheduleTime();

    /// Returns what links have carried in flows that were sent, by directed link, without the time
    /// for which they were busy.
    std::vector<LinkCounters> Carried() const;

  private:
    void Watch(const std::vector<LinkShare>& way);
    void TakeRate(DirectedLink link);
    void AwaitFailure(int number);

    const Topology& m_topology;
    Agenda& m_agenda;
    LinkRates m_links;
    MaxMin m_rates;
    FlowConnections m_connections;
};

} // namespace legacy::fabric
