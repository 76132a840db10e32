// All-reduce by recursive halving and doubling, and reduce-scatter by recursive halving.
#include "halving.h"
#include "algorithms.h"

namespace legacy::fabric
{

namespace
{

HalvingPlan PlanOf(const CollectiveSpec& spec)
{
    return {static_cast<int>(spec.bytes.size()),
            spec.bytes[0],
            spec.algorithm == CollectiveAlgorithm::HalvingReduceScatter};
}

class HalvingDoubling : public CollectiveBase
{
  public:
    HalvingDoubling(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_plan(PlanOf(spec)),
          m_unfold(m_plan.Unfold()),
          m_word(m_unfold + 1),
          m_state(m_workers)
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        m_state[flow.destination].arrived |= uint64_t{1} << MarkOf(flow);
        if (Started(flow.destination))
        {
            TakeArrived(flow.destination, sink);
        }
    }

  private:
    struct State
    {
        uint64_t arrived = 0; ///< one bit for each stage, because a partner may be ahead
        int stage = 0;        ///< stage whose message the worker waits for
    };

    void OnStarted(int worker, FlowSink& sink) override
    {
        if (m_plan.Folded(worker))
        {
            m_state[worker].stage = m_unfold;
            Send(worker, worker + 1, m_plan.Whole(), 0, sink);
            return;
        }
        if (m_plan.Told(worker))
        {
            m_state[worker].stage = m_word;
        }
        else if (!m_plan.Folds(worker))
        {
            Enter(worker, 1, sink);
        }
        TakeArrived(worker, sink);
    }

    /// Starts the halving of a worker that waited for the end of the fold. A worker that folds
    /// sends its words first.
    void EndFold(int worker, FlowSink& sink)
    {
        for (int listener : m_plan.Folds(worker) ? m_plan.Listeners(worker) : std::vector<int>())
        {
            Send(worker, listener, m_plan.WordBytes(), static_cast<uint64_t>(m_word), sink);
        }
        Enter(worker, 1, sink);
    }

    void Enter(int worker, int stage, FlowSink& sink)
    {
        m_state[worker].stage = stage;
        if (stage < m_unfold)
        {
            Send(worker,
                 m_plan.Partner(worker, stage),
                 m_plan.Bytes(worker, stage),
                 static_cast<uint64_t>(stage),
                 sink);
            return;
        }
        if (m_plan.Folds(worker))
        {
            Send(worker,
                 worker - 1,
                 m_plan.UnfoldBytes(worker),
                 static_cast<uint64_t>(m_unfold),
                 sink);
        }
        Finish(worker, sink);
    }

    void TakeArrived(int worker, FlowSink& sink)
    {
        State& state = m_state[worker];
        while (state.arrived >> state.stage & 1)
        {
            if (state.stage == m_unfold)
            {
                Finish(worker, sink);
                return;
            }
            if (state.stage == 0 || state.stage == m_word)
            {
                EndFold(worker, sink);
                continue;
            }
            Enter(worker, state.stage + 1, sink);
        }
    }

    const HalvingPlan m_plan;
    const int m_unfold; ///< number of the last stage
    const int m_word;   ///< number of the stage of words
    std::vector<State> m_state;
};

} // namespace

std::unique_ptr<Collective>
MakeHalvingDoubling(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<HalvingDoubling>(spec, tagBase, std::move(done));
}

void MeterHalvingDoubling(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const int workers = static_cast<int>(spec.bytes.size());
    const HalvingPlan plan = PlanOf(spec);
    for (int w = 0; w < workers; ++w)
    {
        if (plan.Folded(w))
        {
            traffic.sent[w] += plan.Whole();
            traffic.received[w] += plan.UnfoldBytes(w + 1);
        }
        if (plan.Folds(w))
        {
            traffic.received[w] += plan.Whole();
            traffic.sent[w] += plan.UnfoldBytes(w);
            traffic.sent[w] += plan.WordBytes() * static_cast<int64_t>(plan.Listeners(w).size());
        }
        traffic.received[w] += plan.Told(w) ? plan.WordBytes() : 0;
        for (int stage = 1; stage < plan.Unfold() && !plan.Folded(w); ++stage)
        {
            traffic.sent[w] += plan.Bytes(w, stage);
            traffic.received[w] += plan.Bytes(plan.Partner(w, stage), stage);
        }
    }
}

} // namespace legacy::fabric
