/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "host-recovery.h"

#include "ns3/tcp-socket-state.h"
#include "ns3/tcp-tx-item.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(HostRecovery);
NS_OBJECT_ENSURE_REGISTERED(DeliveryClock);

TypeId DeliveryClock::GetTypeId()
{
    static TypeId tid = TypeId("legacy::DeliveryClock")
                            .SetParent<TcpRateLinux>()
                            .SetGroupName("Legacy")
                            .AddConstructor<DeliveryClock>();
    return tid;
}

void DeliveryClock::SkbDelivered(TcpTxItem* item)
{
    m_latest = Max(m_latest, item->GetLastSent());
    if (item->IsSacked() && item->IsRetrans())
    {
        // The item is reported by SACK first, and is acknowledged later.
        const bool first = item->GetRateInformation().m_deliveredTime != Time::Max();
        m_repeated = first ? m_repeated + item->GetSeqSize()
                           : m_repeated - std::min(m_repeated, item->GetSeqSize());
    }
    TcpRateLinux::SkbDelivered(item);
}

Time DeliveryClock::GetLatest() const
{
    return m_latest;
}

uint32_t DeliveryClock::GetRepeated() const
{
    return m_repeated;
}

void DeliveryClock::ClearRepeated()
{
    m_repeated = 0;
}

TypeId HostRecovery::GetTypeId()
{
    static TypeId tid = TypeId("legacy::HostRecovery")
                            .SetParent<TcpPrrRecovery>()
                            .SetGroupName("Legacy")
                            .AddConstructor<HostRecovery>();
    return tid;
}

void HostRecovery::BeginAck()
{
    m_counted = false;
}

void HostRecovery::DoRecovery(Ptr<TcpSocketState> state, uint32_t delivered)
{
    if (!std::exchange(m_counted, true))
    {
        TcpPrrRecovery::DoRecovery(state, delivered);
    }
}

Ptr<TcpRecoveryOps> HostRecovery::Fork()
{
    return CopyObject<HostRecovery>(this);
}

} // namespace packet
} // namespace legacy
