#include "striped-graph.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

/// The FlowSink that the inner graph gets: it cuts the flows that are sent.
class StripedGraph::Sink : public FlowSink
{
  public:
    Sink(StripedGraph& graph, FlowSink& sink) : m_graph(graph), m_sink(sink)
    {
    }

    TimeNs Now() const override
    {
        return m_sink.Now();
    }

    void Send(const Flow& flow) override
    {
        m_graph.Send(flow, m_sink);
    }

    void Wake(TimeNs delay, uint64_t token) override
    {
        m_sink.Wake(delay, token);
    }

    int64_t Abort(const Flow& flow) override
    {
        return m_graph.Abort(flow, m_sink);
    }

    void Pause() override
    {
        m_sink.Pause();
    }

  private:
    StripedGraph& m_graph;
    FlowSink& m_sink;
};

StripedGraph::StripedGraph(FlowGraph& graph, const Stripes& stripes, Trace trace)
    : m_graph(graph),
      m_stripes(stripes),
      m_trace(std::move(trace))
{
}

/// Returns one part of a flow; parts differ by at most one byte.
Flow StripedGraph::Part(const Flow& flow, uint64_t number, int part, int of) const
{
    Flow its = flow;
    its.bytes = flow.bytes / of + (part < flow.bytes % of ? 1 : 0);
    its.lane = m_stripes.LaneOf(flow, part);
    its.tag = number;
    return its;
}

void StripedGraph::Send(const Flow& flow, FlowSink& sink)
{
    m_trace(flow, sink.Now(), false);
    const uint64_t number = m_next++;
    const int of = m_stripes.Of(flow);
    const int parts = static_cast<int>(std::clamp<int64_t>(flow.bytes, 1, of));
    m_wholes.emplace(number, Whole{flow, of, parts});
    for (int part = 0; part < parts; ++part)
    {
        sink.Send(Part(flow, number, part, of));
    }
}

int64_t StripedGraph::Abort(const Flow& flow, FlowSink& sink)
{
    const auto found = std::find_if(m_wholes.begin(),
                                    m_wholes.end(),
                                    [&](const auto& entry)
                                    {
                                        const Flow& other = entry.second.flow;
                                        return other.tag == flow.tag &&
                                               other.source == flow.source &&
                                               other.destination == flow.destination;
                                    });
    if (found == m_wholes.end())
    {
        return 0;
    }
    int64_t carried = 0;
    const int of = found->second.of;
    for (int part = 0; part < of; ++part)
    {
        carried += sink.Abort(Part(flow, found->first, part, of));
    }
    m_wholes.erase(found);
    return carried;
}

void StripedGraph::OnStart(FlowSink& sink)
{
    Sink cutting(*this, sink);
    m_graph.OnStart(cutting);
}

void StripedGraph::OnDelivered(const Flow& part, FlowSink& sink)
{
    const auto found = m_wholes.find(part.tag);
    if (found != m_wholes.end() && --found->second.parts == 0)
    {
        const Flow flow = found->second.flow;
        m_wholes.erase(found);
        m_trace(flow, sink.Now(), true);
        Sink cutting(*this, sink);
        m_graph.OnDelivered(flow, cutting);
    }
}

void StripedGraph::OnWake(uint64_t token, FlowSink& sink)
{
    Sink cutting(*this, sink);
    m_graph.OnWake(token, cutting);
}

void StripedGraph::OnContinue(FlowSink& sink)
{
    Sink cutting(*this, sink);
    m_graph.OnContinue(cutting);
}

void StripedGraph::OnFailed(const Flow& part, FlowSink& sink)
{
    const auto found = m_wholes.find(part.tag);
    if (found == m_wholes.end())
    {
        return; // another part has failed already
    }
    const Flow flow = found->second.flow;
    Abort(flow, sink);
    Sink cutting(*this, sink);
    m_graph.OnFailed(flow, cutting);
}

bool StripedGraph::Done() const
{
    return m_graph.Done();
}

} // namespace legacy::fabric
