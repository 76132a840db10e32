// Ring all-reduce, all-gather and reduce-scatter, over one ring or over several channels, with one
// of several protocols. A channel is a ring of its own that carries its part of every block: its
// flows travel on a lane of their own, and a worker is done when all its rings are. If blocks
// exceed a protocol's chunk, a channel runs several rings, its turns, one after the other: a worker
// begins the next turn when it has ended the one before.
#include "ring.h"
#include "algorithms.h"
#include "passing.h"
#include "ring-plan.h"

#include <map>

namespace legacy::fabric
{

namespace
{

class RingCollective : public PassingCollective
{
    static_assert(kMostChannels <= 1 << (kTagShift - RingPlan::kChannelShift));

    /// Returns the function that sends to the right neighbour in a turn of a channel.
    auto Sender(int channel, int turn, FlowSink& sink)
    {
        return [this, channel, turn, &sink](int position, int round, int64_t bytes, bool more)
        {
            const int right = position + 1 == m_workers ? 0 : position + 1;
            const int from = m_plan.Order().WorkerAt(channel, position);
            const int to = m_plan.Order().WorkerAt(channel, right);
            const uint64_t mark = static_cast<uint64_t>(channel) << RingPlan::kChannelShift |
                                  static_cast<uint64_t>(turn) << m_plan.RoundBits() |
                                  static_cast<uint64_t>(round);
            Pass(FlowOf(from,
                        to,
                        bytes,
                        mark,
                        more || turn + 1 < m_plan.Turns(),
                        static_cast<uint16_t>(channel)),
                 static_cast<uint32_t>(channel),
                 Handling::Whole,
                 sink);
        };
    }

  public:
    RingCollective(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : PassingCollective(spec, tagBase, std::move(done), RingPlan::CostsFor(spec)),
          m_plan(spec),
          m_turns(spec.channels),
          m_remaining(m_workers, spec.channels)
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const uint64_t mark = MarkOf(flow);
        constexpr uint64_t kTurnAndRound = (uint64_t{1} << RingPlan::kChannelShift) - 1;
        const auto channel = static_cast<int>(mark >> RingPlan::kChannelShift);
        const auto turn = static_cast<int>((mark & kTurnAndRound) >> m_plan.RoundBits());
        const auto round = static_cast<int>(mark & ((1 << m_plan.RoundBits()) - 1));
        const int position = m_plan.Order().PositionOf(channel, flow.destination);
        if (TurnOf(channel, turn).ring.Arrived(position, round, Sender(channel, turn, sink)))
        {
            EndTurn(channel, turn, flow.destination, sink);
        }
    }

  private:
    struct Turn
    {
        Ring ring;
        int remaining; ///< number of workers that have not ended it
    };

    void Begin(int worker, FlowSink& sink) override
    {
        for (int channel = 0; channel < m_plan.Channels(); ++channel)
        {
            BeginTurn(channel, 0, worker, sink);
        }
    }

    void BeginTurn(int channel, int turn, int worker, FlowSink& sink)
    {
        const int position = m_plan.Order().PositionOf(channel, worker);
        if (TurnOf(channel, turn).ring.Start(position, Sender(channel, turn, sink)))
        {
            EndTurn(channel, turn, worker, sink);
        }
    }

    void EndTurn(int channel, int turn, int worker, FlowSink& sink)
    {
        const auto ended = m_turns[channel].find(turn);
        if (--ended->second.remaining == 0)
        {
            m_turns[channel].erase(ended);
        }
        if (turn + 1 < m_plan.Turns())
        {
            BeginTurn(channel, turn + 1, worker, sink);
        }
        else if (--m_remaining[worker] == 0)
        {
            Finish(worker, sink);
        }
    }

    /// Returns a turn, which exists from its first event until its last worker has ended it.
    Turn& TurnOf(int channel, int turn)
    {
        const auto found = m_turns[channel].find(turn);
        return found != m_turns[channel].end()
                   ? found->second
                   : m_turns[channel]
                         .emplace(turn, Turn{m_plan.MakeRing(channel, turn), m_workers})
                         .first->second;
    }

    const RingPlan m_plan;
    std::vector<std::map<int, Turn>> m_turns; ///< turns in progress, by channel and number
    std::vector<int> m_remaining;             ///< number of channels that each worker has not ended
};

} // namespace

std::unique_ptr<Collective>
MakeRing(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<RingCollective>(spec, tagBase, std::move(done));
}

void MeterRing(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const RingPlan plan(spec);
    for (int channel = 0; channel < plan.Channels(); ++channel)
    {
        for (int turn = 0; turn < plan.Turns(); ++turn)
        {
            const Ring ring = plan.MakeRing(channel, turn);
            for (int position = 0; position < ring.Size(); ++position)
            {
                const int right = (position + 1) % ring.Size();
                traffic.sent[plan.Order().WorkerAt(channel, position)] += ring.Sent(position);
                traffic.received[plan.Order().WorkerAt(channel, right)] += ring.Sent(position);
            }
        }
    }
}

} // namespace legacy::fabric
