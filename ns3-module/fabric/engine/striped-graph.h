// Several connections between two endpoints share each flow between them (streams), as GridFTP, and
// NCCL with several sockets, do: each has its own window and its own losses.
#pragma once

#include "flow-graph.h"

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// A StripedGraph is another graph whose flows travel in equal parts over `streams` lanes. A flow
/// has arrived when its last part has.
class StripedGraph : public FlowGraph
{
  public:
    /// Is told of whole flows, as an engine's FlowTrace is.
    using Trace = std::function<void(const Flow& flow, TimeNs when, bool delivered)>;

    /// `graph` outlives this object, and uses no more than MostLanes(streams) lanes. `streams` is 1
    /// or more.
    StripedGraph(FlowGraph& graph, int streams, Trace trace);

    void OnStart(FlowSink& sink) override;
    void OnDelivered(const Flow& part, FlowSink& sink) override;
    void OnWake(uint64_t token, FlowSink& sink) override;
    void OnFailed(const Flow& part, FlowSink& sink) override;
    bool Done() const override;

  private:
    class Sink;

    /// A flow of which parts are on their way.
    struct Whole
    {
        Flow flow;
        int parts = 0; ///< parts that have not arrived
    };

    Flow Part(const Flow& flow, uint64_t number, int stream) const;
    void Send(const Flow& flow, FlowSink& sink);
    int64_t Abort(const Flow& flow, FlowSink& sink);

    FlowGraph& m_graph;
    const int m_streams;
    const Trace m_trace;
    uint64_t m_next = 0;
    std::unordered_map<uint64_t, Whole> m_wholes; ///< flows by number, which is the parts' tag
};

} // namespace legacy::fabric
