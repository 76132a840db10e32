/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_PAUSES_H
#define LEGACY_ROCE_PAUSES_H

#include "fabric/roce/roce-settings.h"
#include "roce-ends.h"
#include "roce-event.h"
#include "roce-port.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Priority flow control (IEEE 802.1Qbb): pauses and their causes, the watchdog's clock, faulty
 * cards, and ports that wait for each other. It changes what ports are to send or may send; whoever
 * calls it lets them.
 */
class RocePauses
{
  public:
    /// No port.
    static constexpr DirectedLink kNone = -1;

    /**
     * \param topology outlives this object, as all the others do
     * \param settings of pauses
     * \param ports by directed link
     * \param sink gets the events
     * \param ends is told where the run cannot continue
     */
    RocePauses(const fabric::Topology* topology,
               const fabric::RoceSettings* settings,
               std::vector<RocePort>* ports,
               RoceEventSink* sink,
               RoceEnds* ends);

    /**
     * Has the port that sends over a link paused.
     * \param cause the link
     * \param from when the frame may leave that says so
     * \return the port that is to send the frame
     */
    DirectedLink Pause(DirectedLink cause, Picoseconds from);
    /**
     * Lets the port that sends over a link continue.
     * \param cause the link
     * \param from when the frame may leave that says so
     * \return the port that is to send the frame
     */
    DirectedLink Resume(DirectedLink cause, Picoseconds from);
    /**
     * A PFC frame has arrived.
     * \param link the port that it is about
     * \param quanta for how long that is paused; 0: it continues
     * \param at when it arrived
     * \return true where the port continues
     */
    bool OnFrame(DirectedLink link, int quanta, Picoseconds at);
    /**
     * An event of kind PauseEnd has come.
     * \param link the port
     * \return true where the port continues
     */
    bool OnPauseEnd(DirectedLink link);
    /**
     * An event of kind Renew has come.
     * \param link whose frames were the cause
     * \param pause its number
     * \return the port that is to send a frame; kNone: none is
     */
    DirectedLink OnRenew(DirectedLink link, uint32_t pause);
    /**
     * An event of kind Watchdog has come.
     * \param link the port
     * \param pause its number
     * \return true where the same pause is still on
     */
    bool IsTooLong(DirectedLink link, uint32_t pause) const;
    /**
     * An event of kind Storm has come.
     * \return the port that is to send a frame
     */
    DirectedLink OnStorm();
    /// An event of kind CheckWaiting has come: looks for ports that wait for each other.
    void CheckWaiting();

    /**
     * \param link a port
     * \return a text that says whether and by what it is paused
     */
    std::string Describe(DirectedLink link) const;
    /**
     * \return pauses that began, ended by a frame, and ended by themselves
     */
    std::array<uint64_t, 3> GetCounts() const;

  private:
    DirectedLink RootOf(DirectedLink link) const; //!< port whose queue pauses this one
    Picoseconds TimeOf(DirectedLink link, int quanta) const;
    bool IsStill(DirectedLink link, Picoseconds now) const; //!< for a while, without a byte
    /// Returns ports that wait for each other in a ring; none: there are none.
    std::vector<DirectedLink> FindRing(Picoseconds now) const;

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    std::vector<RocePort>& m_ports;
    RoceEventSink* m_sink;
    RoceEnds* m_ends;
    bool m_checking{false}; //!< CheckWaiting is to come
    uint64_t m_resumes{0};
    uint64_t m_expired{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_PAUSES_H
