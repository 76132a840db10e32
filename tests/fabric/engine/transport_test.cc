#include "ns3-module/fabric/engine/transport.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ns3-module/fabric/engine/flow-path.h"
#include "ns3-module/fabric/tcp/controls.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::transport_test {
namespace {

// One link of 1 Gbit/s with 50 ms and loss p: limits in segments a round trip.
double SegmentsOf(const std::string& congestion, double p) {
  Topology topology;
  topology.AddHost("a");
  topology.AddHost("b");
  Port port;
  port.rateBps = 1'000'000'000;
  port.errorRate = p;
  topology.AddLink(Link(0, 1, 50'000'000, port));
  Transport transport = MakeTransport("wan");
  if (!congestion.empty()) transport.congestionControl = ParseCongestionControl(congestion, "c");
  const FlowPath path = MakeFlowPath(topology, transport, 0, 1);
  return path.limit * path.roundTrip / static_cast<double>(transport.FrameBytes());
}

TEST(Congestion, LimitsOfLossAreThoseOfTheAlgorithm) {
  EXPECT_EQ(SegmentsOf("", 1e-4), SegmentsOf("cubic", 1e-4));  // the preset's
  EXPECT_NEAR(SegmentsOf("reno", 1e-4), 122.47, .01);
  EXPECT_NEAR(SegmentsOf("cubic", 1e-4), 1.054 * std::pow(.1 / 1e-4, .75), .1);
  EXPECT_NEAR(SegmentsOf("cubic", .04), std::sqrt(1.5 / .04), .01);  // never below Reno
  const double pipe = SegmentsOf("", 0);
  EXPECT_NEAR(SegmentsOf("bbr", .01) / pipe, .99, 1e-9);
  EXPECT_NEAR(SegmentsOf("bbr", .2), std::sqrt(1.5 / .2), .01);
  EXPECT_THROW(ParseCongestionControl("vegas", "c"), Error);
}

TEST(Transport, EverySegmentPaysItsHeader) {
  Transport transport;
  EXPECT_EQ(transport.FrameBytes(), 1502);
  EXPECT_EQ(transport.WireBytes(0), 0);
  EXPECT_EQ(transport.WireBytes(1), 1 + 54);
  EXPECT_EQ(transport.WireBytes(1448), 1448 + 54);
  EXPECT_EQ(transport.WireBytes(1449), 1449 + 2 * 54);
  EXPECT_EQ(transport.AckWireBytes(0), 0);
  EXPECT_EQ(transport.AckWireBytes(1449), 2 * 54);
  transport.segmentsPerAck = 2;
  EXPECT_EQ(transport.AckWireBytes(1), 54);
  EXPECT_EQ(transport.AckWireBytes(2 * 1448), 54);
  EXPECT_EQ(transport.AckWireBytes(2 * 1448 + 1), 2 * 54);
}

TEST(Transport, AnMtuSetsTheSegmentForAll) {
  Transport transport;
  EXPECT_EQ(transport.Mtu(), 1500);
  transport.SetMtu(9000);
  EXPECT_EQ(transport.segmentBytes, 8948);
  EXPECT_EQ(transport.Mtu(), 9000);
  EXPECT_EQ(transport.FrameBytes(), 9002);
  EXPECT_EQ(transport.WireBytes(2 * 8948), 2 * 9002);
  EXPECT_EQ(transport.PortMarkBytes(10'000'000'000), 65 * 1502);  // as with shorter frames
  EXPECT_EQ(transport.PortMarkBytes(10'000'000), 20 * 1502);
  transport.SetMtu(65535);
  EXPECT_EQ(transport.PortMarkBytes(10'000'000), 2 * 65537);
  for (const int64_t mtu : {575, 65536, -1}) {
    EXPECT_EQ(MessageOf([&] { transport.SetMtu(mtu); }),
              "MTU: got '" + std::to_string(mtu) + "'; allowed: 576 to 65535 bytes");
  }
  EXPECT_EQ(transport.Mtu(), 65535);
}

TEST(Transport, RulesGiveRoomForThePathUnlessTheUserSays) {
  Transport transport = MakeTransport("wan");
  // 100 Mbit/s and 100 ms keep 1.25 MB in flight.
  EXPECT_EQ(transport.PortQueueBytes(100'000'000, 100'000'000), 1'250'000);
  EXPECT_EQ(transport.SocketBuffer(100'000'000, 100'000'000), 2'500'000);
  EXPECT_EQ(transport.SocketBuffer(100'000'000, 1'000), 1 << 20);
  EXPECT_EQ(transport.PortMarkBytes(1'000'000'000), 20 * 1502);
  EXPECT_EQ(transport.PortMarkBytes(10'000'000'000), 65 * 1502);
  EXPECT_EQ(transport.PortMarkBytes(100'000'000'000), 650 * 1502);
  transport.queueBytes = 1;
  transport.markBytes = 2;
  transport.socketBufferBytes = 3;
  EXPECT_EQ(transport.PortQueueBytes(100'000'000, 100'000'000), 1);
  EXPECT_EQ(transport.PortMarkBytes(100'000'000), 2);
  EXPECT_EQ(transport.SocketBuffer(100'000'000, 100'000'000), 3);
}

TEST(Transport, FingerprintSeesEveryField) {
  std::set<std::string> seen{Transport().Fingerprint(), MakeTransport("wan").Fingerprint()};
  const auto insert = [&](auto change) {
    Transport transport;
    change(transport);
    return seen.insert(transport.Fingerprint()).second;
  };
  EXPECT_TRUE(insert([](Transport& t) { t.congestionControl.push_back('x'); }));
  EXPECT_TRUE(insert([](Transport& t) { t.sockets = true; }));
  EXPECT_TRUE(insert([](Transport& t) { t.train = 8; }));
  EXPECT_TRUE(insert([](Transport& t) { t.ecn = false; }));
  EXPECT_TRUE(insert([](Transport& t) { t.segmentBytes = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.headerBytes = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.ackBytes = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.segmentsPerAck = 3; }));
  EXPECT_TRUE(insert([](Transport& t) { t.initialWindow = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.minRto = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.connectionTimeout = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.delayedAckTimeout = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.socketBufferBytes = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.queueBytes = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.markBytes = 1; }));
  EXPECT_TRUE(insert([](Transport& t) { t.connections = ConnectionKind::Cold; }));
  EXPECT_TRUE(insert([](Transport& t) { t.attributes.emplace("a", "b"); }));
}

TEST(Transport, PresetsByName) {
  EXPECT_EQ(MakeTransport("datacenter").Fingerprint(), Transport().Fingerprint());
  const Transport wan = MakeTransport("wan");
  EXPECT_FALSE(wan.ecn);
  EXPECT_GE(wan.minRto, 200'000'000);
  EXPECT_EQ(MessageOf([] { MakeTransport("lan"); }),
            "transport: got 'lan'; did you mean wan?; allowed: datacenter, wan, ns3:datacenter, "
            "ns3:wan, roce, or roce:key=value,... (RDMA over Ethernet)");
  EXPECT_TRUE(wan.HasFrames());
  const Transport sockets = MakeTransport("ns3:wan");
  EXPECT_FALSE(sockets.HasFrames());
  EXPECT_EQ(sockets.congestionControl, wan.congestionControl);
  const Transport trains = MakeTransport("wan:train=8");
  EXPECT_EQ(trains.train, 8);
  EXPECT_EQ(trains.preset, "wan");
  EXPECT_EQ(MakeTransport("datacenter:train=1").Fingerprint(), Transport().Fingerprint());
  const auto refused = [](const std::string& text) {
    return MessageOf([&] { MakeTransport(text); });
  };
  EXPECT_EQ(refused("datacenter:train=65"),
            "transport: train: got '65'; allowed: an integer from 1 to 64");
  EXPECT_EQ(refused("wan:trains=8"), "transport: unknown key of wan: got 'trains'; allowed: train");
  EXPECT_EQ(refused("ns3:wan:train=8"),
            "transport: train: got '8'; allowed: 1 with ns3:, whose devices send each packet by "
            "itself");
  for (const std::string odd : {"ns3:roce", "ns3:ns3:wan"}) {
    EXPECT_EQ(MessageOf([&] { MakeTransport(odd); }),
              "transport: got '" + odd + "'; allowed: ns3:datacenter, ns3:wan");
  }
}

}  // namespace
}  // namespace legacy::fabric::transport_test