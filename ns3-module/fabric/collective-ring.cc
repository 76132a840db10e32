// Ring all-reduce and all-gather.
#include "collective-base.h"
#include "collective-kinds.h"
#include "ring.h"

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
    RingCollective(std::vector<int64_t> blocks, int rounds, uint16_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(blocks.size()), tagBase, std::move(done)),
          m_ring(std::move(blocks), rounds)
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

} // namespace

std::unique_ptr<Collective>
MakeRing(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done)
{
    const int workers = static_cast<int>(spec.bytes.size());
    if (spec.kind == CollectiveKind::RingAllReduce)
    {
        return std::make_unique<RingCollective>(
            Balanced(spec.bytes[0], workers), 2 * (workers - 1), tagBase, std::move(done));
    }
    return std::make_unique<RingCollective>(spec.bytes, workers - 1, tagBase, std::move(done));
}

} // namespace legacy::fabric
