/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_HOST_RECOVERY_H
#define LEGACY_HOST_RECOVERY_H

#include "ns3/nstime.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-rate-ops.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Proportional rate reduction (RFC 6937) that counts each ACK once. ns-3's socket counts an ACK
 * twice if it both acknowledges data and reports SACKs.
 */
class HostRecovery : public ns3::TcpPrrRecovery
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();
    /// Called before the next ACK is processed.
    void BeginAck();
    void DoRecovery(ns3::Ptr<ns3::TcpSocketState> state, uint32_t delivered) override;
    ns3::Ptr<ns3::TcpRecoveryOps> Fork() override;

  private:
    bool m_counted{false}; //!< true once the present ACK was counted
};

/**
 * \ingroup legacy
 * Records when the segments that have arrived were sent, and counts the bytes of those that were
 * sent again and that SACK reports.
 */
class DeliveryClock : public ns3::TcpRateLinux
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();
    void SkbDelivered(ns3::TcpTxItem* item) override;
    /**
     * \return the latest time at which a segment that has arrived was sent
     */
    ns3::Time GetLatest() const;
    /**
     * \return bytes that were sent again and that SACK reports, but that ns-3's buffer still counts
     * as in flight
     */
    uint32_t GetRepeated() const;
    /// Called when the flags of all retransmitted segments were cleared.
    void ClearRepeated();

  private:
    ns3::Time m_latest;     //!< see GetLatest
    uint32_t m_repeated{0}; //!< see GetRepeated
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_HOST_RECOVERY_H
