// Parameter servers. Workers push, and servers answer when all workers have pushed. If there are
// several servers, each has a shard of every message: the given one, or a balanced part. Worker w
// begins with server w mod S, and server s with worker s mod N, so that they do not all begin with
// the same one. Servers add in no time; what else they compute takes CollectiveSpec::serve.
#include "algorithms.h"
#include "base.h"

namespace legacy::fabric
{

namespace
{

class ServerCollective : public CollectiveBase
{
  public:
    ServerCollective(const CollectiveSpec& spec,
                     int servers,
                     int window,
                     uint32_t tagBase,
                     DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_servers(servers),
          m_window(window),
          m_push(spec.bytes),
          m_pull(spec.pullBytes),
          m_shards(spec.shards),
          m_serve(spec.serve),
          m_pushing(m_workers),
          m_pulling(servers),
          m_pushed(servers, 0),
          m_pulled(m_workers, 0)
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        if (flow.destination < m_workers)
        {
            const int server = flow.source - m_workers;
            --m_pulling[server].inFlight;
            SendPulls(server, sink);
            if (++m_pulled[flow.destination] == m_servers)
            {
                Finish(flow.destination, sink);
            }
            return;
        }
        const int server = flow.destination - m_workers;
        --m_pushing[flow.source].inFlight;
        SendPushes(flow.source, sink);
        if (++m_pushed[server] < m_workers)
        {
            return;
        }
        if (m_serve > 0)
        {
            Wake(m_serve, static_cast<uint64_t>(server), sink);
            return;
        }
        SendPulls(server, sink);
    }

    void OnWake(uint64_t server, FlowSink& sink) override
    {
        SendPulls(static_cast<int>(server), sink);
    }

  private:
    /// Progress of one sender: the number of its next flow, and its flows in flight.
    struct Sending
    {
        int next = 0;
        int inFlight = 0;
    };

    void OnStarted(int worker, FlowSink& sink) override
    {
        SendPushes(worker, sink);
    }

    int64_t PushBytes(int worker, int server) const
    {
        if (m_shards.empty())
        {
            return BalancedBlock(m_push[worker], m_servers, server);
        }
        return m_push[worker] > 0 ? m_shards[server].push : 0;
    }

    void SendPushes(int worker, FlowSink& sink)
    {
        Sending& sending = m_pushing[worker];
        while (sending.next < m_servers && sending.inFlight < m_window)
        {
            const int server = (worker + sending.next) % m_servers;
            ++sending.next;
            ++sending.inFlight;
            Send(worker, m_workers + server, PushBytes(worker, server), 0, sink);
        }
    }

    void SendPulls(int server, FlowSink& sink)
    {
        Sending& sending = m_pulling[server];
        while (sending.next < m_workers && sending.inFlight < m_window)
        {
            const int worker = (server + sending.next) % m_workers;
            ++sending.next;
            ++sending.inFlight;
            const int64_t bytes =
                m_shards.empty() ? BalancedBlock(m_pull, m_servers, server) : m_shards[server].pull;
            Send(m_workers + server, worker, bytes, 0, sink);
        }
    }

    const int m_servers;
    const int m_window;
    const std::vector<int64_t> m_push;
    const int64_t m_pull;
    const std::vector<Shard> m_shards;
    const TimeNs m_serve;
    std::vector<Sending> m_pushing; ///< progress by worker
    std::vector<Sending> m_pulling; ///< progress by server
    std::vector<int> m_pushed;      ///< number of pushes received, by server
    std::vector<int> m_pulled;      ///< number of shards received, by worker
};

} // namespace

std::unique_ptr<Collective>
MakeServer(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    const bool sharded = spec.algorithm == CollectiveAlgorithm::ShardedParameterServer;
    const int workers = static_cast<int>(spec.bytes.size());
    return std::make_unique<ServerCollective>(spec,
                                              sharded ? spec.servers : 1,
                                              sharded ? spec.window : workers,
                                              tagBase,
                                              std::move(done));
}

void MeterServer(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    for (size_t w = 0; w < spec.bytes.size(); ++w)
    {
        traffic.sent[w] += spec.bytes[w];
        traffic.received[w] += spec.pullBytes;
    }
}

} // namespace legacy::fabric
