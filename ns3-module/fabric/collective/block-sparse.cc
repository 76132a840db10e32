// Sums of blocks that aggregators stream (Fei et al., Efficient Sparse Collective Communication and
// its Application to Accelerate Distributed Deep Learning (OmniReduce), SIGCOMM 2021, section 3).
//
// Each aggregator has a balanced shard of every message. Workers send it their blocks in pieces. As
// soon as a piece of all workers is there, the aggregator sends the sum to all workers, so that
// both directions are busy at once. A worker sends a piece only if its slots are free, that is, if
// the sum that had them before has arrived. If workers are the aggregators, what they send to
// themselves touches no link. Worker w begins with aggregator w mod S. Aggregators add in no time.
#include "algorithms.h"
#include "base.h"
#include "closed-form-parts.h"
#include "pieces.h"

#include <deque>

namespace legacy::fabric
{

namespace
{

class BlockSparse : public CollectiveBase
{
  public:
    BlockSparse(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_spec(spec),
          m_plan(m_spec),
          m_up(m_workers),
          m_down(m_plan.Aggregators()),
          m_arrived(m_plan.Aggregators()),
          m_sent(m_plan.Aggregators(), 0),
          m_summed(m_workers, std::vector<int64_t>(m_plan.Aggregators(), 0)),
          m_left(m_workers, 0)
    {
        for (int s = 0; s < m_plan.Aggregators(); ++s)
        {
            m_arrived[s].assign(m_plan.Pieces(s), 0);
            for (int64_t& left : m_left)
            {
                left += m_plan.Pieces(s);
            }
        }
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const uint64_t mark = MarkOf(flow);
        const auto piece = static_cast<int64_t>(mark >> 1);
        if ((mark & kDown) != 0)
        {
            const int aggregator = AggregatorOf(flow.source);
            Freed(m_down[aggregator], sink);
            TakeSum(flow.destination, aggregator, sink);
            return;
        }
        Freed(m_up[flow.source], sink);
        TakePiece(AggregatorOf(flow.destination), piece, sink);
    }

  private:
    static constexpr uint64_t kDown = 1;

    /// The messages of one sender that wait, and the number of those in flight.
    struct Outbox
    {
        std::deque<Flow> waiting;
        int inFlight = 0;
    };

    int AggregatorOf(int endpoint) const
    {
        return m_plan.Colocated() ? endpoint : endpoint - m_workers;
    }

    int EndpointOf(int aggregator) const
    {
        return m_plan.Colocated() ? aggregator : aggregator + m_workers;
    }

    void OnStarted(int worker, FlowSink& sink) override
    {
        const int aggregators = m_plan.Aggregators();
        for (int64_t piece = 0; piece < m_plan.Flying(); ++piece)
        {
            for (int i = 0; i < aggregators; ++i)
            {
                SendUp(worker, (worker + i) % aggregators, piece, sink);
            }
        }
    }

    void SendUp(int worker, int aggregator, int64_t piece, FlowSink& sink)
    {
        const int64_t pieces = m_plan.Pieces(aggregator);
        if (piece >= pieces)
        {
            return;
        }
        if (EndpointOf(aggregator) == worker)
        {
            TakePiece(aggregator, piece, sink);
            return;
        }
        const int64_t bytes = BalancedBlock(m_plan.Up(worker, aggregator), pieces, piece);
        Queue(m_up[worker],
              FlowOf(worker,
                     EndpointOf(aggregator),
                     bytes,
                     static_cast<uint64_t>(piece) << 1,
                     piece + 1 < pieces),
              sink);
    }

    /// A worker's piece is at the aggregator.
    void TakePiece(int aggregator, int64_t piece, FlowSink& sink)
    {
        if (++m_arrived[aggregator][piece] < m_workers)
        {
            return;
        }
        const int64_t sent = ++m_sent[aggregator]; // pieces may be complete in any order
        const int64_t pieces = m_plan.Pieces(aggregator);
        const int64_t bytes = BalancedBlock(m_plan.Down(aggregator), pieces, piece);
        for (int i = 0; i < m_workers; ++i)
        {
            const int worker = (aggregator + i) % m_workers;
            if (EndpointOf(aggregator) == worker)
            {
                TakeSum(worker, aggregator, sink);
                continue;
            }
            Queue(m_down[aggregator],
                  FlowOf(EndpointOf(aggregator),
                         worker,
                         bytes,
                         static_cast<uint64_t>(piece) << 1 | kDown,
                         sent < pieces),
                  sink);
        }
    }

    /// A piece of the sum is at the worker, whose slots are free for the next one.
    void TakeSum(int worker, int aggregator, FlowSink& sink)
    {
        const int64_t next = m_plan.Flying() + m_summed[worker][aggregator]++;
        SendUp(worker, aggregator, next, sink);
        if (--m_left[worker] == 0)
        {
            Finish(worker, sink);
        }
    }

    void Queue(Outbox& box, const Flow& flow, FlowSink& sink) const
    {
        box.waiting.push_back(flow);
        SendWaiting(box, sink);
    }

    void Freed(Outbox& box, FlowSink& sink) const
    {
        --box.inFlight;
        SendWaiting(box, sink);
    }

    void SendWaiting(Outbox& box, FlowSink& sink) const
    {
        while (!box.waiting.empty() && box.inFlight < m_spec.window)
        {
            ++box.inFlight;
            const Flow flow = box.waiting.front();
            box.waiting.pop_front();
            sink.Send(flow);
        }
    }

    const CollectiveSpec m_spec;
    const BlockPlan m_plan;
    std::vector<Outbox> m_up;                   ///< by worker
    std::vector<Outbox> m_down;                 ///< by aggregator
    std::vector<std::vector<int>> m_arrived;    ///< workers whose piece is there, by aggregator
    std::vector<int64_t> m_sent;                ///< pieces of the sum, by aggregator
    std::vector<std::vector<int64_t>> m_summed; ///< sums of each aggregator that a worker has
    std::vector<int64_t> m_left;                ///< sums that a worker still waits for
};

} // namespace

std::unique_ptr<Collective>
MakeBlockSparse(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<BlockSparse>(spec, tagBase, std::move(done));
}

void MeterBlockSparse(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const BlockPlan plan(spec);
    const auto workers = static_cast<int>(spec.bytes.size());
    for (int w = 0; w < workers; ++w)
    {
        traffic.sent[w] += spec.bytes[w];
        traffic.received[w] += spec.pullBytes;
        if (!plan.Colocated())
        {
            continue;
        }
        traffic.sent[w] += (workers - 1) * plan.Down(w) - plan.Up(w, w);
        traffic.received[w] -= plan.Down(w);
        for (int other = 0; other < workers; ++other)
        {
            traffic.received[w] += other == w ? 0 : plan.Up(other, w);
        }
    }
}

WideTime
BlockSparseTime(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport)
{
    const BlockPlan plan(spec);
    const auto workers = static_cast<int>(spec.bytes.size());
    const int senders = workers - (plan.Colocated() ? 1 : 0);
    const int receivers = plan.Aggregators() - (plan.Colocated() ? 1 : 0);
    const int sharing = std::max(senders, receivers);
    const int64_t pieces = plan.Pieces(0);
    int64_t up = 0;
    for (int worker = 0; worker < workers; ++worker)
    {
        up = std::max(up, BalancedBlock(plan.Up(worker, 0), pieces, 0));
    }
    const int64_t down = BalancedBlock(plan.Down(0), pieces, 0);
    const auto wire = [&](int64_t bytes) { return WireTime(path, bytes, transport); };
    const auto acks = [&](int64_t bytes) { return AckTime(path, bytes, transport); };
    const WideTime one = wire(up) + acks(down);
    const WideTime other = wire(down) + acks(up);
    // A worker that aggregates sends and receives both.
    const WideTime turn = sharing * (plan.Colocated() ? one + other : std::max(one, other));
    const WideTime trip = WideTime{FlowTime(path, up, transport)} + (sharing - 1) * wire(up) +
                          FlowTime(path, down, transport) + (sharing - 1) * wire(down);
    const WideTime streamed = trip + (pieces - 1) * turn;
    return std::max(streamed, plan.Rounds() * trip);
}

} // namespace legacy::fabric
