// All-gathers in ceil(log2 N) stages. In each stage a worker sends all blocks that it has, or as
// many as are missing. With recursive doubling a worker exchanges its blocks with the worker whose
// number differs in one bit, beginning with the lowest bit (Thakur, Rabenseifner, Gropp,
// IJHPCA'05). With Bruck's algorithm worker w sends its first 2^k blocks, which are w, w + 1, ...,
// to worker w - 2^k (Bruck et al., TPDS'97); then N may be any number.
#include "algorithms.h"
#include "base.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

/// A DoublingPlan says which blocks each worker sends to whom in each stage. Stages start at 0.
class DoublingPlan
{
  public:
    explicit DoublingPlan(const CollectiveSpec& spec)
        : m_workers(static_cast<int64_t>(spec.bytes.size())),
          m_bruck(spec.algorithm == CollectiveAlgorithm::BruckAllGather)
    {
        m_before.reserve(spec.bytes.size() + 1);
        m_before.push_back(0);
        for (int64_t bytes : spec.bytes)
        {
            m_before.push_back(m_before.back() + bytes);
        }
        while (int64_t{1} << m_stages < m_workers)
        {
            ++m_stages;
        }
    }

    int Stages() const
    {
        return m_stages;
    }

    int Destination(int worker, int stage) const
    {
        const int64_t distance = int64_t{1} << stage;
        return static_cast<int>(m_bruck ? (worker - distance + m_workers) % m_workers
                                        : worker ^ distance);
    }

    int64_t Bytes(int worker, int stage) const
    {
        const int64_t blocks = int64_t{1} << stage;
        const int64_t first = m_bruck ? worker : worker & ~(blocks - 1);
        const int64_t end = first + std::min(blocks, m_workers - blocks);
        // The blocks of a worker may wrap around from the last worker to worker 0.
        return end <= m_workers ? m_before[end] - m_before[first]
                                : m_before[m_workers] - m_before[first] + m_before[end - m_workers];
    }

  private:
    int64_t m_workers;
    bool m_bruck;
    int m_stages = 0;
    std::vector<int64_t> m_before; ///< bytes of the first 0, 1, 2, ... blocks
};

class DoublingAllGather : public CollectiveBase
{
  public:
    DoublingAllGather(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_plan(spec),
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
        uint64_t arrived = 0; ///< one bit for each stage, because a sender may be ahead
        int stage = 0;        ///< stage whose message the worker waits for
    };

    void OnStarted(int worker, FlowSink& sink) override
    {
        SendStage(worker, 0, sink);
        TakeArrived(worker, sink);
    }

    void SendStage(int worker, int stage, FlowSink& sink)
    {
        Send(worker,
             m_plan.Destination(worker, stage),
             m_plan.Bytes(worker, stage),
             static_cast<uint64_t>(stage),
             sink);
    }

    void TakeArrived(int worker, FlowSink& sink)
    {
        State& state = m_state[worker];
        while (state.arrived >> state.stage & 1)
        {
            if (++state.stage == m_plan.Stages())
            {
                Finish(worker, sink);
                return;
            }
            SendStage(worker, state.stage, sink);
        }
    }

    const DoublingPlan m_plan;
    std::vector<State> m_state;
};

} // namespace

std::unique_ptr<Collective>
MakeDoublingAllGather(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<DoublingAllGather>(spec, tagBase, std::move(done));
}

void MeterDoublingAllGather(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const DoublingPlan plan(spec);
    for (int w = 0; w < static_cast<int>(spec.bytes.size()); ++w)
    {
        for (int stage = 0; stage < plan.Stages(); ++stage)
        {
            const int64_t bytes = plan.Bytes(w, stage);
            traffic.sent[w] += bytes;
            traffic.received[plan.Destination(w, stage)] += bytes;
        }
    }
}

} // namespace legacy::fabric
