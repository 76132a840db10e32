/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-engine.h"

#include "graph-run.h"
#include "packet-network.h"

#include "base/error.h"

#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"

#include <algorithm>
#include <cmath>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::Flow;

NS_LOG_COMPONENT_DEFINE("LegacyPacketEngine");
NS_OBJECT_ENSURE_REGISTERED(PacketEngine);

PacketEngine::PacketEngine() = default;
PacketEngine::~PacketEngine() = default;

TypeId PacketEngine::GetTypeId()
{
    static TypeId tid =
        TypeId("legacy::PacketEngine")
            .SetParent<Object>()
            .SetGroupName("Legacy")
            .AddConstructor<PacketEngine>()
            .AddAttribute("StallTimeout",
                          "Simulated time without a delivered byte, with flows on their way, after "
                          "which the run ends with an error that names them.",
                          TimeValue(Seconds(120)),
                          MakeTimeAccessor(&PacketEngine::m_stallTimeout),
                          MakeTimeChecker(NanoSeconds(1)))
            .AddTraceSource("FlowStart",
                            "A flow was given to its connection.",
                            MakeTraceSourceAccessor(&PacketEngine::m_flowStart),
                            "legacy::packet::PacketEngine::FlowTracedCallback")
            .AddTraceSource("FlowDelivered",
                            "The receiver's application read the last byte of a flow.",
                            MakeTraceSourceAccessor(&PacketEngine::m_flowDelivered),
                            "legacy::packet::PacketEngine::FlowTracedCallback")
            .AddTraceSource("RetransmitTimeout",
                            "A retransmission timer expired.",
                            MakeTraceSourceAccessor(&PacketEngine::m_retransmitTimeout),
                            "ns3::Time::TracedCallback");
    return tid;
}

void PacketEngine::Build(const fabric::Topology* topology,
                         const fabric::Placement* placement,
                         const fabric::Transport& transport,
                         const CarrierFactory& makeCarrier)
{
    m_names = std::make_unique<const fabric::ConnectionNames>(*placement);
    m_stripes = std::make_unique<const fabric::Stripes>(*topology, *placement, transport.streams);
    m_firstEvent = Simulator::GetEventCount();
    m_topology = topology;
    m_transport = transport;
    m_background.assign(2 * topology->Links().size(), 0);
    m_carrier = makeCarrier(this);
    AwaitFailures();
    AssignStreams();
}

Ptr<PacketNetwork> PacketEngine::GetNetwork() const
{
    return m_carrier->GetNetwork();
}

bool PacketEngine::IsRandom() const
{
    return m_carrier->IsRandom();
}

bool PacketEngine::StartsWarm() const
{
    return m_carrier->StartsWarm();
}

// ---------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------

void PacketEngine::Submit(fabric::FlowGraph& graph, TimeNs start, bool background)
{
    if (start < Now())
    {
        throw Error("start of a flow graph",
                    std::to_string(start) + " ns",
                    "the present, " + std::to_string(Now()) + " ns, or later");
    }
    if (m_graphs.empty() && m_streamsUsed)
    {
        // Draws depend on the number of earlier graphs, but not on the ACKs of the last one that
        // are in flight.
        ++m_draws;
        AssignStreams();
    }
    if (m_graphs.empty())
    {
        m_carrier->BeginRun();
    }
    m_streamsUsed = true;
    const uint64_t number = m_nextGraph++;
    m_graphs[number] = std::make_unique<GraphRun>(this, number, &graph, background);
    m_foreground += background ? 0 : 1;
    m_hasBackground = m_hasBackground || background;
    ++m_scheduled;
    Simulator::Schedule(NanoSeconds(start - Now()), &PacketEngine::Start, this, number);
}

bool PacketEngine::RunUntil(TimeNs until)
{
    NS_LOG_FUNCTION(this << until);
    if (m_paused)
    {
        Call(*std::exchange(m_paused, std::nullopt),
             [](GraphRun& run) { run.Graph().OnContinue(run); });
        if (m_error)
        {
            std::rethrow_exception(std::exchange(m_error, nullptr));
        }
        if (m_paused)
        {
            return false;
        }
    }
    if (m_foreground == 0)
    {
        return true;
    }
    m_reachedEnd = false;
    if (until != kNever)
    {
        m_end = Simulator::Schedule(NanoSeconds(std::max<TimeNs>(until - Now(), 0)),
                                    &PacketEngine::CheckEnd,
                                    this,
                                    Simulator::GetEventCount());
    }
    Simulator::Run();
    Simulator::Remove(m_end); // a cancelled event would still be counted
    if (m_error)
    {
        std::rethrow_exception(std::exchange(m_error, nullptr));
    }
    return m_foreground == 0;
}

void PacketEngine::CheckEnd(uint64_t events)
{
    // Events of the same time may be queued after this one, and may queue others. This event is the
    // last one if no other event has run since its last check.
    const uint64_t count = Simulator::GetEventCount();
    if (m_reachedEnd && count == events + 1)
    {
        Simulator::Stop();
        return;
    }
    m_reachedEnd = true;
    m_end = Simulator::ScheduleNow(&PacketEngine::CheckEnd, this, count);
}

TimeNs PacketEngine::Now()
{
    return Simulator::Now().GetNanoSeconds();
}

// ---------------------------------------------------------------------------------------------
// Flows
// ---------------------------------------------------------------------------------------------

void PacketEngine::Send(uint64_t graph, const Flow& flow)
{
    NS_LOG_LOGIC("flow " << flow.source << " -> " << flow.destination << ", " << flow.bytes
                         << " B");
    if (!m_graphs.at(graph)->IsStriped())
    {
        Trace(flow, false);
    }
    const fabric::ConnectionName connection = NameOf(graph, flow);
    if (m_inFlight++ == 0)
    {
        m_progress = Simulator::Now();
    }
    if (connection.source == connection.destination || flow.bytes == 0)
    {
        Simulator::ScheduleNow(&PacketEngine::OnArrived, this, graph, flow, nullptr);
        return;
    }
    if (m_graphs.at(graph)->IsBackground())
    {
        CountBackground(connection, flow);
    }
    if (m_watchdog.IsExpired())
    {
        m_watchdog = Simulator::Schedule(m_stallTimeout, &PacketEngine::CheckStall, this);
    }
    m_carrier->Send(connection, graph, flow);
    if (m_carrier->AnyDead())
    {
        Simulator::ScheduleNow(&PacketEngine::CheckDead, this);
    }
}

fabric::ConnectionName PacketEngine::NameOf(uint64_t graph, const Flow& flow) const
{
    const bool background = m_graphs.at(graph)->IsBackground();
    return m_names->Of(flow, background ? fabric::kBackgroundLane : flow.lane);
}

int64_t PacketEngine::Abort(uint64_t graph, const Flow& flow)
{
    const std::optional<int64_t> carried = m_carrier->Abort(NameOf(graph, flow), graph, flow);
    m_inFlight -= carried ? 1 : 0;
    return carried.value_or(0);
}

void PacketEngine::CountBackground(const fabric::ConnectionName& connection, const Flow& flow)
{
    const auto bytes = static_cast<double>(m_transport.WireBytes(flow.bytes));
    for (const fabric::LinkShare& hop :
         m_topology->Shares(connection.source, connection.destination, connection.id))
    {
        m_background[hop.link] += std::llround(hop.share * bytes);
    }
}

// ---------------------------------------------------------------------------------------------
// Changes of the network
// ---------------------------------------------------------------------------------------------

void PacketEngine::SetScheduleTime(TimeNs time)
{
    m_carrier->SetScheduleTime(time);
    AwaitFailures();
}

bool PacketEngine::DependsOnTime() const
{
    return m_topology->HasSchedules() || m_hasBackground;
}

std::vector<fabric::LinkCounters> PacketEngine::GetLinks() const
{
    std::vector<fabric::LinkCounters> links = m_carrier->GetCounters();
    for (std::size_t i = 0; i < links.size(); ++i)
    {
        links[i].backgroundBytes = m_background[i];
    }
    return links;
}

void PacketEngine::Trace(const Flow& flow, bool delivered)
{
    (delivered ? m_flowDelivered : m_flowStart)(flow, Simulator::Now());
    if (m_trace)
    {
        m_trace(flow, Now(), delivered);
    }
}

std::vector<fabric::LinkActivity> PacketEngine::GetActivity() const
{
    return m_carrier->GetActivity();
}

fabric::RoceActivity PacketEngine::GetRoce() const
{
    return m_carrier->GetRoce();
}

const fabric::RoceFlow* PacketEngine::GetDelivered() const
{
    return m_delivered;
}

// ---------------------------------------------------------------------------------------------
// State
// ---------------------------------------------------------------------------------------------

fabric::EngineCounters PacketEngine::GetCounters() const
{
    fabric::EngineCounters counters = m_counters;
    counters.events = Simulator::GetEventCount() - m_firstEvent;
    m_carrier->AddCounters(counters);
    return counters;
}

void PacketEngine::SetFlowTrace(fabric::FlowTrace trace)
{
    m_trace = std::move(trace);
}

void PacketEngine::AssignStreams()
{
    if (m_carrier->IsRandom())
    {
        m_carrier->AssignStreams(m_draws);
    }
}

uint64_t PacketEngine::GetDraws() const
{
    return m_draws + (m_streamsUsed ? 1 : 0);
}

void PacketEngine::Restore(TimeNs now, uint64_t draws)
{
    m_draws = draws;
    m_streamsUsed = false;
    AssignStreams();
    Simulator::Stop(NanoSeconds(now - Now()));
    Simulator::Run();
}

void PacketEngine::DoDispose()
{
    m_watchdog.Cancel();
    m_end.Cancel();
    if (m_carrier)
    {
        m_carrier->Dispose();
    }
    for (EventId& failure : m_failures)
    {
        failure.Cancel();
    }
    m_carrier = nullptr;
    m_graphs.clear();
    Object::DoDispose();
}

} // namespace packet
} // namespace legacy
