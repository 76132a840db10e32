// Ring all-reduce, all-gather and reduce-scatter.
#include "ring.h"
#include "algorithms.h"
#include "base.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

class RingCollective : public CollectiveBase
{
    auto Sender(FlowSink& sink) const
    {
        return [this, &sink](int worker, int round, int64_t bytes, bool more)
        {
            const int right = worker + 1 == m_workers ? 0 : worker + 1;
            Send(worker, right, bytes, static_cast<uint64_t>(round), sink, more);
        };
    }

  public:
    RingCollective(Ring ring, uint16_t tagBase, DoneCallback done)
        : CollectiveBase(ring.Size(), tagBase, std::move(done)),
          m_ring(std::move(ring))
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const int round = static_cast<int>(MarkOf(flow));
        if (m_ring.Arrived(flow.destination, round, Sender(sink)))
        {
            Finish(flow.destination, sink);
        }
    }

  private:
    void OnStarted(int worker, FlowSink& sink) override
    {
        if (m_ring.Start(worker, Sender(sink)))
        {
            Finish(worker, sink);
        }
    }

    Ring m_ring;
};

Ring RingOf(const CollectiveSpec& spec)
{
    const int workers = static_cast<int>(spec.bytes.size());
    if (spec.algorithm == CollectiveAlgorithm::RingAllGather)
    {
        return Ring(spec.bytes, workers - 1);
    }
    std::vector<int64_t> blocks = Balanced(spec.bytes[0], workers);
    if (spec.algorithm == CollectiveAlgorithm::RingAllReduce)
    {
        return Ring(std::move(blocks), 2 * (workers - 1));
    }
    // A ring leaves member i block i + 1, and a reduce-scatter leaves worker w block w.
    std::rotate(blocks.begin(), blocks.end() - 1, blocks.end());
    return Ring(std::move(blocks), workers - 1);
}

} // namespace

std::unique_ptr<Collective>
MakeRing(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<RingCollective>(RingOf(spec), tagBase, std::move(done));
}

void MeterRing(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const Ring ring = RingOf(spec);
    for (int w = 0; w < ring.Size(); ++w)
    {
        traffic.sent[w] += ring.Sent(w);
        traffic.received[(w + 1) % ring.Size()] += ring.Sent(w);
    }
}

} // namespace legacy::fabric
