/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ack-filter.h"

#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(AckFilter);

TypeId AckFilter::GetTypeId()
{
    static TypeId tid = TypeId("legacy::AckFilter")
                            .SetParent<Ipv4PacketFilter>()
                            .SetGroupName("Legacy")
                            .AddConstructor<AckFilter>();
    return tid;
}

int32_t AckFilter::DoClassify(Ptr<QueueDiscItem> item) const
{
    Ptr<Ipv4QueueDiscItem> packet = DynamicCast<Ipv4QueueDiscItem>(item);
    if (packet->GetHeader().GetProtocol() != TcpL4Protocol::PROT_NUMBER)
    {
        return DATA;
    }
    TcpHeader tcp;
    const uint32_t header = packet->GetPacket()->PeekHeader(tcp);
    return packet->GetPacket()->GetSize() == header ? ACKS : DATA;
}

} // namespace packet
} // namespace legacy
