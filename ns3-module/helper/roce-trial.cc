/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-trial.h"

#include "simulator-lease.h"

#include "base/error.h"
#include "base/hash.h"
#include "fabric/roce/buffers.h"
#include "model/packet-engine.h"
#include "model/roce/roce-carrier.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <array>

namespace legacy
{
namespace fabric
{

namespace
{

/// A TimedFlows sends flows at given times, and records when they have arrived.
class TimedFlows : public FlowGraph
{
  public:
    void Add(const Flow& flow, TimeNs start)
    {
        m_flows.push_back(flow);
        m_flows.back().tag = m_flows.size() - 1;
        m_starts.push_back(start);
        arrived.push_back(-1);
    }

    void OnStart(FlowSink& sink) override
    {
        for (const Flow& flow : m_flows)
        {
            if (m_starts[flow.tag] == 0)
            {
                sink.Send(flow);
            }
            else
            {
                sink.Wake(m_starts[flow.tag], flow.tag);
            }
        }
    }

    void OnWake(uint64_t token, FlowSink& sink) override
    {
        sink.Send(m_flows[token]);
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        arrived[flow.tag] = sink.Now();
        ++m_count;
    }

    bool Done() const override
    {
        return m_count == m_flows.size();
    }

    std::vector<TimeNs> arrived;

  private:
    std::vector<Flow> m_flows;
    std::vector<TimeNs> m_starts;
    std::size_t m_count{0};
};

} // namespace

struct RoceTrial::Impl
{
    Impl(const Topology& given, const std::string& text)
        : topology(given),
          placement(MakePlacement({"packed", static_cast<int>(topology.Hosts().size())}, topology)),
          transport(MakeTransport(text))
    {
        if (!transport.roce)
        {
            throw Error("transport", text, "roce, or roce:key=value,...");
        }
    }

    const packet::SimulatorLease lease{true};
    const Topology topology;
    const Placement placement;
    const fabric::Transport transport;
    ns3::Ptr<packet::PacketEngine> engine{ns3::CreateObject<packet::PacketEngine>()};
    packet::RoceCarrier* carrier{nullptr};
    TimedFlows flows;
    bool submitted{false};
};

RoceTrial::RoceTrial(const Topology& topology, const std::string& transport, uint64_t seed)
    : m_impl(std::make_unique<Impl>(topology, transport))
{
    Impl& trial = *m_impl;
    trial.engine->Build(&trial.topology,
                        &trial.placement,
                        trial.transport,
                        [&](packet::CarrierListener* listener)
                        {
                            auto carrier = std::make_unique<packet::RoceCarrier>(
                                &trial.topology, *trial.transport.roce, seed, 0, listener);
                            trial.carrier = carrier.get();
                            return carrier;
                        });
}

RoceTrial::~RoceTrial()
{
    m_impl->engine->Dispose();
}

void RoceTrial::Send(const Flow& flow, TimeNs start)
{
    m_impl->flows.Add(flow, start);
}

bool RoceTrial::RunUntil(TimeNs until)
{
    if (!m_impl->submitted)
    {
        m_impl->submitted = true;
        m_impl->engine->Submit(m_impl->flows, packet::PacketEngine::Now());
    }
    return m_impl->engine->RunUntil(until);
}

void RoceTrial::Drain(TimeNs time)
{
    ns3::Simulator::Stop(ns3::NanoSeconds(time));
    ns3::Simulator::Run();
}

const std::vector<TimeNs>& RoceTrial::Arrived() const
{
    return m_impl->flows.arrived;
}

TimeNs RoceTrial::Last() const
{
    return *std::max_element(Arrived().begin(), Arrived().end());
}

const Transport& RoceTrial::GetTransport() const
{
    return m_impl->transport;
}

EngineCounters RoceTrial::Counters() const
{
    return m_impl->engine->GetCounters();
}

std::vector<LinkCounters> RoceTrial::Links() const
{
    return m_impl->engine->GetLinks();
}

std::vector<LinkActivity> RoceTrial::Activity() const
{
    return m_impl->carrier->GetActivity();
}

int64_t RoceTrial::Sum(int64_t LinkCounters::*counter) const
{
    int64_t sum = 0;
    for (const LinkCounters& link : Links())
    {
        sum += link.*counter;
    }
    return sum;
}

DirectedLink RoceTrial::Link(const std::string& name) const
{
    const auto links = static_cast<DirectedLink>(2 * m_impl->topology.Links().size());
    for (DirectedLink link = 0; link < links; ++link)
    {
        if (m_impl->topology.LinkName(link) == name)
        {
            return link;
        }
    }
    throw Error("directed link", name, "one of the topology");
}

RoceTrial::Balance RoceTrial::GetBalance() const
{
    packet::RoceNetwork& ports = m_impl->carrier->GetPorts();
    Balance balance;
    balance.frames = static_cast<int64_t>(ports.Frames().InUse());
    balance.buffered = ports.GetBuffered();
    const auto [begun, resumed, expired] = ports.GetPauses();
    balance.pauses = begun;
    balance.resumed = resumed;
    balance.expired = expired;
    return balance;
}

Topology RoceStar(int hosts, int64_t rate, TimeNs delay)
{
    Topology topology;
    topology.SetName("star");
    for (int host = 0; host < hosts; ++host)
    {
        topology.AddHost("host" + std::to_string(host));
    }
    const int middle = topology.AddSwitch("switch");
    for (int host = 0; host < hosts; ++host)
    {
        topology.AddLink({host, middle, delay, Port{rate}});
    }
    return topology;
}

Topology RoceTrunk(int left, int right, int64_t rate, int64_t trunk, TimeNs delay)
{
    Topology topology;
    topology.SetName("trunk");
    for (int host = 0; host < left + right; ++host)
    {
        topology.AddHost("h" + std::to_string(host));
    }
    const int near = topology.AddSwitch("left");
    const int far = topology.AddSwitch("right");
    for (int host = 0; host < left + right; ++host)
    {
        topology.AddLink({host, host < left ? near : far, delay, Port{rate}});
    }
    topology.AddLink({near, far, delay, Port{trunk}});
    return topology;
}

RandomRoceCase::RandomRoceCase(uint64_t seed)
{
    uint64_t draws = 0;
    Make(
        [&](uint64_t least, uint64_t most) {
            return least + Reduce(HashWords({seed, draws++}), most - least + 1);
        });
}

RandomRoceCase::RandomRoceCase(const Draw& draw)
{
    Make(draw);
}

void RandomRoceCase::Make(const Draw& draw)
{
    constexpr int64_t kGbps = 1'000'000'000;
    constexpr std::array<int64_t, 5> kRates = {1, 10, 25, 100, 400};
    constexpr std::array<TimeNs, 5> kDelays = {0, 1, 100, 1'000, 10'000};
    const auto hosts = static_cast<int>(draw(2, 6));
    const auto switches = static_cast<int>(draw(1, 2));
    for (int host = 0; host < hosts; ++host)
    {
        topology.AddHost("h" + std::to_string(host));
    }
    for (int one = 0; one < switches; ++one)
    {
        topology.AddSwitch("s" + std::to_string(one));
    }
    const auto link = [&](int a, int b)
    {
        const TimeNs delay = kDelays[draw(0, kDelays.size() - 1)];
        topology.AddLink({a, b, delay, Port{kRates[draw(0, kRates.size() - 1)] * kGbps}});
    };
    for (int host = 0; host < hosts; ++host)
    {
        link(host, hosts + static_cast<int>(draw(0, switches - 1)));
    }
    if (switches == 2)
    {
        link(hosts, hosts + 1);
    }
    mtu = std::array{256, 1024, 4096}[draw(0, 2)];
    const auto target = static_cast<int>(draw(0, hosts - 1));
    for (int host = 0; host < hosts; ++host)
    {
        if (host == target)
        {
            continue;
        }
        flows.push_back({host, target, static_cast<int64_t>(draw(1, 200)) * mtu});
        if (draw(0, 1) == 1)
        {
            flows.push_back({target, host, static_cast<int64_t>(draw(1, 50'000))});
        }
    }
    alpha = std::array{"0.0625", "0.125", "1", "8"}[draw(0, 3)];
    extra = static_cast<int64_t>(draw(1, 200'000));
}

std::string RandomRoceCase::Transport(int64_t lessHeadroom, const std::string& options) const
{
    const std::string base = "roce:mtu=" + std::to_string(mtu) + ",alpha=" + alpha + "," +
                             (options.empty() ? "cc=none,ecn=off,rto=1s" : options);
    const RoceSettings settings = RoceSettings::Parse(base, "random case");
    int64_t needed = 0;
    int64_t headroom = 0;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        if (topology.IsHost(node))
        {
            continue;
        }
        int64_t sum = 0;
        for (const DirectedLink out : topology.Out(node))
        {
            const int64_t one = HeadroomOf(topology, out ^ 1, settings);
            headroom = std::max(headroom, one);
            sum += one + kRoceClasses * RoceSettings::kReserveBytes;
        }
        needed = std::max(needed, sum);
    }
    std::string text = base + ",buffer=" + std::to_string(needed + extra);
    if (lessHeadroom > 0)
    {
        text += ",pfc-drops=allow,headroom=" +
                std::to_string(std::max<int64_t>(1, headroom - lessHeadroom));
    }
    return text;
}

} // namespace fabric
} // namespace legacy
