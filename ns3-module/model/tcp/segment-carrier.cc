/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "segment-carrier.h"

#include "base/error.h"
#include "base/parse.h"
#include "fabric/roce/roce-settings.h"
#include "fabric/tcp/controls.h"
#include "model/packet-network.h"
#include "model/path-rules.h"
#include "tcp-trains.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::Flow;

namespace
{

/// Returns the settings of switches without a lossless class, whose buffers have room for every
/// queue.
fabric::RoceSettings SwitchesOf(const fabric::Transport& transport)
{
    constexpr int64_t kAmple = int64_t{1} << 50;
    fabric::RoceSettings settings;
    settings.control = "none";
    settings.pfc = false;
    settings.acksFirst = false;
    settings.mtu = transport.segmentBytes;
    settings.headerBytes = transport.headerBytes;
    settings.ackBytes = transport.ackBytes;
    settings.bufferBytes = kAmple;
    settings.markAtEnqueue = true;
    settings.switchDelay = transport.switchDelay;
    return settings;
}

constexpr int64_t kTimestampBytes = 12; ///< of options in each segment

/// The attributes of this class describe the queue of a NIC.
constexpr const char* kNicQueue = "legacy::HostQueueDisc::";

/// Returns the queue of NICs, which attributes of HostQueueDisc describe.
TcpSender::NicQueue NicQueueOf(const fabric::Transport& transport)
{
    const auto value = [&](const char* name, const char* fallback)
    {
        const auto found = transport.attributes.find(std::string(kNicQueue) + name);
        return found == transport.attributes.end() ? std::string(fallback) : found->second;
    };
    TcpSender::NicQueue queue;
    queue.on = value("Fair", "true") == "false";
    queue.limit = ParseInteger(value("Limit", "0"), "Limit", 0, INT64_MAX);
    queue.room = ParseInteger(value("Quantum", "1500"), "Quantum", 1, INT64_MAX);
    return queue;
}

/// Throws Error on what segments do not take.
const fabric::Topology* Checked(const fabric::Topology* topology,
                                const fabric::Transport& transport)
{
    if (!fabric::MakeTcpCongestion(transport.congestionControl))
    {
        throw Error(
            "congestion control", transport.congestionControl, fabric::TcpControlNames(", "));
    }
    for (const auto& [name, value] : transport.attributes)
    {
        if (name.rfind(kNicQueue, 0) != 0)
        {
            throw Error(
                name,
                value,
                "nothing beside packets of our own; ns3:datacenter and ns3:wan have those of ns-3");
        }
    }
    TcpTrains::Check(*topology, transport);
    return topology;
}

} // namespace

SegmentCarrier::SegmentCarrier(const fabric::Topology* topology,
                               const std::vector<int>& endpoints,
                               const fabric::Transport& transport,
                               uint64_t seed,
                               uint64_t run,
                               CarrierListener* listener)
    : ScheduledCarrier(listener),
      m_topology(*Checked(topology, transport)),
      m_transport(transport),
      m_run(run),
      m_ports(topology,
              SwitchesOf(transport),
              FrameRoom{false, TcpReceiver::kRanges, 0},
              seed,
              this),
      m_connections(topology, &m_transport),
      m_sender(2 * topology->Links().size(),
               NicQueueOf(transport),
               &m_transport,
               &m_ports,
               &m_connections,
               listener),
      m_receiver(&m_transport, &m_ports, &m_connections, listener)
{
    SetQueues(endpoints);
    Follow(topology,
           transport.FrameBytes(),
           [this](DirectedLink link, int64_t rate, TimeNs until)
           { m_ports.SetRate(link, rate, until); });
    AssignStreams(0);
}

SegmentCarrier::~SegmentCarrier() = default;

void SegmentCarrier::SetQueues(const std::vector<int>& endpoints)
{
    const TimeNs roundTrip = LongestRoundTrip(m_topology, endpoints, m_transport.FrameBytes());
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(2 * m_topology.Links().size());
         ++link)
    {
        const fabric::Port& port = m_topology.PortOf(link);
        if (port.burstBytes > 0)
        {
            m_ports.SetRate(link, LineRate(port), kNever);
            m_ports.SetBucket(link, port.rateBps, port.burstBytes);
        }
        if (m_topology.IsHost(m_topology.From(link)))
        {
            continue;
        }
        const int64_t limit = QueueBytesOf(port, m_transport, roundTrip);
        std::optional<fabric::EcnThresholds> marks;
        if (m_transport.ecn)
        {
            const auto mark = static_cast<double>(MarkBytesOf(port, m_transport, limit));
            marks = fabric::EcnThresholds{mark, mark, 1};
        }
        m_ports.SetQueue(link, limit, marks);
    }
}

SegmentPacket SegmentCarrier::Describe(uint32_t frame)
{
    const Frame& described = m_ports.Frames()[frame];
    const TcpIdleConnection& connection = m_connections.Kept(described.pair);
    SegmentPacket packet;
    packet.connection = described.pair;
    packet.data = described.kind == FrameKind::Data;
    packet.window = connection.buffer;
    packet.largest = m_transport.segmentBytes + kTimestampBytes;
    packet.capable = m_transport.ecn;
    packet.source = packet.data ? connection.name.source : connection.name.destination;
    packet.destination = packet.data ? connection.name.destination : connection.name.source;
    if (packet.data)
    {
        packet.syn = described.payload == 0;
        packet.first = described.psn;
        packet.payload = described.payload;
        packet.reduced = described.wantsAck;
        return packet;
    }
    packet.syn = described.wantsAck;
    packet.arrived = described.psn;
    packet.answers = described.sent / fabric::kPicosecondsPerNs;
    packet.echoes = described.marks > 0;
    if (described.records != Frame::kNone)
    {
        packet.ranges = TcpReceiver::RangesOf(m_ports.Frames().RecordsOf(frame));
    }
    return packet;
}

// ---------------------------------------------------------------------------------------------
// Ends
// ---------------------------------------------------------------------------------------------

uint32_t SegmentCarrier::Next(DirectedLink link, Picoseconds free)
{
    return m_sender.Next(link, free);
}

bool SegmentCarrier::IsReady(DirectedLink link) const
{
    return m_sender.IsReady(link);
}

void SegmentCarrier::Receive(uint32_t frame)
{
    const uint32_t number = m_ports.Frames()[frame].pair;
    if (m_ports.Frames()[frame].kind == FrameKind::Data)
    {
        m_receiver.OnData(frame);
    }
    else
    {
        m_sender.OnAck(frame);
    }
    m_ports.Frames().Give(frame);
    m_connections.Rest(number);
}

void SegmentCarrier::OnWaited(const Frame&, DirectedLink, DirectedLink, Picoseconds)
{
}

DirectedLink SegmentCarrier::NextLink(const Frame& frame, int node)
{
    const TcpIdleConnection& connection = m_connections.Kept(frame.pair);
    const bool data = frame.kind == FrameKind::Data;
    if (!connection.paths)
    {
        return connection.way.At(data, frame.hop, RoceEnds::kWayEnds);
    }
    Turns& turns = data ? connection.paths->forth : connection.paths->back;
    if (!turns.Any())
    {
        return connection.way.At(data, frame.hop, RoceEnds::kWayEnds);
    }
    const int end = data ? connection.name.destination : connection.name.source;
    return node == end ? RoceEnds::kWayEnds : turns.Next(node);
}

void SegmentCarrier::OnLeft(uint32_t frame)
{
    m_sender.OnLeft(frame);
}

void SegmentCarrier::OnNicEvent(RoceEventKind kind, uint32_t a)
{
    switch (kind)
    {
    case RoceEventKind::Timeout:
        m_sender.OnTimer(a);
        break;
    case RoceEventKind::Control:
        m_receiver.OnTimer(a);
        break;
    case RoceEventKind::Wake:
        m_sender.OnWake(a);
        break;
    default:
        m_sender.OnReady(a);
    }
    m_connections.Rest(a);
}

void SegmentCarrier::OnFailure(const std::string& message)
{
    m_listener->OnError(std::make_exception_ptr(Error(message)));
}

// ---------------------------------------------------------------------------------------------
// Carrier
// ---------------------------------------------------------------------------------------------

void SegmentCarrier::Connect(uint32_t number)
{
    m_sender.Connect(number);
}

void SegmentCarrier::Send(const fabric::ConnectionName& connection,
                          uint64_t graph,
                          const Flow& flow)
{
    const uint32_t number =
        m_connections.Get(connection, flow.opening, [this](uint32_t opened) { Connect(opened); });
    m_sender.OnMessage(number);
    m_connections.Add(number, graph, flow);
    m_sender.List(number, RoceNow());
}

std::optional<int64_t>
SegmentCarrier::Abort(const fabric::ConnectionName& connection, uint64_t graph, const Flow& flow)
{
    return m_connections.Abort(connection, graph, flow);
}

void SegmentCarrier::BeginRun()
{
    m_connections.BeginRun([this](uint32_t opened) { Connect(opened); });
}

std::optional<fabric::DeadLink> SegmentCarrier::FindWaiting(const IsDead& isDead) const
{
    return m_connections.FindDead(isDead);
}

void SegmentCarrier::FailHost(int host)
{
    for (const Messages& messages : m_connections.Drop(host))
    {
        m_listener->OnLost(messages);
    }
}

Ptr<PacketNetwork> SegmentCarrier::GetNetwork() const
{
    return nullptr;
}

std::vector<fabric::LinkCounters> SegmentCarrier::GetCounters() const
{
    return m_ports.GetCounters();
}

std::vector<fabric::LinkActivity> SegmentCarrier::GetActivity() const
{
    return m_ports.GetActivity();
}

void SegmentCarrier::AddCounters(fabric::EngineCounters& counters) const
{
    ScheduledCarrier::AddCounters(counters);
    m_ports.AddCounters(counters);
    counters.roce = {};
}

bool SegmentCarrier::IsRandom() const
{
    return m_ports.IsRandom();
}

bool SegmentCarrier::StartsWarm() const
{
    return false;
}

void SegmentCarrier::AssignStreams(uint64_t draws)
{
    constexpr int kRunBits = 32;
    m_ports.ResetLosses((m_run << kRunBits) + draws);
}

std::string SegmentCarrier::DescribeBlocked() const
{
    return m_connections.DescribeBlocked();
}

} // namespace packet
} // namespace legacy
