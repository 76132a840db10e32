/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_CARRIER_H
#define LEGACY_ROCE_CARRIER_H

#include "fabric/roce/control.h"
#include "fabric/roce/roce-settings.h"
#include "model/scheduled-carrier.h"
#include "queue-pairs.h"
#include "roce-network.h"
#include "roce-packet.h"
#include "roce-receiver.h"
#include "roce-sender.h"

#include <memory>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Carries messages between the NICs of RoCEv2 (InfiniBand Architecture 1.4, annex A17) over a
 * RoceNetwork. A RoceSender and a RoceReceiver are at the ends of queue pairs.
 *
 * Each connection has one or more queue pairs, open from the start, first in, first out. A message
 * is an RDMA WRITE, cut into frames of the MTU; a frame holds bytes of one message only. ACKs
 * answer the frames that request them: each n-th frame, the last one of a message, and one that
 * fills the window.
 */
class RoceCarrier : public ScheduledCarrier, private RoceEnds
{
  public:
    /**
     * \param topology outlives this object
     * \param settings of NICs and switches
     * \param seed of marks and losses
     * \param run of losses
     * \param listener outlives this object
     * Throws Error if the topology has something that the settings do not allow.
     */
    RoceCarrier(const fabric::Topology* topology,
                const fabric::RoceSettings& settings,
                uint64_t seed,
                uint64_t run,
                CarrierListener* listener);
    ~RoceCarrier() override;

    /**
     * \return the ports and switches
     */
    RoceNetwork& GetPorts();
    /**
     * \return true if frames carry telemetry
     */
    bool HasTelemetry() const;
    /**
     * \param frame whose first port begins to send it
     * \return the content of its packet
     */
    RocePacket Describe(uint32_t frame);
    /**
     * \return the queue pairs
     */
    QueuePairs& GetPairs();

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
    fabric::RoceActivity GetRoce() const override;
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

    const fabric::RoceSettings m_settings;
    const uint64_t m_run;
    std::unique_ptr<const fabric::RoceControl> m_control;
    RoceNetwork m_network;
    QueuePairs m_pairs;
    RoceSender m_sender;
    RoceReceiver m_receiver;
    bool m_failed{false};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_CARRIER_H
