/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_LINK_METER_H
#define LEGACY_LINK_METER_H

#include "base/units.h"

#include "ns3/packet.h"
#include "ns3/ptr.h"
#include "ns3/simple-ref-count.h"

#include <cstdint>

namespace ns3
{
class QueueBase;
} // namespace ns3

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Counts what one directed link carries. Its callbacks are sinks of the port's trace sources, which
 * may outlive the network.
 */
class LinkMeter : public ns3::SimpleRefCount<LinkMeter>
{
  public:
    /**
     * \param rateBps of the link
     */
    explicit LinkMeter(int64_t rateBps);
    ~LinkMeter();

    static void OnTransmit(ns3::Ptr<LinkMeter> meter,
                           ns3::Ptr<const ns3::Packet> packet); //!< PhyTxBegin of the sender
    static void OnLost(ns3::Ptr<LinkMeter> meter,
                       ns3::Ptr<const ns3::Packet> packet); //!< PhyRxDrop of the receiver
    static void OnQueue(ns3::Ptr<LinkMeter> meter,
                        uint32_t oldBytes,
                        uint32_t newBytes); //!< BytesInQueue of the sender's disc, or device

    /**
     * \param rateBps rate of the link from now on
     */
    void SetRate(int64_t rateBps);
    /**
     * \param device the queue below the sender's queue disc
     */
    void SetQueueBelow(ns3::Ptr<ns3::QueueBase> device);
    /**
     * \return bytes sent, on the wire
     */
    int64_t GetBytes() const;
    /**
     * \return bytes sent until now, on the wire; of a packet that is being sent, only the part that
     * has left counts
     */
    double GetSent() const;
    /**
     * \return packets sent
     */
    int64_t GetPackets() const;
    /**
     * \return packets lost on the link
     */
    int64_t GetLost() const;
    /**
     * \return most bytes that ever waited at a time, in disc and device together
     */
    int64_t GetMaxQueued() const;
    /**
     * \return time spent transmitting
     */
    TimeNs GetBusy() const;
    /**
     * \return largest fraction of a window of fabric::kPeakWindow spent transmitting
     */
    double GetPeak() const;

  private:
    /**
     * \param start of a transmission, not before the end of the last one
     * \param end of it
     */
    void Occupy(TimeNs start, TimeNs end);

    ns3::Ptr<ns3::QueueBase> m_below; //!< null if there is only the device queue
    int64_t m_rateBps;                //!< present rate of the link
    TimeNs m_busy{0};                 //!< time spent transmitting until the rate last changed
    int64_t m_bytesBefore{0};         //!< bytes sent until then
    int64_t m_bytes{0};               //!< bytes sent
    int64_t m_packets{0};             //!< packets sent
    int64_t m_lost{0};                //!< packets lost on the link
    int64_t m_maxQueued{0};           //!< most bytes that waited at once
    TimeNs m_until{0};                //!< end of the last transmission
    int64_t m_window{0};              //!< number of the window of the last transmission's end
    TimeNs m_inWindow{0};             //!< time spent transmitting in it
    TimeNs m_peak{0};                 //!< largest m_inWindow
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_LINK_METER_H
