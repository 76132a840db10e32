/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_STOPPABLE_DEVICE_H
#define LEGACY_STOPPABLE_DEVICE_H

#include "ns3/drop-tail-queue.h"
#include "ns3/packet.h"
#include "ns3/point-to-point-net-device.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The queue of a StoppableDevice. It gives the device no frame while that is stopped.
 */
class StoppableQueue : public ns3::DropTailQueue<ns3::Packet>
{
  public:
    bool Enqueue(ns3::Ptr<ns3::Packet> packet) override;
    ns3::Ptr<ns3::Packet> Dequeue() override;

    bool stopped{false};   //!< Dequeue returns null
    bool dropsNext{false}; //!< the next packet is dropped without a trace
};

/**
 * \ingroup legacy
 * A device of a link that is out at times. While the device is stopped, its frames wait in its
 * queue, except for the one that it has already begun.
 */
class StoppableDevice : public ns3::PointToPointNetDevice
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();
    StoppableDevice();

    /// Makes the device begin no frame from now on.
    void Stop();
    /// Lets the device begin frames again.
    void Resume();

    bool
    Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address& to, uint16_t protocolNumber) override;

  private:
    void OnBegin(ns3::Ptr<const ns3::Packet> packet); //!< PhyTxBegin
    void OnEnd(ns3::Ptr<const ns3::Packet> packet);   //!< PhyTxEnd

    ns3::Ptr<StoppableQueue> m_frames;
    bool m_sends{false}; //!< it has begun a frame that has not ended
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_STOPPABLE_DEVICE_H
