/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_SIMULATOR_H
#define LEGACY_ROCE_SIMULATOR_H

#include "roce-event.h"

#include "ns3/event-impl.h"
#include "ns3/simulator-impl.h"

#include <cstdint>
#include <list>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * A simulator of ns-3 whose event list also takes events of RoCEv2 directly, in 24 bytes each and
 * without an object. All events are ordered by (time, number), as in DefaultSimulatorImpl, so
 * results are equal to the bit. Events come only from the simulator's own thread. A removed event
 * stays in the list until its time, and is not called.
 */
class RoceSimulator : public ns3::SimulatorImpl
{
  public:
    /**
     * \return the type
     */
    static ns3::TypeId GetTypeId();

    RoceSimulator();
    ~RoceSimulator() override;

    /**
     * Makes an object of this type the process's simulator, unless the user has chosen a simulator
     * or an event list (global values SimulatorImplementationType, SchedulerType). The process's
     * simulator must be fresh.
     */
    static void Install();

    /**
     * \return the process's simulator if it is of this type, else nullptr
     */
    static RoceSimulator* Get()
    {
        return s_current;
    }

    /**
     * \return ns-3's present time
     */
    int64_t GetNanoseconds() const
    {
        return m_now;
    }

    /**
     * Schedules an event of RoCEv2.
     * \param sink is the same for all such events
     * \param when time in ns, not before now
     * \param kind of the event
     * \param a see RoceEventKind
     * \param b see RoceEventKind
     * \return false if events of another sink are pending: nothing was scheduled
     */
    bool
    ScheduleRoce(RoceEventSink* sink, int64_t when, RoceEventKind kind, uint32_t a, uint32_t b);

    void Destroy() override;
    bool IsFinished() const override;
    void Stop() override;
    void Stop(const ns3::Time& delay) override;
    ns3::EventId Schedule(const ns3::Time& delay, ns3::EventImpl* event) override;
    void
    ScheduleWithContext(uint32_t context, const ns3::Time& delay, ns3::EventImpl* event) override;
    ns3::EventId ScheduleNow(ns3::EventImpl* event) override;
    ns3::EventId ScheduleDestroy(ns3::EventImpl* event) override;
    void Remove(const ns3::EventId& id) override;
    void Cancel(const ns3::EventId& id) override;
    bool IsExpired(const ns3::EventId& id) const override;
    void Run() override;
    ns3::Time Now() const override;
    ns3::Time GetDelayLeft(const ns3::EventId& id) const override;
    ns3::Time GetMaximumSimulationTime() const override;
    /// Has no effect: the event list is part of this simulator.
    void SetScheduler(ns3::ObjectFactory schedulerFactory) override;
    uint32_t GetSystemId() const override;
    uint32_t GetContext() const override;
    uint64_t GetEventCount() const override;

  private:
    /// An Entry is one event.
    struct Entry
    {
        int64_t time;   //!< time in ns
        uint64_t order; //!< 16 times the event's number, plus its kind
        uint32_t a;     //!< ns-3's events: position in m_events
        uint32_t b;     //!< ns-3's events: context

        bool operator<(const Entry& other) const
        {
            __extension__ using Key = unsigned __int128;
            return (Key(uint64_t(time)) << 64 | order) <
                   (Key(uint64_t(other.time)) << 64 | other.order);
        }
    };

    void DoDispose() override;
    /**
     * \param context of the event
     * \param when time in ns
     * \param event to call; this object releases it
     * \return the event's id
     */
    ns3::EventId Insert(uint32_t context, int64_t when, ns3::EventImpl* event);
    void RunNext();

    static RoceSimulator* s_current; //!< the process's simulator

    void Push(const Entry& entry);
    Entry Pop();

    std::vector<Entry> m_heap; //!< 4-ary heap: the parent of i is (i - 1) / 4, and not above it
    std::vector<ns3::EventImpl*> m_events; //!< ns-3's events by position
    std::vector<uint32_t> m_places;        //!< free positions
    std::list<ns3::EventId> m_destroyEvents;
    RoceEventSink* m_sink; //!< sink of all events of RoCEv2
    int64_t m_now;         //!< present time in ns
    uint64_t m_next;       //!< number of the next event
    uint64_t m_current;    //!< number of the event that runs
    uint32_t m_context;    //!< its context
    uint64_t m_count;      //!< number of events that have run
    bool m_stop;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_SIMULATOR_H
