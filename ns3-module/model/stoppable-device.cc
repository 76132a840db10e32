/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stoppable-device.h"

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ppp-header.h"

#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(StoppableDevice);

bool StoppableQueue::Enqueue(Ptr<Packet> packet)
{
    return std::exchange(dropsNext, false) || DropTailQueue<Packet>::Enqueue(packet);
}

Ptr<Packet> StoppableQueue::Dequeue()
{
    return stopped ? nullptr : DropTailQueue<Packet>::Dequeue();
}

TypeId StoppableDevice::GetTypeId()
{
    static TypeId tid = TypeId("legacy::StoppableDevice")
                            .SetParent<PointToPointNetDevice>()
                            .SetGroupName("Legacy")
                            .AddConstructor<StoppableDevice>();
    return tid;
}

StoppableDevice::StoppableDevice() : m_frames(CreateObject<StoppableQueue>())
{
    SetQueue(m_frames);
    TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&StoppableDevice::OnBegin, this));
    TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&StoppableDevice::OnEnd, this));
}

void StoppableDevice::OnBegin(Ptr<const Packet>)
{
    m_sends = true;
}

void StoppableDevice::OnEnd(Ptr<const Packet>)
{
    m_sends = false;
}

void StoppableDevice::Stop()
{
    m_frames->stopped = true;
}

void StoppableDevice::Resume()
{
    m_frames->stopped = false;
    if (!m_sends && !m_frames->IsEmpty())
    {
        // ns-3 looks for a waiting frame when another frame ends or is added. The packet added here
        // is therefore dropped.
        m_frames->dropsNext = true;
        PointToPointNetDevice::Send(Create<Packet>(), GetBroadcast(), Ipv4L3Protocol::PROT_NUMBER);
    }
}

bool StoppableDevice::Send(Ptr<Packet> packet, const Address& to, uint16_t protocolNumber)
{
    if (!m_frames->stopped)
    {
        return PointToPointNetDevice::Send(packet, to, protocolNumber);
    }
    constexpr uint16_t kIpv4 = 0x0021; // of PPP
    NS_ASSERT(protocolNumber == Ipv4L3Protocol::PROT_NUMBER);
    PppHeader header;
    header.SetProtocol(kIpv4);
    packet->AddHeader(header);
    return m_frames->Enqueue(packet);
}

} // namespace packet
} // namespace legacy
