// Algorithms in which every worker sends to every other one: direct all-reduce and all-gather,
// all-to-all and all-to-allv, scatter-reduce all-gather.
//
// Every worker sends a part of its message to each other worker. If there is a second phase, it
// then sends the part that it owns to all others, as soon as all contributions to that part have
// arrived. It begins with its right neighbour, so that no two workers send to the same one at the
// same time, unless an all-to-all is set to send in the order of the workers' numbers. It has at
// most `window` messages in flight, so that N^2 flows are never in flight at once.
//
// With relays, a message of an exchange that leaves the node goes first to the worker of its node
// that is on the destination's rail. This worker joins all of its node's messages to that
// destination and sends them as one. `window` counts messages until they have arrived at that
// worker.
#include "algorithms.h"
#include "base.h"
#include "relays.h"

#include <map>
#include <numeric>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// A DirectPlan has the bytes that each worker sends to each other one in each phase.
struct DirectPlan
{
    explicit DirectPlan(const CollectiveSpec& spec)
        : workers(static_cast<int64_t>(spec.bytes.size())),
          bytes(spec.bytes),
          pairs(spec.algorithm == CollectiveAlgorithm::AllToAllV ? spec.pairBytes
                                                                 : std::vector<int64_t>()),
          byIndex(spec.order == PeerOrder::Index &&
                  (spec.algorithm == CollectiveAlgorithm::AllToAll ||
                   spec.algorithm == CollectiveAlgorithm::AllToAllV)),
          whole(spec.algorithm == CollectiveAlgorithm::DirectAllGather),
          phases(spec.algorithm == CollectiveAlgorithm::DirectAllReduce ||
                         spec.algorithm == CollectiveAlgorithm::ScatterReduceAllGather
                     ? 2
                     : 1),
          sum(spec.algorithm == CollectiveAlgorithm::ScatterReduceAllGather ? spec.sumBytes[0]
                                                                            : spec.bytes[0])
    {
    }

    int64_t Bytes(int phase, int source, int destination) const
    {
        if (phase == 1)
        {
            return BalancedBlock(sum, workers, source);
        }
        if (!pairs.empty())
        {
            return pairs[source * workers + destination];
        }
        return whole ? bytes[source] : BalancedBlock(bytes[source], workers, destination);
    }

    /// Returns the worker to which `source` sends its `turn`-th message of a phase, from 0 on.
    int Peer(int source, int turn) const
    {
        if (byIndex)
        {
            return turn < source ? turn : turn + 1;
        }
        return static_cast<int>((source + turn + 1) % workers);
    }

    int64_t workers;
    std::vector<int64_t> bytes;
    std::vector<int64_t> pairs; ///< bytes by pair for an all-to-allv, else empty
    bool byIndex;
    bool whole; ///< true: messages are not cut into parts
    int phases;
    int64_t sum; ///< bytes of the second phase, over all owners
};

class DirectExchange : public CollectiveBase
{
  public:
    DirectExchange(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_plan(spec),
          m_relays(spec),
          m_window(spec.window),
          m_peers(m_workers - 1),
          m_state(m_workers)
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const uint64_t mark = MarkOf(flow);
        if (!(mark & kJoined))
        {
            --m_state[flow.source].inFlight;
            SendOn(flow.source, sink);
        }
        if (mark & kToRelay)
        {
            Join(flow.destination, static_cast<int>(mark >> kDestinationShift), flow.bytes, sink);
            return;
        }
        const int worker = flow.destination;
        m_state[worker].received[mark & kSecondPhase] +=
            mark & kJoined ? m_relays.Joined(flow.source) : 1;
        if (Started(worker))
        {
            SendOn(worker, sink); // the part that it owns may be complete now
            FinishWhereComplete(worker, sink);
        }
    }

  private:
    /// A mark has the phase and, on the way to a relay, the message's destination.
    static constexpr uint64_t kSecondPhase = 1;
    static constexpr uint64_t kToRelay = 2;
    static constexpr uint64_t kJoined = 4;
    static constexpr int kDestinationShift = 3;

    /// Messages to one destination that wait for others to be joined with.
    struct Joining
    {
        int64_t bytes = 0;
        int messages = 0;
    };

    struct State
    {
        int next = 0; ///< number of the next flow, counted over both phases
        int inFlight = 0;
        int received[2] = {0, 0}; ///< number of flows received in each phase
    };

    void OnStarted(int worker, FlowSink& sink) override
    {
        SendOn(worker, sink);
        FinishWhereComplete(worker, sink);
    }

    void SendOn(int worker, FlowSink& sink)
    {
        State& state = m_state[worker];
        const bool second = m_plan.phases == 2 && state.received[0] == m_peers;
        const int limit = second ? 2 * m_peers : m_peers;
        while (state.inFlight < m_window && state.next < limit)
        {
            const int phase = state.next / m_peers;
            const int to = m_plan.Peer(worker, state.next % m_peers);
            ++state.next;
            const int64_t bytes = m_plan.Bytes(phase, worker, to);
            const int joiner = m_relays.JoinerOf(worker, to);
            if (joiner == worker)
            {
                Join(worker, to, bytes, sink);
                continue;
            }
            ++state.inFlight;
            if (joiner == RelayPlan::kNone)
            {
                Send(worker, to, bytes, phase, sink);
                continue;
            }
            const uint64_t destination = static_cast<uint64_t>(to) << kDestinationShift;
            Send(worker, joiner, bytes, destination | kToRelay, sink);
        }
    }

    /// Joins a message that `joiner` has received with others to the same destination, and sends
    /// them when it has those of its whole node.
    void Join(int joiner, int to, int64_t bytes, FlowSink& sink)
    {
        const auto [entry, added] = m_joining.emplace(std::make_pair(joiner, to), Joining{});
        Joining& joining = entry->second;
        joining.bytes += bytes;
        if (++joining.messages < m_relays.Joined(joiner))
        {
            return;
        }
        const int64_t all = joining.bytes;
        m_joining.erase(entry);
        Send(joiner, to, all, kJoined, sink);
    }

    void FinishWhereComplete(int worker, FlowSink& sink)
    {
        const State& state = m_state[worker];
        if (state.received[0] + state.received[1] == m_plan.phases * m_peers)
        {
            Finish(worker, sink);
        }
    }

    const DirectPlan m_plan;
    const RelayPlan m_relays;
    const int m_window;
    const int m_peers;
    std::vector<State> m_state;
    std::map<std::pair<int, int>, Joining> m_joining; ///< by joiner and destination
};

/// Returns the bytes of each part, summed over the messages of all workers.
std::vector<int64_t> PartTotals(const std::vector<int64_t>& bytes)
{
    const int parts = static_cast<int>(bytes.size());
    std::vector<int64_t> totals(parts, 0);
    std::vector<int64_t> larger(parts, 0); // messages whose first i parts are one byte longer
    int64_t common = 0;
    for (int64_t length : bytes)
    {
        common += length / parts;
        ++larger[length % parts];
    }
    int64_t more = 0;
    for (int part = parts - 1; part >= 0; --part)
    {
        totals[part] = common + more;
        more += larger[part];
    }
    return totals;
}

void MeterPairs(const DirectPlan& plan, const RelayPlan& relays, CollectiveTraffic& traffic)
{
    for (int from = 0; from < plan.workers; ++from)
    {
        for (int to = 0; to < plan.workers; ++to)
        {
            const int64_t bytes = from == to ? 0 : plan.Bytes(0, from, to);
            traffic.sent[from] += bytes;
            traffic.received[to] += bytes;
            if (const int relay = relays.RelayOf(from, to); relay != RelayPlan::kNone)
            {
                traffic.sent[relay] += bytes;
                traffic.received[relay] += bytes;
            }
        }
    }
}

} // namespace

std::unique_ptr<Collective>
MakeDirect(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<DirectExchange>(spec, tagBase, std::move(done));
}

void MeterDirect(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const DirectPlan plan(spec);
    if (!plan.pairs.empty() || spec.relays)
    {
        MeterPairs(plan, RelayPlan(spec), traffic);
        return;
    }
    const int64_t peers = plan.workers - 1;
    const int64_t total = std::accumulate(spec.bytes.begin(), spec.bytes.end(), int64_t{0});
    const std::vector<int64_t> parts = PartTotals(spec.bytes);
    for (int w = 0; w < plan.workers; ++w)
    {
        const int64_t own = plan.Bytes(0, w, w);
        traffic.sent[w] += plan.whole ? own * peers : spec.bytes[w] - own;
        traffic.received[w] += (plan.whole ? total : parts[w]) - own;
        if (plan.phases == 2)
        {
            const int64_t owned = plan.Bytes(1, w, w);
            traffic.sent[w] += owned * peers;
            traffic.received[w] += plan.sum - owned;
        }
    }
}

} // namespace legacy::fabric
