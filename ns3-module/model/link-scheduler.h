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
 * Changes the rates of ports over time, as the schedules of their links say.
 *
 * A frame that is being sent keeps its rate, and the next one has the new rate. At a rate of 0 no
 * frame begins. A frame that lasts for minutes would block a port for as long, so all other rates
 * are at least one frame in 100 ms.
 */
class LinkScheduler : public ns3::Object
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    /// Sets the rate of a link from its next frame on; 0: it begins no frame. `until` is the
    /// simulator's time at which another rate follows; kNever: none does.
    using SetRate = std::function<void(fabric::DirectedLink link, int64_t rateBps, TimeNs until)>;

    /**
     * Begins at schedule time 0.
     * \param topology outlives this object
     * \param frameBytes bytes of a full frame
     * \param setRate called for each link with a schedule, now and at each change
     * \param onDead called when a link stops for ever
     */
    void Build(const fabric::Topology* topology,
               int64_t frameBytes,
               SetRate setRate,
               std::function<void()> onDead);
    /**
     * \param time the present time of the schedules, in nanoseconds
     */
    void SetTime(TimeNs time);
    /**
     * \return the present time of the schedules, in nanoseconds
     */
    TimeNs GetTime() const;
    /**
     * \param link a directed link
     * \return true if it carries nothing from now on, for ever
     */
    bool IsDead(fabric::DirectedLink link) const;
    /**
     * \return true if any link is dead
     */
    bool AnyDead() const;
    /**
     * \return time in which at least one link was out, and was to come back
     */
    TimeNs GetOutTime() const;
    /**
     * \return how often a link had to send one frame in 100 ms because its schedule has a lower
     * rate
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
        bool out{false}; //!< it is out for a while
    };

    void Apply(std::size_t index);          //!< gives a link its present rate
    void SetOut(Scheduled& link, bool out); //!< counts links that are out

    const fabric::Topology* m_topology{nullptr};
    SetRate m_setRate;
    std::function<void()> m_onDead;
    std::vector<Scheduled> m_links;
    int64_t m_floorBps{1}; //!< least rate
    TimeNs m_origin{0};    //!< schedule time when the simulator's time is 0
    uint64_t m_floors{0};
    std::size_t m_dead{0}; //!< number of dead links
    std::size_t m_out{0};  //!< number of links that are out for a while
    TimeNs m_outTime{0};   //!< value of GetOutTime when the state of a link last changed
    ns3::Time m_outSince;  //!< time of that change
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_LINK_SCHEDULER_H
