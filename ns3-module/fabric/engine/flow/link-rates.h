// The rates that links of the flow engine have for data: their present rates, by their schedules,
// less what ACKs take. Internal to fabric/.
//
// ACKs go the other way on routes of their own. Their part of a link is computed as if all
// connections that are busy on it ran at one rate. A link of capacity C that carries the data of D
// busy connections and the ACKs of A has a capacity of C / (1 + a A / D) for data, where a is the
// bytes of ACKs for each byte of data.
#pragma once

#include "fabric/engine/flow-path.h"
#include "fabric/engine/max-min.h"
#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"

#include <cstdint>
#include <vector>

namespace legacy::fabric
{

/// LinkRates are those of all links of a topology. A link with a schedule is watched while it is
/// busy: the watcher waits for the end of each watch, and takes the rate again.
class LinkRates
{
  public:
    /// The topology and the transport outlive this object.
    LinkRates(const Topology& topology, const Transport& transport);

    /// Returns what long flows fill of each directed link at present, bytes a nanosecond.
    const std::vector<double>& Now() const
    {
        return m_now;
    }

    /// Returns the bytes of ACKs for each byte of data, on paths without switches.
    double AckRatio() const
    {
        return m_ackRatio;
    }

    /// Counts a connection on the links of its path, and gives `rates` what is left for data.
    void Put(const FlowPath& path, MaxMin& rates)
    {
        Count(path, 1, rates);
    }

    /// Takes a connection off the links of its path.
    void Remove(const FlowPath& path, MaxMin& rates)
    {
        Count(path, -1, rates);
    }

    /// Returns true for a link with a schedule that is not watched.
    bool WantsWatch(DirectedLink link) const
    {
        return m_topology.PortOf(link).schedule && !m_watched[link];
    }

    /// Takes the rate of a link with a schedule at a time of schedules. Returns the time of its
    /// next change, until which it is watched; kNever: there is none.
    TimeNs Take(DirectedLink link, TimeNs time, MaxMin& rates);

    /// Returns a number for the watch of a link, from now on.
    uint64_t WatchOf(DirectedLink link) const
    {
        return static_cast<uint64_t>(m_watch) << 32 | static_cast<uint64_t>(link);
    }

    /// Returns true for a watch that has not been forgotten.
    bool IsCurrent(uint64_t watch) const
    {
        return watch >> 32 == m_watch;
    }

    /// Ends a watch. Returns true where its link is busy, so that its rate is to be taken.
    bool EndWatch(uint64_t watch);

    static DirectedLink LinkOf(uint64_t watch)
    {
        return static_cast<DirectedLink>(watch & UINT32_MAX);
    }

    /// Forgets all watches, because the time of schedules has changed. All links are idle.
    void ForgetWatches();

    /// Returns the present rate of the slowest link, or its highest where nothing passes now.
    double SlowestOf(const FlowPath& path) const;
    /// Returns the nanoseconds a byte of the first frame, beyond the slowest link's, at present
    /// rates.
    double ByteTimeOf(const FlowPath& path) const;
    /// Returns the first link of data and ACKs that carries nothing now; -1: there is none.
    DirectedLink DeadOn(const FlowPath& path) const;

  private:
    void Count(const FlowPath& path, double sign, MaxMin& rates);
    void Lend(DirectedLink link, MaxMin& rates) const;

    const Topology& m_topology;
    const Transport& m_transport;
    const double m_ackRatio;
    std::vector<double> m_now;
    /// Sum of the shares of busy connections whose data, or ACKs by their weight, cross each
    /// directed link.
    std::vector<double> m_dataOn;
    std::vector<double> m_acksOn;
    std::vector<bool> m_watched; ///< by directed link; empty without schedules
    uint32_t m_watch = 0;        ///< counts changes of the time of schedules
};

} // namespace legacy::fabric
