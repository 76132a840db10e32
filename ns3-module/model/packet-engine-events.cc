/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// What an engine does while it runs: calls of graphs, arrivals, losses and failures of hosts, and
// errors that end the run.
#include "graph-run.h"
#include "packet-engine.h"

#include "base/error.h"

#include "ns3/simulator.h"

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::Flow;

void PacketEngine::Call(uint64_t graph, const std::function<void(GraphRun&)>& callback)
{
    auto found = m_graphs.find(graph);
    if (m_error)
    {
        return;
    }
    try
    {
        // A graph may be done before its last flows arrive.
        if (found != m_graphs.end())
        {
            callback(*found->second);
            if (found->second->Graph().Done())
            {
                m_foreground -= found->second->IsBackground() ? 0 : 1;
                m_graphs.erase(found);
            }
        }
    }
    catch (...)
    {
        // An exception must not unwind the simulator.
        Fail(std::current_exception());
        return;
    }
    if (m_foreground == 0)
    {
        Simulator::Stop();
    }
    else if (m_inFlight == 0 && m_scheduled == 0 && !m_paused)
    {
        // This is checked here because the simulator may never run out of events: monitors may
        // schedule theirs for ever.
        Fail(std::make_exception_ptr(Error("nothing can happen any more at " + FormatTime(Now()) +
                                           ", but " + std::to_string(m_graphs.size()) +
                                           " flow graph(s) are not done")));
    }
}

void PacketEngine::Start(uint64_t graph)
{
    --m_scheduled;
    Call(graph, [](GraphRun& run) { run.Graph().OnStart(run); });
}

void PacketEngine::Wake(uint64_t graph, uint64_t token)
{
    --m_scheduled;
    Call(graph, [token](GraphRun& run) { run.Graph().OnWake(token, run); });
}

void PacketEngine::AwaitFailures()
{
    for (EventId& failure : m_failures)
    {
        failure.Cancel();
    }
    m_failures.clear();
    const TimeNs now = m_carrier->GetScheduleTime();
    for (int host : m_topology->Hosts())
    {
        const TimeNs next = m_topology->NextFailure(host, now);
        if (next != kNever)
        {
            m_failures.push_back(
                Simulator::Schedule(NanoSeconds(next - now), &PacketEngine::HostFails, this, host));
        }
    }
}

void PacketEngine::HostFails(int node)
{
    m_carrier->FailHost(node);
    AwaitFailures();
}

void PacketEngine::OnLost(const Messages& messages)
{
    for (const auto& [graph, flow] : messages)
    {
        --m_inFlight;
        const Flow& lost = flow;
        Call(graph, [&](GraphRun& run) { run.Graph().OnFailed(lost, run); });
    }
}

void PacketEngine::CheckDead()
{
    const auto dead = m_carrier->FindDead();
    if (dead)
    {
        Fail(std::make_exception_ptr(*dead));
    }
}

void PacketEngine::OnArrived(uint64_t graph, const Flow& flow, const fabric::RoceFlow* roce)
{
    --m_inFlight;
    m_delivered = roce;
    ++m_counters.flows;
    Call(graph,
         [&](GraphRun& run)
         {
             if (!run.IsStriped())
             {
                 Trace(flow, true);
             }
             run.Graph().OnDelivered(flow, run);
         });
    m_delivered = nullptr;
}

void PacketEngine::OnProgress()
{
    m_progress = Simulator::Now();
}

void PacketEngine::OnRetransmitTimeout()
{
    ++m_counters.retransmitTimeouts;
    m_retransmitTimeout(Simulator::Now());
}

void PacketEngine::CheckStall()
{
    if (m_inFlight == 0)
    {
        return;
    }
    // The engine waits for links that come back: their outages do not count as idle time.
    const Time out = NanoSeconds(m_carrier->GetOutTime());
    m_outThen = m_checked == m_progress ? m_outThen : m_outSeen;
    m_checked = m_progress;
    m_outSeen = out;
    const Time idle = Simulator::Now() - m_progress - (out - m_outThen);
    if (idle < m_stallTimeout)
    {
        m_watchdog = Simulator::Schedule(m_stallTimeout - idle, &PacketEngine::CheckStall, this);
        return;
    }
    Fail(std::make_exception_ptr(Error("no byte arrived for " + FormatTime(idle.GetNanoSeconds()) +
                                       " of simulated time" + Blocked())));
}

void PacketEngine::OnError(std::exception_ptr error)
{
    Fail(error);
}

void PacketEngine::Fail(std::exception_ptr error)
{
    if (!m_error)
    {
        m_error = error;
    }
    Simulator::Stop();
}

std::string PacketEngine::Blocked() const
{
    return "; flows on their way: " + std::to_string(m_inFlight) + m_carrier->DescribeBlocked();
}

} // namespace packet
} // namespace legacy
