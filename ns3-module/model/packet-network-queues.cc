/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// The queues of a network's ports: device queues, queue discs that mark, and token buckets.
#include "packet-network.h"

#include "host-queue-disc.h"
#include "path-rules.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/fifo-queue-disc.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/red-queue-disc.h"
#include "ns3/tbf-queue-disc.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::DirectedLink;

namespace
{

/// The largest queue in bytes, far more than any path holds.
constexpr int64_t kMostQueueBytes = 1 << 30;

} // namespace

void PacketNetwork::AddQueues(DirectedLink link, Port& port)
{
    const auto onQueue = MakeBoundCallback(&LinkMeter::OnQueue, port.meter);
    const bool host = m_topology->IsHost(m_topology->From(link));
    if (!port.device->GetQueue())
    {
        port.device->SetQueue(CreateObject<DropTailQueue<Packet>>());
    }
    port.queue = port.device->GetQueue();
    const bool bucket = m_topology->PortOf(link).burstBytes > 0;
    if (!host && !m_transport.ecn && !bucket)
    {
        port.queue->SetMaxSize(
            QueueSize(QueueSizeUnit::BYTES, static_cast<uint32_t>(QueueBytes(link))));
        port.queue->TraceConnectWithoutContext("BytesInQueue", onQueue);
        return;
    }
    port.queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, m_deviceQueuePackets));
    port.meter->SetQueueBelow(port.queue);
    if (host)
    {
        port.disc = CreateObjectWithAttributes<HostQueueDisc>("Quantum",
                                                              UintegerValue(port.device->GetMtu()));
    }
    else if (m_transport.ecn)
    {
        port.red = MakeRed(link);
        port.disc = port.red;
    }
    else
    {
        port.disc = CreateObjectWithAttributes<FifoQueueDisc>(
            "MaxSize",
            QueueSizeValue(
                QueueSize(QueueSizeUnit::BYTES, static_cast<uint32_t>(QueueBytes(link)))));
    }
    if (bucket)
    {
        port.disc = AddBucket(link, port.disc);
    }
    Ptr<NetDeviceQueueInterface> flowControl = CreateObject<NetDeviceQueueInterface>();
    flowControl->GetTxQueue(0)->ConnectQueueTraces(port.queue);
    port.device->AggregateObject(flowControl);
    port.disc->TraceConnectWithoutContext("BytesInQueue", onQueue);
    Ptr<TrafficControlLayer> control = port.device->GetNode()->GetObject<TrafficControlLayer>();
    control->SetRootQueueDiscOnDevice(port.device, port.disc);
}

Ptr<QueueDisc> PacketNetwork::AddBucket(DirectedLink link, Ptr<QueueDisc> queue) const
{
    const fabric::Port& port = m_topology->PortOf(link);
    Ptr<TbfQueueDisc> bucket = CreateObjectWithAttributes<TbfQueueDisc>(
        "Burst",
        UintegerValue(static_cast<uint32_t>(std::min(port.burstBytes, kMostQueueBytes))),
        "Rate",
        DataRateValue(DataRate(static_cast<uint64_t>(port.rateBps))));
    Ptr<QueueDiscClass> inner = CreateObject<QueueDiscClass>();
    inner->SetQueueDisc(queue);
    bucket->AddQueueDiscClass(inner);
    return bucket;
}

int64_t PacketNetwork::QueueBytes(DirectedLink link) const
{
    return std::min(QueueBytesOf(m_topology->PortOf(link), m_transport, m_roundTrip),
                    kMostQueueBytes);
}

Ptr<RedQueueDisc> PacketNetwork::MakeRed(DirectedLink link) const
{
    const int64_t limit = QueueBytes(link);
    const int64_t mark = MarkBytesOf(m_topology->PortOf(link), m_transport, limit);
    ObjectFactory factory("ns3::RedQueueDisc");
    auto set = [&](const std::string& name, const AttributeValue& value)
    {
        if (!IsUserSet("ns3::RedQueueDisc::" + name))
        {
            factory.Set(name, value);
        }
    };
    set("MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, static_cast<uint32_t>(limit))));
    set("MinTh", DoubleValue(static_cast<double>(mark)));
    set("MaxTh", DoubleValue(static_cast<double>(mark)));
    set("Gentle", BooleanValue(false)); // every packet above the threshold is marked
    set("QW", DoubleValue(1.0));        // the instantaneous queue is used
    set("UseEcn", BooleanValue(true));
    set("UseHardDrop", BooleanValue(false)); // packets above the upper threshold are marked, too
    set("MeanPktSize", UintegerValue(static_cast<uint32_t>(m_transport.FrameBytes())));
    return factory.Create<RedQueueDisc>();
}

bool PacketNetwork::IsUserSet(const std::string& attribute) const
{
    return m_transport.attributes.count(attribute) > 0;
}

} // namespace packet
} // namespace legacy
