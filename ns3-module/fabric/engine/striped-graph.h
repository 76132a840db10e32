// Several connections between two endpoints share each flow between them. They are streams, as in
// GridFTP and in NCCL with several sockets, each with its own window and its own losses; or planes,
// as NVLink spreads what a GPU sends over the switches of its node.
#pragma once

#include "connection.h"
#include "flow-graph.h"

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// A StripedGraph is another graph whose flows travel in equal parts over several lanes. A flow
/// has arrived when its last part has.
class StripedGraph : public FlowGraph
{
  public:
    /// Is told of whole flows, as an engine's FlowTrace is.
    using Trace = std::function<void(const Flow& flow, TimeNs when, bool delivered)>;

    /// `graph` and `stripes` outlive this object. The graph uses at most `stripes.MostLanes()`
    /// lanes.
    StripedGraph(FlowGraph& graph, const Stripes& stripes, Trace trace);

    void OnStart(FlowSink& sink) override;
    void OnDelivered(const Flow& part, FlowSink& sink) override;
    void OnWake(uint64_t token, FlowSink& sink) override;
    void OnContinue(FlowSink& sink) override;
    void OnFailed(const Flow& part, FlowSink& sink) override;
    bool Done() const override;

  private:
    class Sink;

    /// A flow of which parts are on their way.
    struct Whole
    {
        Flow flow;
        int of = 0;    ///< parts that it was cut into, where it has a byte for each
        int parts = 0; ///< those that have not arrived
    };

    Flow Part(const Flow& flow, uint64_t number, int part, int of) const;
    void Send(const Flow& flow, FlowSink& sink);
    int64_t Abort(const Flow& flow, FlowSink& sink);

    FlowGraph& m_graph;
    const Stripes& m_stripes;
    const Trace m_trace;
    uint64_t m_next = 0;
    std::unordered_map<uint64_t, Whole> m_wholes; ///< flows by number, which is the parts' tag
};

} // namespace legacy::fabric
