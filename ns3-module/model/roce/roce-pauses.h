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
 * NICs, and ports that wait for each other. It changes what ports are to send or may send; its
 * callers then let them send.
 */
class RocePauses
{
  public:
    /// Stands for no port.
    static constexpr DirectedLink kNone = -1;

    /**
     * \param topology outlives this object, as all the others do
     * \param settings of pauses
     * \param ports by directed link
     * \param sink gets the events
     * \param ends is told if the run cannot continue
     */
    RocePauses(const fabric::Topology* topology,
               const fabric::RoceSettings* settings,
               std::vector<RocePort>* ports,
               RoceEventSink* sink,
               RoceEnds* ends);

    /**
     * Pauses the port that sends over a link.
     * \param cause the link
     * \param from time from which the frame that says so may leave
     * \return the port that is to send the frame
     */
    DirectedLink Pause(DirectedLink cause, Picoseconds from);
    /**
     * Lets the port that sends over a link continue.
     * \param cause the link
     * \param from time from which the frame that says so may leave
     * \return the port that is to send the frame
     */
    DirectedLink Resume(DirectedLink cause, Picoseconds from);
    /**
     * Called when a PFC frame has arrived.
     * \param link the port that it is about
     * \param quanta length of the pause; 0: the port continues
     * \param at time of arrival
     * \return true if the port continues
     */
    bool OnFrame(DirectedLink link, int quanta, Picoseconds at);
    /**
     * Called for an event of kind PauseEnd.
     * \param link the port
     * \return true if the port continues
     */
    bool OnPauseEnd(DirectedLink link);
    /**
     * Called for an event of kind Renew.
     * \param link whose frames caused the pause
     * \param pause number of the pause
     * \return the port that is to send a frame; kNone: none is
     */
    DirectedLink OnRenew(DirectedLink link, uint32_t pause);
    /**
     * Called for an event of kind Watchdog.
     * \param link the port
     * \param pause number of the pause
     * \return true if the same pause still lasts
     */
    bool IsTooLong(DirectedLink link, uint32_t pause) const;
    /**
     * Called for an event of kind Storm.
     * \return the port that is to send a frame
     */
    DirectedLink OnStorm();
    /// Called for an event of kind CheckWaiting: looks for ports that wait for each other.
    void CheckWaiting();

    /**
     * \param link a port
     * \return a text that says whether it is paused, and by what
     */
    std::string Describe(DirectedLink link) const;
    /**
     * \return numbers of pauses that began, that a frame ended, and that ended by themselves
     */
    std::array<uint64_t, 3> GetCounts() const;

  private:
    DirectedLink RootOf(DirectedLink link) const; //!< port whose queue pauses this one
    Picoseconds TimeOf(DirectedLink link, int quanta) const;
    bool IsStill(DirectedLink link, Picoseconds now) const; //!< for a while, it has sent no byte
    /// Returns ports that wait for each other in a ring; empty: there are none.
    std::vector<DirectedLink> FindRing(Picoseconds now) const;

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    std::vector<RocePort>& m_ports;
    RoceEventSink* m_sink;
    RoceEnds* m_ends;
    bool m_checking{false}; //!< CheckWaiting is scheduled
    uint64_t m_resumes{0};
    uint64_t m_expired{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_PAUSES_H
