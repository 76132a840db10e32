/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_LINK_SCHEDULER_H
#define LEGACY_LINK_SCHEDULER_H

#include "fabric/topology/topology.h"

#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/object.h"

#include <functional>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Gives ports the rates of their links' schedules, as time goes.
 *
 * The frame being sent keeps its rate, and the next one has the new. At a rate of 0 none begins. A
 * frame that lasts for minutes would hold a port for as long, so no other rate is below one frame
 * in 100 ms.
 */
class LinkScheduler : public ns3::Object
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    /// Gives a link its rate from its next frame on; 0: it begins none. The time is the simulator's
    /// at which another rate follows; kNever: none does.
    using SetRate = std::function<void(fabric::DirectedLink link, int64_t rateBps, TimeNs until)>;

    /**
     * Begins at schedule time 0.
     * \param topology outlives this object
     * \param frameBytes of a full frame
     * \param setRate called for each link with a schedule, now and at each change
     * \param onDead called when a link stops for ever
     */
    void Build(const fabric::Topology* topology,
               int64_t frameBytes,
               SetRate setRate,
               std::function<void()> onDead);
    /**
     * \param time nanoseconds at which schedules stand now
     */
    void SetTime(TimeNs time);
    /**
     * \return nanoseconds at which schedules stand now
     */
    TimeNs GetTime() const;
    /**
     * \param link a directed link
     * \return true where it carries nothing from now on, for ever
     */
    bool IsDead(fabric::DirectedLink link) const;
    /**
     * \return true where any link does
     */
    bool AnyDead() const;
    /**
     * \return time with at least one link that is out and comes back
     */
    TimeNs GetOutTime() const;
    /**
     * \return how often a link had to send one frame in 100 ms instead of less
     */
    uint64_t GetFloors() const;

  protected:
    void DoDispose() override;

  private:
    /// A link with a schedule.
    struct Scheduled
    {
        fabric::DirectedLink link{0};
        ns3::EventId change; //!< next change of its rate
        bool dead{false};
        bool out{false}; //!< for a while
    };

    void Apply(std::size_t index);          //!< gives a link its present rate
    void SetOut(Scheduled& link, bool out); //!< counts links that are out

    const fabric::Topology* m_topology{nullptr};
    SetRate m_setRate;
    std::function<void()> m_onDead;
    std::vector<Scheduled> m_links;
    int64_t m_floorBps{1}; //!< least rate
    TimeNs m_origin{0};    //!< schedule time when the simulator's is 0
    uint64_t m_floors{0};
    std::size_t m_dead{0}; //!< number of dead links
    std::size_t m_out{0};  //!< number of links that are out for a while
    TimeNs m_outTime{0};   //!< GetOutTime when that last changed
    ns3::Time m_outSince;  //!< when it last changed
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_LINK_SCHEDULER_H
