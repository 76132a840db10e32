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
 * Proportional rate reduction (RFC 6937) that counts each ACK once. ns-3's socket counts one that
 * both acknowledges data and reports SACKs twice.
 */
class HostRecovery : public ns3::TcpPrrRecovery
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();
    /// The next ACK is processed.
    void BeginAck();
    void DoRecovery(ns3::Ptr<ns3::TcpSocketState> state, uint32_t delivered) override;
    ns3::Ptr<ns3::TcpRecoveryOps> Fork() override;

  private:
    bool m_counted{false}; //!< true where the ACK was counted
};

/**
 * \ingroup legacy
 * Knows when the segments were sent that have arrived, and which of those sent twice SACK reports.
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
     * \return the latest time at which a segment was sent that has arrived
     */
    ns3::Time GetLatest() const;
    /**
     * \return bytes that were sent again and that SACK reports, which ns-3's buffer still counts as
     * in flight
     */
    uint32_t GetRepeated() const;
    /// All flags of segments sent again were cleared.
    void ClearRepeated();

  private:
    ns3::Time m_latest;     //!< time at which the segment was sent
    uint32_t m_repeated{0}; //!< bytes
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_HOST_RECOVERY_H
