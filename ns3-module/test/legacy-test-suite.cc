/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "base/error.h"
#include "fabric/import/make.h"
#include "helper/attribute-check.h"
#include "helper/legacy-helper.h"
#include "model/ecmp-routing.h"
#include "model/packet-network.h"

#include "ns3/double.h"
#include "ns3/error-model.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv4.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace ns3;
using namespace legacy::packet;
namespace fabric = legacy::fabric;

namespace
{

fabric::Topology MakeTopology(const std::string& text, int hosts)
{
    fabric::TopologyRequest request;
    request.text = text;
    request.hostsNeeded = hosts;
    return fabric::MakeTopology(request);
}

/// A graph that sends given flows at its start.
class Burst : public fabric::FlowGraph
{
  public:
    explicit Burst(std::vector<fabric::Flow> flows) : m_flows(std::move(flows))
    {
    }

    void OnStart(fabric::FlowSink& sink) override
    {
        for (const fabric::Flow& flow : m_flows)
        {
            sink.Send(flow);
        }
    }

    void OnDelivered(const fabric::Flow&, fabric::FlowSink&) override
    {
        ++m_delivered;
    }

    void OnWake(uint64_t, fabric::FlowSink&) override
    {
    }

    bool Done() const override
    {
        return m_delivered == m_flows.size();
    }

  private:
    std::vector<fabric::Flow> m_flows; //!< flows to send
    std::size_t m_delivered{0};        //!< number of flows that arrived
};

} // namespace

/**
 * \ingroup legacy
 * Checks that every hop between every pair of hosts is the topology's, and that all links are used.
 */
class EcmpRouteTestCase : public TestCase
{
  public:
    EcmpRouteTestCase() : TestCase("next hops are those of the topology")
    {
    }

  private:
    void DoRun() override
    {
        const fabric::Topology topology = MakeTopology("fat-tree:k=4", 16);
        const fabric::Transport transport = fabric::MakeTransport("datacenter");
        Ptr<PacketNetwork> network = CreateObject<PacketNetwork>();
        network->Build(&topology, topology.Hosts(), transport);
        std::set<fabric::DirectedLink> used;
        for (int source : topology.Hosts())
        {
            for (int destination : topology.Hosts())
            {
                if (source != destination)
                {
                    Walk(topology, network, source, destination, &used);
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(
            used.size(), 2 * topology.Links().size(), "some links are never used");
        Simulator::Destroy();
    }

    /**
     * Follows the routing protocols of the nodes on a path.
     * \param topology expected routes
     * \param network nodes
     * \param source host
     * \param destination host
     * \param used gets the links on the way
     */
    void Walk(const fabric::Topology& topology,
              Ptr<PacketNetwork> network,
              int source,
              int destination,
              std::set<fabric::DirectedLink>* used)
    {
        Ipv4Header header;
        header.SetSource(EcmpRouting::AddressOf(source));
        header.SetDestination(EcmpRouting::AddressOf(destination));
        Ptr<NetDevice> device;
        for (fabric::DirectedLink link : topology.Route(source, destination, 0))
        {
            const int node = topology.From(link);
            Ptr<Ipv4RoutingProtocol> routing =
                network->GetNode(node)->GetObject<Ipv4>()->GetRoutingProtocol();
            Socket::SocketErrno error = Socket::ERROR_NOTERROR;
            Ptr<Ipv4Route> route;
            if (node == source)
            {
                route = routing->RouteOutput(nullptr, header, nullptr, error);
            }
            else
            {
                auto take = [&route](Ptr<Ipv4Route> found, Ptr<const Packet>, const Ipv4Header&)
                { route = found; };
                routing->RouteInput(Create<Packet>(),
                                    header,
                                    device,
                                    Ipv4RoutingProtocol::UnicastForwardCallback(take),
                                    Ipv4RoutingProtocol::MulticastForwardCallback(),
                                    Ipv4RoutingProtocol::LocalDeliverCallback(),
                                    Ipv4RoutingProtocol::ErrorCallback());
            }
            NS_TEST_ASSERT_MSG_NE(route, nullptr, "no route at node " << node);
            NS_TEST_EXPECT_MSG_EQ(route->GetOutputDevice(),
                                  network->GetDevice(link),
                                  "another link at node " << node);
            used->insert(link);
        }
    }
};

/**
 * \ingroup legacy
 * Checks that trace sources report each flow's start and arrival.
 */
class TraceTestCase : public TestCase
{
  public:
    TraceTestCase() : TestCase("trace sources FlowStart and FlowDelivered")
    {
    }

  private:
    void OnStart(const fabric::Flow& flow, Time when)
    {
        m_started += flow.bytes;
        m_start = when;
    }

    void OnDelivered(const fabric::Flow& flow, Time when)
    {
        m_delivered += flow.bytes;
        NS_TEST_EXPECT_MSG_GT(when, m_start, "arrived before it left");
    }

    void DoRun() override
    {
        const fabric::Topology topology = MakeTopology("star", 3);
        const fabric::Placement placement = fabric::MakePlacement({"packed", 3}, topology);
        LegacyHelper helper(fabric::MakeTransport("ns3:wan"));
        Ptr<PacketEngine> engine = helper.Install(&topology, &placement);
        engine->TraceConnectWithoutContext("FlowStart",
                                           MakeCallback(&TraceTestCase::OnStart, this));
        engine->TraceConnectWithoutContext("FlowDelivered",
                                           MakeCallback(&TraceTestCase::OnDelivered, this));
        Ptr<FlowMonitor> monitor = helper.InstallFlowMonitor(engine, topology);
        Burst burst({{0, 1, 10000, 0}, {2, 1, 20000, 1}});
        engine->Submit(burst, 1000);
        NS_TEST_ASSERT_MSG_EQ(engine->RunUntil(legacy::kNever), true, "not all arrived");
        NS_TEST_EXPECT_MSG_EQ(m_started, 30000, "bytes started");
        NS_TEST_EXPECT_MSG_EQ(m_delivered, 30000, "bytes delivered");
        NS_TEST_EXPECT_MSG_EQ(monitor->GetFlowStats().size(), 4, "two flows and their ACKs");
        engine->Dispose();
        Simulator::Destroy();
    }

    int64_t m_started{0};   //!< bytes
    int64_t m_delivered{0}; //!< bytes
    Time m_start;           //!< start of the last flow
};

/**
 * \ingroup legacy
 * Checks a link that loses everything from some time on. Time-outs must be counted, the link must
 * count the lost packets, and the run must end with an error that names the flow and its progress.
 */
class DeadLinkTestCase : public TestCase
{
  public:
    DeadLinkTestCase() : TestCase("a dead link ends the run and names the blocked flow")
    {
    }

  private:
    void DoRun() override
    {
        const fabric::Topology topology = MakeTopology("star", 2);
        const fabric::Placement placement = fabric::MakePlacement({"packed", 2}, topology);
        LegacyHelper helper(fabric::MakeTransport("ns3:datacenter"));
        Ptr<PacketEngine> engine = helper.Install(&topology, &placement);
        const fabric::DirectedLink link =
            topology.Route(placement.hosts[0], placement.hosts[1], 0).back();
        Simulator::Schedule(MilliSeconds(1),
                            [&]
                            {
                                Ptr<RateErrorModel> loss = CreateObject<RateErrorModel>();
                                loss->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
                                loss->SetRate(1.0);
                                loss->AssignStreams(1);
                                engine->GetNetwork()->GetDevice(link ^ 1)->SetReceiveErrorModel(
                                    loss);
                            });
        Burst burst({{0, 1, 1000000, 0}});
        engine->Submit(burst, 0);
        std::string message;
        try
        {
            engine->RunUntil(legacy::kNever);
        }
        catch (const legacy::Error& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(message.find("endpoint 0 to 1: "), std::string::npos, message);
        NS_TEST_EXPECT_MSG_NE(message.find(" of 1000000 bytes"), std::string::npos, message);
        NS_TEST_EXPECT_MSG_EQ(message.find(" 0 of 1000000"), std::string::npos, message);
        NS_TEST_EXPECT_MSG_GT(engine->GetCounters().retransmitTimeouts, 3, "time-outs");
        NS_TEST_EXPECT_MSG_GT(engine->GetNetwork()->GetCounters()[link].drops, 3, "losses");
        engine->Dispose();
        Simulator::Destroy();
    }
};

/**
 * \ingroup legacy
 * Checks the names that are suggested for a misspelt one.
 */
class SuggestTestCase : public TestCase
{
  public:
    SuggestTestCase() : TestCase("suggestions for misspelt names")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::string> known{
            "SegmentSize", "SndBufSize", "RcvBufSize", "DelAckCount"};
        const std::vector<std::string> near = SuggestNames("SndBufSise", known);
        NS_TEST_ASSERT_MSG_EQ(near.size(), 1, "SndBufSize alone is near");
        NS_TEST_EXPECT_MSG_EQ(near[0], "SndBufSize", "nearest");
        NS_TEST_EXPECT_MSG_EQ(SuggestNames("Colour", known).empty(), true, "nothing is near");
    }
};

/**
 * \ingroup legacy
 * Tests of routing.
 */
class EcmpRoutingTestSuite : public TestSuite
{
  public:
    EcmpRoutingTestSuite() : TestSuite("legacy-ecmp-routing", TestSuite::Type::UNIT)
    {
        AddTestCase(new EcmpRouteTestCase);
    }
};

/**
 * \ingroup legacy
 * Tests of flows, traces and failures.
 */
class PacketEngineTestSuite : public TestSuite
{
  public:
    PacketEngineTestSuite() : TestSuite("legacy-packet-engine", TestSuite::Type::UNIT)
    {
        AddTestCase(new TraceTestCase);
        AddTestCase(new DeadLinkTestCase);
        AddTestCase(new SuggestTestCase);
    }
};

static EcmpRoutingTestSuite g_ecmpRoutingTestSuite;   //!< registers itself
static PacketEngineTestSuite g_packetEngineTestSuite; //!< registers itself
