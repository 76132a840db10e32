/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ack-filter.h"

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/tcp-l4-protocol.h"

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(AckFilter);

namespace
{

/// Offset in the TCP header of the byte whose upper half is the header's length in words (RFC 9293,
/// section 3.1).
constexpr std::size_t kDataOffset = 12;

} // namespace

TypeId AckFilter::GetTypeId()
{
    static TypeId tid = TypeId("legacy::AckFilter")
                            .SetParent<PacketFilter>()
                            .SetGroupName("Legacy")
                            .AddConstructor<AckFilter>();
    return tid;
}

bool AckFilter::CheckProtocol(Ptr<QueueDiscItem> item) const
{
    return item->GetProtocol() == Ipv4L3Protocol::PROT_NUMBER;
}

int32_t AckFilter::DoClassify(Ptr<QueueDiscItem> item) const
{
    const auto& packet = static_cast<const Ipv4QueueDiscItem&>(*PeekPointer(item));
    if (packet.GetHeader().GetProtocol() != TcpL4Protocol::PROT_NUMBER)
    {
        return DATA;
    }
    // Only the header's length is read, because ns-3 makes objects of all options to read a header.
    uint8_t header[kDataOffset + 1] = {};
    packet.GetPacket()->CopyData(header, sizeof header);
    const uint32_t bytes = 4U * (header[kDataOffset] >> 4);
    return packet.GetPacket()->GetSize() == bytes ? ACKS : DATA;
}

} // namespace packet
} // namespace legacy
