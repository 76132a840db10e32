/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_TCP_CARRIER_H
#define LEGACY_TCP_CARRIER_H

#include "channel-pool.h"
#include "message-channel.h"
#include "packet-network.h"
#include "scheduled-carrier.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Carries messages over ns-3's TCP. A connection is opened with its first message, which pays for
 * the handshake, and is kept afterwards.
 */
class TcpCarrier : public ScheduledCarrier, private ChannelListener
{
  public:
    /**
     * \param topology outlives this object
     * \param endpoints nodes that send or receive
     * \param transport preset and the user's attributes; ns-3's defaults must already be set to
     * these
     * \param listener outlives this object
     */
    TcpCarrier(const fabric::Topology* topology,
               const std::vector<int>& endpoints,
               const fabric::Transport& transport,
               CarrierListener* listener);
    ~TcpCarrier() override;

    // Inherited from Carrier.
    void Send(const fabric::ConnectionName& connection,
              uint64_t graph,
              const fabric::Flow& flow) override;
    std::optional<int64_t> Abort(const fabric::ConnectionName& connection,
                                 uint64_t graph,
                                 const fabric::Flow& flow) override;
    void BeginRun() override;
    void Dispose() override;
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
    // Inherited from ChannelListener.
    void OnProgress() override;
    void OnArrived(uint64_t graph, const fabric::Flow& flow) override;
    void OnRetransmitTimeout() override;
    void OnConnectionLost(MessageChannel& channel) override;

    ns3::Ptr<PacketNetwork> m_network; //!< nodes and links
    ns3::Ptr<ChannelPool> m_channels;  //!< connections
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_TCP_CARRIER_H
