// Recursive halving and doubling (Thakur, Rabenseifner, Gropp, IJHPCA'05): reduce-scatter by vector
// halving and distance doubling, so that most bytes travel between near ranks, then all-gather in
// the reverse order. Where N is no power of two, let P be the largest power of two below it. The
// even workers among the first 2 (N - P) give their whole message to their right neighbour
// beforehand (the fold) and get the result from it afterwards (the unfold).
//
// The other workers take no part in the fold. If they started at once, their messages would share
// the link of a neighbour that still receives a whole message, and all would wait longer. MPI
// libraries avoid this, because a long message waits until its receiver asks for it (rendezvous).
// Here these workers wait for a word, a message of one byte, from one of the N - P workers that
// received a whole message. Rank r of those sends words to the ranks r + N - P, r + 2 (N - P), ...
// below P.
#include "algorithms.h"
#include "base.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

/// A HalvingPlan says who sends what in each stage. With L = log2 P, stage 0 is the fold, stages 1
/// to L are halving, L + 1 to 2 L doubling, and 2 L + 1 is the unfold. Words count as a stage after
/// the unfold.
class HalvingPlan
{
  public:
    HalvingPlan(int workers, int64_t bytes) : m_bytes(bytes)
    {
        while (2 << m_levels <= workers)
        {
            ++m_levels;
        }
        m_extra = workers - (1 << m_levels);
    }

    int Levels() const
    {
        return m_levels;
    }

    /// True where the worker takes part in the fold and the unfold only.
    bool Folded(int worker) const
    {
        return worker < 2 * m_extra && worker % 2 == 0;
    }

    /// True where the worker's left neighbour is folded.
    bool Folds(int worker) const
    {
        return worker < 2 * m_extra && worker % 2 == 1;
    }

    /// True where the worker waits for a word before it starts.
    bool Told(int worker) const
    {
        return m_extra > 0 && worker >= 2 * m_extra;
    }

    /// Returns the workers to which a worker that folds sends words. Its own next partner, where it
    /// is one of them, comes last, because the half message to it must not go before the others'
    /// words.
    std::vector<int> Listeners(int worker) const
    {
        std::vector<int> listeners;
        for (int rank = Rank(worker) + m_extra; rank < 1 << m_levels; rank += m_extra)
        {
            listeners.push_back(WorkerOf(rank));
        }
        std::reverse(listeners.begin(), listeners.end());
        return listeners;
    }

    int64_t WordBytes() const
    {
        return std::min<int64_t>(m_bytes, 1);
    }

    int Partner(int worker, int stage) const
    {
        const int level = stage <= m_levels ? stage - 1 : 2 * m_levels - stage;
        return WorkerOf(Rank(worker) ^ (1 << level));
    }

    /// Returns the bytes that `worker` sends in a stage of halving or doubling.
    int64_t Bytes(int worker, int stage) const
    {
        // Halving sends the chunks that the partner keeps. Doubling sends all chunks that the
        // worker has.
        return stage <= m_levels ? Kept(Rank(Partner(worker, stage)), stage)
                                 : Kept(Rank(worker), 2 * m_levels + 1 - stage);
    }

    int64_t Whole() const
    {
        return m_bytes;
    }

  private:
    int Rank(int worker) const
    {
        return worker < 2 * m_extra ? worker / 2 : worker - m_extra;
    }

    int WorkerOf(int rank) const
    {
        return rank < m_extra ? 2 * rank + 1 : rank + m_extra;
    }

    /// Returns the bytes of the chunks that a rank keeps after `halvings` stages. Each bit of the
    /// rank, from the lowest on, chooses the lower or the upper half.
    int64_t Kept(int rank, int halvings) const
    {
        int64_t size = int64_t{1} << m_levels;
        int64_t first = 0;
        for (int i = 0; i < halvings; ++i)
        {
            size /= 2;
            first += (rank >> i & 1) * size;
        }
        return Before(first + size) - Before(first);
    }

    /// Returns the bytes of the first `chunks` chunks.
    int64_t Before(int64_t chunks) const
    {
        const int64_t all = int64_t{1} << m_levels;
        return m_bytes / all * chunks + std::min(chunks, m_bytes % all);
    }

    int64_t m_bytes;
    int m_levels = 0;
    int m_extra = 0;
};

class HalvingDoubling : public CollectiveBase
{
  public:
    HalvingDoubling(const CollectiveSpec& spec, uint16_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_plan(m_workers, spec.bytes[0]),
          m_unfold(2 * m_plan.Levels() + 1),
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
        uint64_t arrived = 0; ///< one bit for each stage, as a partner may be ahead
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
            Send(worker, worker - 1, m_plan.Whole(), static_cast<uint64_t>(m_unfold), sink);
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
MakeHalvingDoubling(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<HalvingDoubling>(spec, tagBase, std::move(done));
}

void MeterHalvingDoubling(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const int workers = static_cast<int>(spec.bytes.size());
    const HalvingPlan plan(workers, spec.bytes[0]);
    for (int w = 0; w < workers; ++w)
    {
        if (plan.Folded(w) || plan.Folds(w))
        {
            traffic.sent[w] += plan.Whole();
            traffic.received[w] += plan.Whole();
        }
        if (plan.Folds(w))
        {
            traffic.sent[w] += plan.WordBytes() * static_cast<int64_t>(plan.Listeners(w).size());
        }
        traffic.received[w] += plan.Told(w) ? plan.WordBytes() : 0;
        for (int stage = 1; stage <= 2 * plan.Levels() && !plan.Folded(w); ++stage)
        {
            traffic.sent[w] += plan.Bytes(w, stage);
            traffic.received[w] += plan.Bytes(plan.Partner(w, stage), stage);
        }
    }
}

} // namespace legacy::fabric
