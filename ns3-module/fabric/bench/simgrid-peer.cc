#include "simgrid-peer.h"

#include "processor-time.h"

#include <simgrid/s4u.hpp>

#include <numeric>

namespace legacy::fabric::bench
{

namespace
{

namespace s4u = simgrid::s4u;

/// A Platform represents our fabric in SimGrid: workers are hosts, and directed links are links.
class Platform
{
  public:
    explicit Platform(const Fabric& fabric)
        : m_fabric(fabric),
          m_zone(s4u::create_full_zone("fabric"))
    {
        const Topology& topology = fabric.topology;
        for (int worker = 0; worker < fabric.placement.Workers(); ++worker)
        {
            m_hosts.push_back(m_zone->create_host("worker" + std::to_string(worker), 1e9));
        }
        for (size_t i = 0; i < 2 * topology.Links().size(); ++i)
        {
            const auto link = static_cast<DirectedLink>(i);
            const double bytesPerSecond = static_cast<double>(topology.PortOf(link).rateBps) / 8;
            m_links.push_back(
                m_zone->create_link("link" + std::to_string(i), bytesPerSecond)
                    ->set_latency(static_cast<double>(topology.LinkOf(link).delay) * 1e-9)
                    ->seal());
        }
    }

    void AddRoute(int from, int to)
    {
        const Placement& placement = m_fabric.placement;
        std::vector<s4u::LinkInRoute> links;
        for (DirectedLink link :
             m_fabric.topology.Route(placement.NodeOf(from), placement.NodeOf(to), 0))
        {
            links.emplace_back(m_links[link]);
        }
        m_zone->add_route(m_hosts[from]->get_netpoint(),
                          m_hosts[to]->get_netpoint(),
                          nullptr,
                          nullptr,
                          links,
                          false);
    }

    void Seal()
    {
        m_zone->seal();
    }

    s4u::CommPtr Send(int from, int to, int64_t bytes, void* data) const
    {
        s4u::CommPtr comm = s4u::Comm::sendto_init(m_hosts[from], m_hosts[to]);
        comm->set_payload_size(bytes);
        comm->set_data(data);
        comm->start();
        return comm;
    }

  private:
    const Fabric& m_fabric;
    s4u::NetZone* m_zone;
    std::vector<s4u::Host*> m_hosts;
    std::vector<s4u::Link*> m_links;
};

/// A Ring has the dependencies of a ring. A worker sends the message of round r + 1 when it has
/// received that of round r and its own message of round r has arrived, because messages between
/// two hosts keep their order.
class Ring
{
  public:
    Ring(const Platform& platform, int workers)
        : m_platform(platform),
          m_workers(workers),
          m_rounds(2 * (workers - 1)),
          m_sent(workers, 0),
          m_received(workers, 0),
          m_current(workers),
          m_numbers(workers)
    {
        std::iota(m_numbers.begin(), m_numbers.end(), 0);
    }

    void Start()
    {
        for (int worker = 0; worker < m_workers; ++worker)
        {
            SendIfReady(worker);
        }
    }

    void OnCompletion(int sender)
    {
        const int receiver = (sender + 1) % m_workers;
        ++m_received[receiver];
        SendIfReady(receiver);
        SendIfReady(sender);
    }

  private:
    void SendIfReady(int worker)
    {
        const int next = (worker + 1) % m_workers;
        const int round = m_sent[worker];
        if (round < m_rounds && m_received[worker] >= round && m_received[next] >= round)
        {
            ++m_sent[worker];
            m_current[worker] =
                m_platform.Send(worker, next, kRingBytes / m_workers, &m_numbers[worker]);
        }
    }

    const Platform& m_platform;
    const int m_workers;
    const int m_rounds;
    std::vector<int> m_sent;
    std::vector<int> m_received;
    std::vector<s4u::CommPtr> m_current; ///< communication of each worker, kept alive here
    std::vector<int> m_numbers;          ///< payload of the communications: their senders
};

Measured RunRing(s4u::Engine& engine, Platform& platform, int workers)
{
    for (int worker = 0; worker < workers; ++worker)
    {
        platform.AddRoute(worker, (worker + 1) % workers);
    }
    platform.Seal();
    Ring ring(platform, workers);
    s4u::Comm::on_completion_cb([&ring](const s4u::Activity& activity)
                                { ring.OnCompletion(*activity.get_data<int>()); });
    const double start = ProcessorSeconds();
    ring.Start();
    engine.run();
    return {ProcessorSeconds() - start, s4u::Engine::get_clock()};
}

Measured RunMixed(s4u::Engine& engine, Platform& platform, int workers)
{
    const std::vector<Flow> flows = MixedFlows(workers);
    for (const Flow& flow : flows)
    {
        platform.AddRoute(flow.source, flow.destination);
    }
    platform.Seal();
    std::vector<s4u::CommPtr> alive;
    const double start = ProcessorSeconds();
    for (const Flow& flow : flows)
    {
        alive.push_back(platform.Send(flow.source, flow.destination, flow.bytes, nullptr));
    }
    engine.run();
    return {ProcessorSeconds() - start, s4u::Engine::get_clock()};
}

} // namespace

Measured RunSimGrid(const Case& what)
{
    std::vector<std::string> arguments{"legacy-bench-network",
                                       "--log=xbt_cfg.threshold:warning",
                                       "--cfg=network/model:CM02",
                                       "--cfg=network/crosstraffic:0",
                                       "--cfg=network/TCP-gamma:0",
                                       "--cfg=network/latency-factor:1",
                                       "--cfg=network/bandwidth-factor:1",
                                       "--cfg=network/weight-S:0"};
    std::vector<char*> pointers;
    for (std::string& argument : arguments)
    {
        pointers.push_back(argument.data());
    }
    int count = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
    s4u::Engine engine(&count, pointers.data());
    const Fabric fabric = MakeFabric(what);
    Platform platform(fabric);
    return what.traffic == "ring" ? RunRing(engine, platform, what.workers)
                                  : RunMixed(engine, platform, what.workers);
}

} // namespace legacy::fabric::bench
