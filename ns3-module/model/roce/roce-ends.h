/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_ENDS_H
#define LEGACY_ROCE_ENDS_H

#include "fabric/topology/topology.h"
#include "model/frames/frame.h"
#include "roce-event.h"

#include <cstdint>
#include <string>

namespace legacy
{
namespace packet
{

using fabric::DirectedLink;

/// RoceEnds are the NICs of a network: they make data frames, and take all frames that have reached
/// their ends.
class RoceEnds
{
  public:
    virtual ~RoceEnds() = default;
    /**
     * \param link whose port asks for the next data frame of its NIC
     * \param free time at which the port is free
     * \return the frame, whose `sent` is its start; Frame::kNone: none may be sent now
     */
    virtual uint32_t Next(DirectedLink link, Picoseconds free) = 0;
    /**
     * \param link a port
     * \return true if its NIC has a frame that may be sent once the port is free
     */
    virtual bool IsReady(DirectedLink link) const = 0;
    /**
     * \param frame that has arrived at the node where its way ends, and now belongs to the NIC
     */
    virtual void Receive(uint32_t frame) = 0;
    /// Stands for no link: a way ends.
    static constexpr DirectedLink kWayEnds = -1;
    /**
     * \param frame data, ACK, NAK or CNP
     * \param node where the frame is
     * \return the next link of its way, or kWayEnds
     */
    virtual DirectedLink NextLink(const Frame& frame, int node) = 0;
    /**
     * Called for a data frame that leaves a switch and had waited there at a paused port.
     * \param frame the frame, whose `hop` is the number of that port on its way
     * \param link that port
     * \param root port whose queue was the cause of the pause
     * \param time for which it waited while the port was paused
     */
    virtual void
    OnWaited(const Frame& frame, DirectedLink link, DirectedLink root, Picoseconds time) = 0;
    /**
     * Called for a data frame that a NIC has put into its port's queue (RoceNetwork::SendControl),
     * and that leaves it.
     * \param frame the frame
     */
    virtual void OnLeft(uint32_t frame) = 0;
    /**
     * Called for an event of the NICs.
     * \param kind what happened
     * \param a see RoceEventKind
     */
    virtual void OnNicEvent(RoceEventKind kind, uint32_t a) = 0;
    /**
     * Called when the run cannot continue.
     * \param message the reason
     */
    virtual void OnFailure(const std::string& message) = 0;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_ENDS_H
