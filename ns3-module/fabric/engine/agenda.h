// The agenda of an engine that is not ns-3: its clock, and its events to come.
#pragma once

#include "event-queue.h"

#include <cstdint>

namespace legacy::fabric
{

/// An EngineEvent is what an engine has to do at a time.
struct EngineEvent
{
    TimeNs time = 0;
    uint64_t payload = 0; ///< of the engine's own
    int graph = 0;
    int what = 0; ///< of the engine's own
};

/// An Agenda is shared by the parts of one engine, which add events to it. EventEngine takes them.
class Agenda
{
  public:
    TimeNs Now() const
    {
        return m_now;
    }

    /// Returns the time at which schedules are read now.
    TimeNs ScheduleTime() const
    {
        return Later(m_now, m_scheduleStart);
    }

    /// Returns the time of schedules when the clock is 0; may be negative.
    TimeNs ScheduleStart() const
    {
        return m_scheduleStart;
    }

    /// Adds an event at `time`, which is not before now.
    void Push(TimeNs time, int what, int graph, uint64_t payload)
    {
        m_events.Push(EngineEvent{time, payload, graph, what});
    }

    /// Takes the next event of the earliest time. Returns false where there is none.
    bool Pop(EngineEvent& event)
    {
        return m_events.Pop(event);
    }

    /// Goes to the time of the next event, and returns true, unless it is after `until` or there is
    /// none. The clock advances with the events that are done.
    bool Advance(TimeNs until)
    {
        return m_events.Advance(until);
    }

    bool Empty() const
    {
        return m_events.Empty();
    }

    /// Sets the clock while there are events.
    void SetNow(TimeNs now)
    {
        m_now = now;
    }

    /// Sets the clock of an agenda without events.
    void Restart(TimeNs now)
    {
        m_now = now;
        m_events.SetPresent(now);
    }

    /// Sets the time of schedules now.
    void SetScheduleTime(TimeNs time)
    {
        m_scheduleStart = time - m_now;
    }

  private:
    EventQueue<EngineEvent> m_events;
    TimeNs m_now = 0;
    TimeNs m_scheduleStart = 0;
};

} // namespace legacy::fabric
