/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_SEGMENT_CARRIER_H
#define LEGACY_SEGMENT_CARRIER_H

#include "fabric/engine/transport.h"
#include "model/roce/roce-network.h"
#include "model/scheduled-carrier.h"
#include "segment-packet.h"
#include "tcp-connections.h"
#include "tcp-receiver.h"
#include "tcp-sender.h"

#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Carries messages over TCP whose segments are records, on the same NICs, switches and events as
 * RoCEv2: a TcpSender and a TcpReceiver are at the ends of connections. Switches have a queue of a
 * limited length at each port, which drops what has no room, and marks if the transport says so.
 */
class SegmentCarrier : public ScheduledCarrier, private RoceEnds
{
  public:
    /**
     * \param topology outlives this object
     * \param endpoints nodes that send or receive
     * \param transport of connections and queues
     * \param seed of losses
     * \param run of losses
     * \param listener outlives this object
     * Throws Error on a congestion control that it does not have.
     */
    SegmentCarrier(const fabric::Topology* topology,
                   const std::vector<int>& endpoints,
                   const fabric::Transport& transport,
                   uint64_t seed,
                   uint64_t run,
                   CarrierListener* listener);
    ~SegmentCarrier() override;

    /**
     * \return the ports and switches
     */
    RoceNetwork& GetPorts()
    {
        return m_ports;
    }

    /**
     * \return parameters of connections and queues
     */
    const fabric::Transport& GetTransport() const
    {
        return m_transport;
    }

    /**
     * \param frame that its first port begins to send
     * \return its content, but for the time
     */
    SegmentPacket Describe(uint32_t frame);

    // Inherited from Carrier.
    void Send(const fabric::ConnectionName& connection,
              uint64_t graph,
              const fabric::Flow& flow) override;
    std::optional<int64_t> Abort(const fabric::ConnectionName& connection,
                                 uint64_t graph,
                                 const fabric::Flow& flow) override;
    void BeginRun() override;
    void FailHost(int host) override;
    ns3::Ptr<PacketNetwork> GetNetwork() const override;
    std::vector<fabric::LinkCounters> GetCounters() const override;
    std::vector<fabric::LinkActivity> GetActivity() const override;
    void AddCounters(fabric::EngineCounters& counters) const override;
    bool IsRandom() const override;
    bool StartsWarm() const override;
    void AssignStreams(uint64_t draws) override;
    std::string DescribeBlocked() const override;

  private:
    // Inherited from ScheduledCarrier.
    std::optional<fabric::DeadLink> FindWaiting(const IsDead& isDead) const override;
    // Inherited from RoceEnds.
    uint32_t Next(DirectedLink link, Picoseconds free) override;
    bool IsReady(DirectedLink link) const override;
    void Receive(uint32_t frame) override;
    void
    OnWaited(const Frame& frame, DirectedLink link, DirectedLink root, Picoseconds time) override;
    DirectedLink NextLink(const Frame& frame, int node) override;
    void OnLeft(uint32_t frame) override;
    void OnNicEvent(RoceEventKind kind, uint32_t a) override;
    void OnFailure(const std::string& message) override;

    /// Gives the ports of switches their queues.
    void SetQueues(const std::vector<int>& endpoints);
    void Connect(uint32_t number);
    const fabric::Topology& m_topology;
    const fabric::Transport m_transport;
    const uint64_t m_run;
    RoceNetwork m_ports;
    TcpConnections m_connections;
    TcpSender m_sender;
    TcpReceiver m_receiver;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_SEGMENT_CARRIER_H
