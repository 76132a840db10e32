/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_GRAPH_RUN_H
#define LEGACY_GRAPH_RUN_H

#include "packet-engine.h"

#include "ns3/simulator.h"

#include <memory>

namespace legacy
{
namespace packet
{

/// A GraphRun is one submitted graph, and the sink that the graph sends its flows to.
class PacketEngine::GraphRun : public fabric::FlowSink
{
  public:
    GraphRun(PacketEngine* engine, uint64_t number, fabric::FlowGraph* graph, bool background)
        : m_engine(engine),
          m_number(number),
          m_graph(graph),
          m_background(background)
    {
        if (engine->m_stripes->Any())
        {
            m_striped = std::make_unique<fabric::StripedGraph>(
                *graph,
                *engine->m_stripes,
                [engine](const fabric::Flow& flow, TimeNs, bool delivered)
                { engine->Trace(flow, delivered); });
            m_graph = m_striped.get();
        }
    }

    bool IsStriped() const
    {
        return m_striped != nullptr;
    }

    TimeNs Now() const override
    {
        return PacketEngine::Now();
    }

    void Send(const fabric::Flow& flow) override
    {
        m_engine->Send(m_number, flow);
    }

    void Wake(TimeNs delay, uint64_t token) override
    {
        Later(Now(), delay);
        ++m_engine->m_scheduled;
        ns3::Simulator::Schedule(
            ns3::NanoSeconds(delay), &PacketEngine::Wake, m_engine, m_number, token);
    }

    int64_t Abort(const fabric::Flow& flow) override
    {
        return m_engine->Abort(m_number, flow);
    }

    void Pause() override
    {
        m_engine->m_paused = m_number;
        ns3::Simulator::Stop();
    }

    bool IsBackground() const
    {
        return m_background;
    }

    fabric::FlowGraph& Graph()
    {
        return *m_graph;
    }

  private:
    PacketEngine* m_engine;                          //!< carries the flows
    uint64_t m_number;                               //!< number of the graph
    fabric::FlowGraph* m_graph;                      //!< graph, which the caller owns
    bool m_background;                               //!< true where runs do not wait for it
    std::unique_ptr<fabric::StripedGraph> m_striped; //!< around the caller's graph; null: not cut
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_GRAPH_RUN_H
