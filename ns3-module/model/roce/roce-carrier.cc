/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-carrier.h"

#include "roce-simulator.h"

#include "base/error.h"
#include "fabric/roce/buffers.h"
#include "fabric/roce/controls.h"
#include "model/packet-network.h"

#include "ns3/global-value.h"
#include "ns3/map-scheduler.h"
#include "ns3/object-factory.h"
#include "ns3/priority-queue-scheduler.h"
#include "ns3/simulator.h"
#include "ns3/type-id.h"

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::Flow;
using fabric::RoceSettings;

namespace
{

/// Throws Error if packets of RoCEv2 cannot be simulated on the topology.
const fabric::Topology* Checked(const fabric::Topology* topology, const RoceSettings& settings)
{
    fabric::CheckRoce(*topology, settings);
    const auto refuse = [](const std::string& what, const std::string& allowed)
    {
        throw Error("roce at packet fidelity",
                    what + " beside links whose rates change over time",
                    allowed + "; flow and analytic fidelity take it");
    };
    if (topology->HasSchedules() && settings.train > 1)
    {
        refuse("train=" + std::to_string(settings.train), "train=1");
    }
    if (topology->HasSchedules() &&
        fabric::MakeRoceControl(settings.control, "roce:cc")->Traits().telemetryOnWire)
    {
        refuse("cc=" + settings.control, "int=full");
    }
    for (const int host : topology->Hosts())
    {
        if (topology->NextFailure(host, -1) != kNever)
        {
            throw Error("roce at packet fidelity",
                        "host " + topology->NodeName(host) + ", which fails",
                        "links that are out; flow and analytic fidelity take both");
        }
    }
    return topology;
}

/// If the simulator is not a RoceSimulator, keeps its events in a heap in one array, unless the
/// user has chosen another event list: in ns-3's default, a tree, each event has an allocation of
/// its own.
void ChooseScheduler()
{
    if (RoceSimulator::Get() != nullptr)
    {
        return;
    }
    TypeIdValue chosen;
    GlobalValue::GetValueByName("SchedulerType", chosen);
    if (chosen.Get() == MapScheduler::GetTypeId())
    {
        ObjectFactory heap;
        heap.SetTypeId(PriorityQueueScheduler::GetTypeId());
        Simulator::SetScheduler(heap);
    }
}

/// Returns the room of frames: one record for each switch on the longest path.
FrameRoom RoomOf(const fabric::Topology& topology, bool telemetry)
{
    return {telemetry,
            telemetry ? static_cast<std::size_t>(topology.NodeCount()) : 0,
            RoceSettings::kGapBytes};
}

} // namespace

RoceCarrier::RoceCarrier(const fabric::Topology* topology,
                         const RoceSettings& settings,
                         uint64_t seed,
                         uint64_t run,
                         CarrierListener* listener)
    : ScheduledCarrier(listener),
      m_settings(settings),
      m_run(run),
      m_control(fabric::MakeRoceControl(settings.control, "roce:cc")),
      m_network(Checked(topology, settings),
                settings,
                RoomOf(*topology, m_control->Traits().telemetry),
                seed,
                this),
      m_pairs(topology, &m_settings, m_control.get(), &m_network),
      m_sender(*topology, &m_settings, m_control.get(), &m_pairs, &m_network, this, listener),
      m_receiver(&m_settings,
                 m_control.get(),
                 &m_pairs,
                 &m_network,
                 listener,
                 topology->GetMultipath() == fabric::Multipath::Spray)
{
    ChooseScheduler();
    Follow(topology,
           m_settings.mtu + m_settings.headerBytes,
           [this](DirectedLink link, int64_t rate, TimeNs until)
           { m_network.SetRate(link, rate, until); });
    AssignStreams(0);
}

RoceCarrier::~RoceCarrier() = default;

RoceNetwork& RoceCarrier::GetPorts()
{
    return m_network;
}

bool RoceCarrier::HasTelemetry() const
{
    return m_control->Traits().telemetry;
}

RocePacket RoceCarrier::Describe(uint32_t frame)
{
    const Frame& described = m_network.Frames()[frame];
    const bool data = described.kind == FrameKind::Data;
    RocePacket packet;
    packet.kind = described.kind;
    packet.priority = m_settings.priority;
    if (described.kind == FrameKind::Pause)
    {
        packet.quanta = described.payload;
        return packet;
    }
    QueuePair& pair = m_pairs[described.pair];
    packet.source = data ? pair.source : pair.destination;
    packet.destination = data ? pair.destination : pair.source;
    packet.pair = described.pair;
    packet.psn = described.psn;
    packet.telemetry = HasTelemetry();
    packet.vlan = m_settings.vlan;
    if (data)
    {
        packet.payload = described.payload;
        packet.wantsAck = described.wantsAck;
        const QueuePair::Message& message = *pair.MessageOf(described.psn);
        packet.first = described.psn == message.first;
        packet.last = described.psn + 1 == message.end;
        packet.messageBytes = message.bytes;
        return packet;
    }
    packet.priority = m_settings.acksFirst ? RoceSettings::kControlPriority : m_settings.priority;
    // The ACK of a message's last frame leaves before the message is delivered, so messages that
    // are complete count here.
    packet.messages = pair.delivered;
    for (uint32_t i = pair.receiving;
         i < pair.messages.size() && pair.messages[i].end <= pair.expected;
         ++i)
    {
        ++packet.messages;
    }
    if (described.records != Frame::kNone)
    {
        const fabric::IntRecord* first = m_network.Frames().RecordsOf(frame);
        packet.records.assign(first, first + pair.course->path.switches);
    }
    return packet;
}

QueuePairs& RoceCarrier::GetPairs()
{
    return m_pairs;
}

// ---------------------------------------------------------------------------------------------
// Ends
// ---------------------------------------------------------------------------------------------

uint32_t RoceCarrier::Next(DirectedLink link, Picoseconds free)
{
    return m_sender.Next(link, free);
}

bool RoceCarrier::IsReady(DirectedLink link) const
{
    return m_sender.IsReady(link);
}

void RoceCarrier::Receive(uint32_t frame)
{
    switch (m_network.Frames()[frame].kind)
    {
    case FrameKind::Data:
        m_receiver.OnData(frame);
        break;
    case FrameKind::Cnp:
        m_sender.OnCnp(frame);
        break;
    default:
        m_sender.OnAck(frame);
    }
    m_network.Frames().Give(frame);
}

void RoceCarrier::OnWaited(const Frame& frame,
                           DirectedLink link,
                           DirectedLink root,
                           Picoseconds time)
{
    QueuePair& pair = m_pairs[frame.pair];
    QueuePair::Message* message = pair.MessageOf(frame.psn);
    if (message != nullptr)
    {
        const bool innocent = m_pairs.IsInnocent(pair, link, frame.hop, root);
        message->Tell().Wait(root, frame.frames * time, innocent);
        message->story->last += frame.psn + frame.frames == message->end ? time : 0;
    }
}

DirectedLink RoceCarrier::NextLink(const Frame& frame, int node)
{
    return m_pairs.NextLink(frame, node);
}

void RoceCarrier::OnLeft(uint32_t)
{
}

void RoceCarrier::OnNicEvent(RoceEventKind kind, uint32_t a)
{
    if (m_failed)
    {
        return;
    }
    switch (kind)
    {
    case RoceEventKind::Timeout:
        m_sender.OnTimeout(a);
        break;
    case RoceEventKind::Control:
        m_sender.OnControlTimer(a);
        break;
    case RoceEventKind::HandOver:
        m_receiver.HandOver(a);
        break;
    default:
        m_sender.OnWake(static_cast<DirectedLink>(a));
    }
}

void RoceCarrier::OnFailure(const std::string& message)
{
    if (!m_failed)
    {
        m_failed = true;
        m_listener->OnError(std::make_exception_ptr(Error(message)));
    }
}

// ---------------------------------------------------------------------------------------------
// Carrier
// ---------------------------------------------------------------------------------------------

void RoceCarrier::Send(const fabric::ConnectionName& connection, uint64_t graph, const Flow& flow)
{
    const uint32_t number = m_pairs.Add(connection, graph, flow);
    m_sender.Begin(number);
    m_sender.List(number, RoceNow());
}

std::optional<int64_t>
RoceCarrier::Abort(const fabric::ConnectionName& connection, uint64_t graph, const Flow& flow)
{
    return m_pairs.Abort(connection, graph, flow);
}

void RoceCarrier::BeginRun()
{
    if (m_settings.idle == fabric::RoceIdle::Keep || !m_pairs.IsIdle())
    {
        return;
    }
    m_network.ResetMarks();
    m_pairs.Renew();
}

std::optional<fabric::DeadLink> RoceCarrier::FindWaiting(const IsDead& isDead) const
{
    return m_pairs.FindDead(isDead);
}

void RoceCarrier::FailHost(int)
{
}

Ptr<PacketNetwork> RoceCarrier::GetNetwork() const
{
    return nullptr;
}

std::vector<fabric::LinkCounters> RoceCarrier::GetCounters() const
{
    return m_network.GetCounters();
}

fabric::RoceActivity RoceCarrier::GetRoce() const
{
    return {m_pairs.GetActivity(), m_network.GetBuffers()};
}

std::vector<fabric::LinkActivity> RoceCarrier::GetActivity() const
{
    return m_network.GetActivity();
}

void RoceCarrier::AddCounters(fabric::EngineCounters& counters) const
{
    ScheduledCarrier::AddCounters(counters);
    counters.roce = {};
    counters.roce.resent = m_sender.GetResent();
    m_receiver.AddCounters(counters.roce);
    m_network.AddCounters(counters);
}

bool RoceCarrier::IsRandom() const
{
    return m_network.IsRandom();
}

bool RoceCarrier::StartsWarm() const
{
    return true;
}

void RoceCarrier::AssignStreams(uint64_t draws)
{
    constexpr int kRunBits = 32;
    m_network.ResetLosses((m_run << kRunBits) + draws);
}

std::string RoceCarrier::DescribeBlocked() const
{
    return m_pairs.DescribeBlocked();
}

} // namespace packet
} // namespace legacy
