#include "collective.h"

#include "collective-base.h"
#include "collective-kinds.h"
#include "error.h"

#include <iterator>
#include <numeric>

namespace legacy::fabric
{

namespace
{

/// Binomial tree on ranks relative to the root: in step s every rank below 2^s that has the data
/// sends it to rank + 2^s. A rank sends to one child at a time, so that on any fabric ceil(log2 N)
/// steps suffice.
class BinomialBroadcast : public CollectiveBase
{
  public:
    BinomialBroadcast(int workers, int root, int64_t bytes, uint16_t tagBase, DoneCallback done)
        : CollectiveBase(workers, tagBase, std::move(done)),
          m_root(root),
          m_bytes(bytes),
          m_holds(workers, false)
    {
        m_holds[root] = true;
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        SendToChild(flow.source, static_cast<int>(MarkOf(flow)) + 1, sink);
        m_holds[flow.destination] = true;
        if (Started(flow.destination))
        {
            Forward(flow.destination, sink);
        }
    }

  protected:
    void OnStarted(int worker, FlowSink& sink) override
    {
        if (m_holds[worker])
        {
            Forward(worker, sink);
        }
    }

  private:
    void Forward(int worker, FlowSink& sink)
    {
        Finish(worker, sink);
        int step = 0;
        while (Rank(worker) >> step > 0)
        {
            ++step;
        }
        SendToChild(worker, step, sink);
    }

    void SendToChild(int worker, int step, FlowSink& sink)
    {
        const int64_t child = Rank(worker) + (int64_t{1} << step);
        if (child < m_workers)
        {
            const int to = static_cast<int>((child + m_root) % m_workers);
            Send(worker, to, m_bytes, step, sink);
        }
    }

    int Rank(int worker) const
    {
        return (worker - m_root + m_workers) % m_workers;
    }

    const int m_root;
    const int64_t m_bytes;
    std::vector<bool> m_holds;
};

/// Push to endpoint N; when all are in, pull from it. The server computes in no time.
class ParameterServerStar : public CollectiveBase
{
  public:
    ParameterServerStar(std::vector<int64_t> push,
                        int64_t pull,
                        uint16_t tagBase,
                        DoneCallback done)
        : CollectiveBase(static_cast<int>(push.size()), tagBase, std::move(done)),
          m_push(std::move(push)),
          m_pull(pull)
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const int server = m_workers;
        if (flow.destination != server)
        {
            Finish(flow.destination, sink);
            return;
        }
        if (++m_pushed == m_workers)
        {
            for (int worker = 0; worker < m_workers; ++worker)
            {
                Send(server, worker, m_pull, kPull, sink);
            }
        }
    }

  protected:
    void OnStarted(int worker, FlowSink& sink) override
    {
        Send(worker, m_workers, m_push[worker], kPush, sink);
    }

  private:
    static constexpr uint64_t kPush = 0;
    static constexpr uint64_t kPull = 1;

    const std::vector<int64_t> m_push;
    const int64_t m_pull;
    int m_pushed = 0;
};

void Check(const CollectiveSpec& spec)
{
    const std::string kind = ToString(spec.kind);
    if (spec.bytes.empty())
    {
        throw Error(kind + ": needs at least one worker");
    }
    const int workers = static_cast<int>(spec.bytes.size());
    for (int w = 0; w < workers; ++w)
    {
        const std::string where = kind + ": bytes of worker " + std::to_string(w);
        if (spec.bytes[w] < 0)
        {
            throw Error(where, std::to_string(spec.bytes[w]), "0 or more");
        }
        if (spec.kind == CollectiveKind::RingAllReduce && spec.bytes[w] != spec.bytes[0])
        {
            throw Error(where,
                        std::to_string(spec.bytes[w]),
                        std::to_string(spec.bytes[0]) +
                            ", as worker 0: summed messages have one length");
        }
    }
    if (spec.kind == CollectiveKind::Broadcast && (spec.root < 0 || spec.root >= workers))
    {
        throw Error(kind + ": root",
                    std::to_string(spec.root),
                    "a worker from 0 to " + std::to_string(workers - 1));
    }
    if (spec.pullBytes < 0)
    {
        throw Error(kind + ": pull bytes", std::to_string(spec.pullBytes), "0 or more");
    }
}

} // namespace

namespace
{

/// In the order of CollectiveKind.
constexpr const char* kNames[] = {"ring-allreduce",
                                  "halving-doubling-allreduce",
                                  "double-tree-allreduce",
                                  "direct-allreduce",
                                  "hierarchical-allreduce",
                                  "in-network-allreduce",
                                  "ring-allgather",
                                  "direct-allgather",
                                  "hierarchical-allgather",
                                  "all-to-all",
                                  "broadcast",
                                  "parameter-server",
                                  "sharded-parameter-server",
                                  "sparse-tree",
                                  "scatter-reduce-allgather"};

} // namespace

const char* ToString(CollectiveKind kind)
{
    return kNames[static_cast<size_t>(kind)];
}

const std::vector<CollectiveKind>& CollectiveKinds()
{
    static const std::vector<CollectiveKind> kinds = []
    {
        std::vector<CollectiveKind> all;
        for (size_t i = 0; i < std::size(kNames); ++i)
        {
            all.push_back(static_cast<CollectiveKind>(i));
        }
        return all;
    }();
    return kinds;
}

CollectiveKind ParseCollective(const std::string& text)
{
    std::string allowed;
    for (CollectiveKind kind : CollectiveKinds())
    {
        if (text == ToString(kind))
        {
            return kind;
        }
        allowed += std::string(allowed.empty() ? "" : ", ") + ToString(kind);
    }
    throw Error("collective", text, allowed);
}

std::vector<int64_t> Balanced(int64_t total, int parts)
{
    std::vector<int64_t> blocks(parts);
    for (int i = 0; i < parts; ++i)
    {
        blocks[i] = BalancedBlock(total, parts, i);
    }
    return blocks;
}

std::vector<int64_t> BytesSent(const CollectiveSpec& spec)
{
    Check(spec);
    const int workers = static_cast<int>(spec.bytes.size());
    std::vector<int64_t> sent(workers, 0);
    if (workers == 1)
    {
        return sent;
    }
    const int64_t total = std::accumulate(spec.bytes.begin(), spec.bytes.end(), int64_t{0});
    const std::vector<int64_t> chunks = Balanced(spec.bytes[0], workers);
    for (int w = 0; w < workers; ++w)
    {
        const int next = (w + 1) % workers;
        switch (spec.kind)
        {
        case CollectiveKind::RingAllReduce:
            // All but chunk w + 1 in the first half, all but chunk w + 2 in the second.
            sent[w] = 2 * spec.bytes[w] - chunks[next] - chunks[(w + 2) % workers];
            break;
        case CollectiveKind::RingAllGather:
            sent[w] = total - spec.bytes[next]; // the right neighbour's own block comes last
            break;
        case CollectiveKind::Broadcast:
        {
            const int64_t rank = (w - spec.root + workers) % workers;
            for (int64_t distance = 1; distance < workers; distance *= 2)
            {
                const bool child = rank < distance && rank + distance < workers;
                sent[w] += child ? spec.bytes[spec.root] : 0;
            }
            break;
        }
        case CollectiveKind::ParameterServer:
            sent[w] = spec.bytes[w];
            break;
        default:
            throw Error("collective", ToString(spec.kind), "a kind that is built");
        }
    }
    return sent;
}

std::unique_ptr<Collective>
MakeCollective(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done)
{
    Check(spec);
    const int workers = static_cast<int>(spec.bytes.size());
    switch (spec.kind)
    {
    case CollectiveKind::RingAllReduce:
    case CollectiveKind::RingAllGather:
        return MakeRing(spec, tagBase, std::move(done));
    case CollectiveKind::Broadcast:
        return std::make_unique<BinomialBroadcast>(
            workers, spec.root, spec.bytes[spec.root], tagBase, std::move(done));
    case CollectiveKind::ParameterServer:
        return std::make_unique<ParameterServerStar>(
            spec.bytes, spec.pullBytes, tagBase, std::move(done));
    default:
        break;
    }
    throw Error("collective: unknown kind " + std::to_string(static_cast<int>(spec.kind)));
}

} // namespace legacy::fabric
