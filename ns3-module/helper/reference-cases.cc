/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reference-cases.h"

#include "packet-engine-helper.h"
#include "simulation-scope.h"
#include "simulator-lease.h"

#include "model/ecmp-routing.h"
#include "model/packet-network.h"

#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"
#include "ns3/tcp-socket-factory.h"

#include <algorithm>
#include <cmath>

namespace legacy
{
namespace fabric
{

namespace
{

using ns3::Ptr;
using ns3::Socket;

/// An EndlessStream keeps a connection busy for ever, with messages that are short enough for
/// measuring the goodput.
class EndlessStream : public FlowGraph
{
  public:
    void OnStart(FlowSink& sink) override
    {
        for (int i = 0; i < kWaiting; ++i)
        {
            sink.Send(Flow{0, 1, kMessage, 0});
        }
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        m_delivered += flow.bytes;
        sink.Send(flow);
    }

    void OnWake(uint64_t, FlowSink&) override
    {
    }

    bool Done() const override
    {
        return false;
    }

    int64_t Delivered() const
    {
        return m_delivered;
    }

  private:
    static constexpr int64_t kMessage = 1 << 14;
    static constexpr int kWaiting = 1 << 10; ///< 16 MiB, more than any window here

    int64_t m_delivered = 0; ///< bytes delivered
};

/// A ClosingSender writes its bytes, then closes its socket.
class ClosingSender
{
  public:
    ClosingSender(Ptr<ns3::Node> node, const ns3::InetSocketAddress& to, int64_t bytes)
        : m_socket(Socket::CreateSocket(node, ns3::TcpSocketFactory::GetTypeId())),
          m_left(bytes)
    {
        m_socket->SetSendCallback(ns3::MakeCallback(&ClosingSender::Write, this));
        m_socket->SetCloseCallbacks(ns3::MakeCallback(&ClosingSender::Closed, this),
                                    ns3::MakeNullCallback<void, Ptr<Socket>>());
        ns3::Simulator::ScheduleNow([this, to] { m_socket->Connect(to); });
    }

    double ClosedAt() const
    {
        return m_closed;
    }

  private:
    static constexpr int64_t kLargestWrite = 1040;

    void Write(Ptr<Socket>, uint32_t available)
    {
        while (m_left > 0 && available > 0)
        {
            const auto bytes =
                static_cast<uint32_t>(std::min<int64_t>({m_left, available, kLargestWrite}));
            m_socket->Send(ns3::Create<ns3::Packet>(bytes));
            m_left -= bytes;
            available = m_socket->GetTxAvailable();
            if (m_left == 0)
            {
                m_socket->Close();
            }
        }
    }

    void Closed(Ptr<Socket>)
    {
        m_closed = ns3::Simulator::Now().GetSeconds();
    }

    Ptr<Socket> m_socket; ///< connects, writes, closes
    int64_t m_left;       ///< bytes to write
    double m_closed = -1; ///< seconds at which the socket was closed; -1: it is open
};

void Drain(Ptr<Socket> socket)
{
    while (Ptr<ns3::Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
    }
}

/// Returns a socket that listens on `port`, and reads what arrives until the other side closes.
Ptr<Socket> ListenAndDrain(Ptr<ns3::Node> node, uint16_t port)
{
    Ptr<Socket> listener = Socket::CreateSocket(node, ns3::TcpSocketFactory::GetTypeId());
    listener->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), port));
    listener->Listen();
    listener->SetAcceptCallback(
        ns3::MakeNullCallback<bool, Ptr<Socket>, const ns3::Address&>(),
        ns3::Callback<void, Ptr<Socket>, const ns3::Address&>(
            [](Ptr<Socket> accepted, const ns3::Address&)
            {
                accepted->SetRecvCallback(ns3::MakeCallback(&Drain));
                accepted->SetCloseCallbacks(
                    ns3::Callback<void, Ptr<Socket>>([](Ptr<Socket> socket) { socket->Close(); }),
                    ns3::MakeNullCallback<void, Ptr<Socket>>());
            }));
    return listener;
}

/// A link of SimGrid's platforms, and a transfer over it, with its published time.
struct Published
{
    const char* name;
    int64_t bytesPerSecond;
    TimeNs delay;
    int64_t bytes;
    double seconds;
};

constexpr Published kPublished[] = {
    {"onelink", 10'000, 10'000'000, 10'000, 1.104600},
    {"Tremblay-Jupiter", 41'279'125, 59'904, 100, 0.000249},
    {"Fafard-Ginette", 7'209'750, 1'461'517, 10'000, 0.007323},
};

SimGridResult RunSimGridCase(const Published& reference)
{
    Transport transport = MakeTransport("ns3:wan");
    transport.congestionControl = "ns3::TcpNewReno";
    transport.segmentBytes = 1000;
    transport.segmentsPerAck = 1;
    transport.minRto = 1'000'000'000;
    transport.attributes = {{"ns3::TcpSocketBase::Timestamp", "false"}};
    const packet::SimulatorLease lease(false);
    const packet::SimulationScope scope(transport, 1, 1);
    Topology topology;
    const int from = topology.AddHost("from");
    const int to = topology.AddHost("to");
    topology.AddLink({from, to, reference.delay, {8 * reference.bytesPerSecond}});
    Ptr<packet::PacketNetwork> network = ns3::CreateObject<packet::PacketNetwork>();
    network->Build(&topology, {from, to}, transport);

    constexpr uint16_t kPort = 80;
    const Ptr<Socket> listener = ListenAndDrain(network->GetNode(to), kPort);
    const ns3::InetSocketAddress address(packet::EcmpRouting::AddressOf(to), kPort);
    const ClosingSender sender(network->GetNode(from), address, reference.bytes);
    ns3::Simulator::Run();
    return {reference.name, reference.bytes, reference.seconds, sender.ClosedAt()};
}

} // namespace

std::vector<MathisCase> MathisCases()
{
    std::vector<MathisCase> cases;
    for (TimeNs roundTrip : {TimeNs{50'000'000}, TimeNs{10'000'000}})
    {
        for (double lossRate : {1e-2, 1e-3, 1e-4})
        {
            MathisCase one;
            one.lossRate = lossRate;
            one.roundTrip = roundTrip;
            cases.push_back(one);
        }
    }
    return cases;
}

MathisResult RunMathisCase(const MathisCase& reference)
{
    Topology topology;
    const int from = topology.AddHost("from");
    const int to = topology.AddHost("to");
    Port both;
    both.rateBps = reference.rateBps;
    both.errorRate = reference.lossRate;
    topology.AddLink(Link(from, to, reference.roundTrip / 2, both));
    Placement placement;
    placement.hosts = {from, to};
    EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = MakeTransport("ns3:wan");
    request.transport.congestionControl = "ns3::TcpNewReno";
    request.transport.segmentsPerAck = 1; // this is b in the formula
    request.seed = reference.seed;

    const std::unique_ptr<Engine> engine = MakePacketEngine(request);
    EndlessStream stream;
    engine->Submit(stream, 0);
    engine->RunUntil(reference.warmUp);
    const int64_t before = stream.Delivered();
    engine->RunUntil(reference.warmUp + reference.duration);
    MathisResult result{reference.lossRate, reference.roundTrip};
    result.goodputBps = static_cast<double>(stream.Delivered() - before) * 8e9 /
                        static_cast<double>(reference.duration);
    result.formulaBps = request.transport.segmentBytes * 8e9 /
                        static_cast<double>(reference.roundTrip) *
                        std::sqrt(1.5 / reference.lossRate);
    return result;
}

std::vector<SimGridResult> RunSimGridCases()
{
    std::vector<SimGridResult> results;
    for (const Published& reference : kPublished)
    {
        results.push_back(RunSimGridCase(reference));
    }
    return results;
}

} // namespace fabric
} // namespace legacy
