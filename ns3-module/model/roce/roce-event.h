/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_EVENT_H
#define LEGACY_ROCE_EVENT_H

#include "fabric/roce/telemetry.h"

#include <cstdint>

namespace legacy
{
namespace packet
{

using fabric::Picoseconds;

/// Says what an event is about.
enum class RoceEventKind : uint8_t
{
    Arrive,       ///< a frame has arrived completely at the end of a link; a: link, b: frame
    Free,         ///< a port has finished its frame; a: link
    PauseEnd,     ///< the pause of a port may have ended; a: link
    Renew,        ///< a pause is half over; a: link whose frames cause it, b: number of the pause
    Watchdog,     ///< a port may have been paused for too long; a: link, b: number of the pause
    CheckWaiting, ///< ports may wait for each other
    Storm,        ///< a faulty NIC sends a pause
    Wake,         ///< a queue pair of a port may send again; a: link
    Timeout,      ///< a queue pair may have waited too long for an ACK; a: queue pair
    Control,      ///< a timer of a congestion control is due; a: queue pair
    HandOver,     ///< messages that waited for others may be handed over; a: group of queue pairs
};

/// A RoceEventSink handles events.
class RoceEventSink
{
  public:
    virtual ~RoceEventSink() = default;
    virtual void OnEvent(RoceEventKind kind, uint32_t a, uint32_t b) = 0;
};

/**
 * Calls a sink at a time, which is rounded up to the nanosecond of ns-3's clock. Nothing is called
 * after the simulator was destroyed.
 * \param sink lives as long as the simulator runs
 * \param at time that is not before now
 * \param kind of the event
 * \param a see RoceEventKind
 * \param b see RoceEventKind
 */
void ScheduleRoce(RoceEventSink* sink, Picoseconds at, RoceEventKind kind, uint32_t a, uint32_t b);

/**
 * \return ns-3's present time
 */
Picoseconds RoceNow();

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_EVENT_H
