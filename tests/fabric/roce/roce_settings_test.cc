// The text of roce: defaults, what it sets in a transport, and what is refused with its reason.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "ns3-module/fabric/engine/transport.h"
#include "ns3-module/fabric/roce/buffers.h"
#include "ns3-module/fabric/roce/roce-settings.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric {
namespace {

TEST(RoceSettings, FramesHaveTheirRealBytes) {
  const Transport roce = MakeTransport("roce");
  EXPECT_EQ(roce.preset, "roce");
  EXPECT_EQ(roce.FrameBytes(), 4096 + 82);
  EXPECT_EQ(roce.FirstFrameBytes(), 4096 + 98);
  EXPECT_EQ(roce.WireBytes(0), 0);
  EXPECT_EQ(roce.WireBytes(1), 4 + 98);  // padded to 4
  EXPECT_EQ(roce.WireBytes(8193), 8196 + 98 + 2 * 82);
  EXPECT_EQ(roce.AckWireBytes(17 * 4096), 2 * 86);
  EXPECT_EQ(MakeTransport("roce:mtu=1024,vlan=on").FrameBytes(), 1024 + 86);
  EXPECT_EQ(MakeTransport("roce:cc=hpcc").segmentsPerAck, 1);
  EXPECT_EQ(MakeTransport("roce:cc=none,window=bdp").segmentsPerAck, 1);
  EXPECT_EQ(MakeTransport("roce:mtu=1000,header=36,message-header=0,ack-bytes=48").WireBytes(3000),
            3 * 1036);
}

// Without pauses only what was lost is sent again, within a window.
TEST(RoceSettings, RecoveryFollowsPfc) {
  const auto read = [](const std::string& text) { return *MakeTransport(text).roce; };
  EXPECT_EQ(read("roce").recovery, RoceRecovery::GoBackN);
  EXPECT_FALSE(read("roce").windowIsBdp);
  EXPECT_EQ(read("roce:pfc=off").recovery, RoceRecovery::Selective);
  EXPECT_TRUE(read("roce:pfc=off").windowIsBdp);
  EXPECT_EQ(read("roce:pfc=off").framesPerAck, 1);
  EXPECT_EQ(read("roce:pfc=off,recovery=go-back-n").recovery, RoceRecovery::GoBackN);
  EXPECT_EQ(read("roce:recovery=selective,window=1MB").windowBytes, 1'000'000);
}

// 2 bytes, and 8 of each switch, in frames and in the ACKs that answer them.
TEST(RoceSettings, TelemetryOfHpccGrowsWithThePath) {
  const Transport hpcc = MakeTransport("roce:cc=hpcc:eta=0.9");
  EXPECT_EQ(hpcc.utilisation, 0.9);
  EXPECT_EQ(hpcc.FrameBytes(3), 4096 + 82 + 26);
  EXPECT_EQ(hpcc.WireBytes(4097, 3), 4100 + 16 + 2 * (82 + 26));
  EXPECT_EQ(hpcc.WireBytes(0, 3), 0);
  EXPECT_EQ(hpcc.AckWireBytes(4097, 3), 2 * (86 + 26));
  EXPECT_EQ(hpcc.AckRatio(3), (86.0 + 26) / (4096 + 82 + 26));
  EXPECT_EQ(hpcc.StreamedBytes(900), 1000);
  for (const char* other : {"roce", "roce:cc=swift", "datacenter"}) {
    const Transport transport = MakeTransport(other);
    EXPECT_EQ(transport.WireBytes(10'000, 5), transport.WireBytes(10'000)) << other;
    EXPECT_EQ(transport.AckWireBytes(10'000, 5), transport.AckWireBytes(10'000)) << other;
    EXPECT_EQ(transport.StreamedBytes(900), 900) << other;
  }
}

TEST(RoceSettings, EverySettingIsInTheFingerprint) {
  std::set<std::string> all;
  const std::set<std::string> texts = {"roce",
                                       "roce:cc=none",
                                       "roce:cc=dcqcn:parameters=mellanox",
                                       "roce:pfc=off",
                                       "roce:pfc=off,recovery=go-back-n",
                                       "roce:pfc=off,reorder=10",
                                       "roce:recovery=selective",
                                       "roce:qps=2",
                                       "roce:priority=4",
                                       "roce:marking=random",
                                       "roce:base-rtt=fabric",
                                       "roce:mtu=1024",
                                       "roce:ack=8",
                                       "roce:ack-priority=off",
                                       "roce:window=bdp",
                                       "roce:window=1MB",
                                       "roce:buffer=2MiB",
                                       "roce:alpha=1",
                                       "roce:alpha-by-rate=off",
                                       "roce:pfc=off,egress-alpha=2",
                                       "roce:headroom=100KB",
                                       "roce:xon=3KB",
                                       "roce:quanta=100",
                                       "roce:pfc-response=1us",
                                       "roce:pfc-drops=allow",
                                       "roce:ecn=5KB/200KB/0.01@40Gbps",
                                       "roce:mark-at=enqueue",
                                       "roce:rto=2ms",
                                       "roce:retries=3",
                                       "roce:switch-delay=1us",
                                       "roce:header=36",
                                       "roce:message-header=0",
                                       "roce:ack-bytes=48",
                                       "roce:vlan=on",
                                       "roce:watchdog=1ms",
                                       "roce:storm=host=1+from=1ms+for=1ms",
                                       "roce:train=8",
                                       "roce:idle=keep",
                                       "roce:idle=message"};
  for (const std::string& text : texts) all.insert(MakeTransport(text).Fingerprint());
  EXPECT_EQ(all.size(), texts.size());
  EXPECT_EQ(MakeTransport("roce:mtu=4096").Fingerprint(), MakeTransport("roce").Fingerprint());
}

TEST(RoceSettings, MistakesAreRefusedWithTheirReason) {
  const auto message = [](const std::string& text) {
    return MessageOf([&] { MakeTransport(text, "--transport"); });
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(message(text).find(part), std::string::npos) << text << ": " << message(text);
  };
  expect("roce:mut=1024", "unknown key of roce: got 'mut'");
  expect("roce:mut=1024", "did you mean mtu?");
  expect("roce:", "'' is not key=value");
  expect("roce:cc=nine", "did you mean none?");
  expect("roce:cc=hpcc:eta=2",
         "--transport: cc: hpcc: eta: got '2'; allowed: a number from 0.1 to 1");
  expect("roce:mtu=0", "from 64 to 9000");
  expect("roce:mtu=9001", "from 64 to 9000");
  expect("roce:alpha=0", "from 0.001 to 64");
  expect("roce:pfc=yes", "on, off");
  expect("roce:cc=hpcc,ack=2", "1: hpcc reads each frame's ACK");
  expect("roce:cc=dcqcn,ecn=off", "marks: dcqcn reacts to them alone");
  expect("roce:ecn=4KB/2KB/0.1@25Gbps", "at most kmax");
  expect("roce:ecn=1KB/2KB/0@25Gbps", "pmax");
  expect("roce:ecn=1KB/2KB/1.5@25Gbps", "pmax");
  expect("roce:pfc=off,watchdog=1ms", "nothing with pfc=off");
  expect("roce:egress-alpha=2", "nothing with pfc=on");
  expect("roce:header=10", "header: got '10'; allowed: an integer from 20 to 1000");
  expect("roce:rto=0s", "auto, a time above 0");
  expect("roce:storm=host=1", "for=TIME above 0");
  expect("roce:window=10", "off, or 4178 bytes or more");
  expect("roce:recovry=selective", "did you mean recovery?");
  expect("roce:recovery=irn", "auto, go-back-n, selective");
  expect("roce:pfc=off,window=off", "has bits for frames of a window");
  expect("roce:reorder=5", "nothing with recovery=go-back-n");
  expect("roce:pfc=off,reorder=0", "from 1 to 1048576");
  expect("roce:priority=8", "from 0 to 7");
  expect("roce:priority=6", "the class of ACKs and CNPs");
  EXPECT_EQ(message("roce:priority=6,ack-priority=off"), "");
  expect("roce:qps=0", "from 1 to 1024");
  expect("roce:train=0", "from 1 to 64");
  expect("roce:train=17", "1 to 16, the frames of an ACK (ack=16)");
  expect("roce:train=8,ack=4", "1 to 4, the frames of an ACK (ack=4)");
  expect("roce:train=8,window=bdp", "1 to 1, the frames of an ACK (ack=1)");
  expect("roce:train=2,cc=hpcc", "1: hpcc reads each frame's ACK");
  expect("roce:train=2,cc=swift", "1: swift reads each frame's ACK");
  expect("roce:train=2,cc=timely", "1: timely reads each frame's ACK");
  expect("roce:train=2,pfc=off", "1 with pfc=off, where switches drop single frames");
  expect("roce:train=2,recovery=selective,ack=8", "1 with recovery=selective");
  EXPECT_EQ(message("roce:train=16,window=bdp,ack=16"), "");
  expect("roce:marking=red", "hash, random");
  expect("roce:base-rtt=min", "pair, fabric");
  expect("rocet", "datacenter, wan, ns3:datacenter, ns3:wan, roce");
  expect("wan,roce", "datacenter, wan, ns3:datacenter, ns3:wan, roce");
  expect("wan:cc=dcqcn", "unknown key of wan: got 'cc'; allowed: train");
  expect("roce:wan", "'wan' is not key=value");
}

// Any text is accepted, or refused by an Error; an accepted one has one fingerprint.
TEST(RoceSettings, AnyTextIsTakenOrRefused) {
  const std::vector<std::string> parts = {"roce",
                                          ":",
                                          ",",
                                          "=",
                                          "+",
                                          "cc",
                                          "pfc",
                                          "mtu",
                                          "ecn",
                                          "storm",
                                          "rto",
                                          "buffer",
                                          "window",
                                          "on",
                                          "off",
                                          "auto",
                                          "bdp",
                                          "hpcc",
                                          "dcqcn",
                                          "none",
                                          "eta",
                                          "0.9",
                                          "-1",
                                          "1e300",
                                          "nan",
                                          "4096",
                                          "100KB/400KB/0.2@25Gbps",
                                          "host=1",
                                          "for=1ms",
                                          "1us",
                                          "99999999999999999999",
                                          " ",
                                          "@",
                                          "/"};
  int taken = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    std::string text = "roce:";
    const uint64_t count = 1 + HashWords({seed}) % 12;
    for (uint64_t i = 0; i < count; ++i) {
      text += parts[HashWords({seed, i + 1}) % parts.size()];
      if (i % 4 == 0) text += "=";
      if (i % 4 == 1) text += i + 1 < count ? "," : "";
    }
    try {
      const Transport transport = MakeTransport(text);
      EXPECT_EQ(transport.Fingerprint(), MakeTransport(text).Fingerprint());
      ++taken;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()), "") << text;
    }
  }
  EXPECT_GT(taken, 10);
}

TEST(RoceSettings, OptionsOfTcpAreRefusedBesideIt) {
  const auto message = [](const std::function<void(Transport&)>& change) {
    Transport transport = MakeTransport("roce");
    change(transport);
    return MessageOf([&] { transport.CheckOptions(); });
  };
  EXPECT_EQ(message([](Transport&) {}), "");
  EXPECT_EQ(message([](Transport& t) { t.congestionControl = "cubic"; }),
            "congestion control: got 'cubic'; allowed: nothing beside roce: it is roce:cc=");
  EXPECT_NE(message([](Transport& t) { t.connections = ConnectionKind::Tls; }).find("tls"),
            std::string::npos);
  EXPECT_NE(message([](Transport& t) { t.streams = 2; }).find("streams"), std::string::npos);
  EXPECT_NE(message([](Transport& t) {
              t.attributes["ns3::TcpSocket::SegmentSize"] = "1";
            }).find("ns3::TcpSocket::SegmentSize"),
            std::string::npos);
  EXPECT_EQ(MessageOf([] { MakeTransport("roce").SetMtu(9000); }),
            "MTU: got '9000'; allowed: nothing beside roce, whose frames are those of roce:mtu=");
}

TEST(RoceSettings, TheHandbookHasEveryOption) {
  std::ifstream in(LEGACY_SOURCE_DIR "/docs/roce.md");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  for (const RoceOption& option : RoceOptions()) {
    const std::string row = "| `" + option.name + "` | " + option.fallback + " | " +
                            option.allowed + " | " + option.help + " |\n";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(RoceSettings, TopologiesAreChecked) {
  Topology topology;
  topology.AddHost("a");
  topology.AddHost("b");
  Port port{1'000'000'000};
  port.queueBytes = 1000;
  topology.AddLink({0, 1, 1000, port});
  const auto check = [&](const std::string& text) {
    return MessageOf([&] { CheckRoce(topology, *MakeTransport(text).roce); });
  };
  EXPECT_NE(check("roce").find("queue of a>b: got '1000 bytes'"), std::string::npos);
  EXPECT_EQ(check("roce:pfc=off"), "");
  for (const std::string host : {"2", "c", "-1", "1x", ""}) {
    EXPECT_EQ(check("roce:pfc=off,storm=host=" + host + "+for=1ms"),
              "roce: storm: host: got '" + host +
                  "'; allowed: a host's number from 0 to 1, or its name, such as a");
  }
  EXPECT_EQ(check("roce:pfc=off,storm=host=b+for=1ms"), "");
  // A link that loses everything carries nothing at any fidelity.
  EXPECT_EQ(
      MessageOf([&] { topology.WithLinks([](int, Link& link) { link.ports[0].errorRate = 1; }); }),
      "error rate of link 0-1: got '1.000000'; allowed: 0 to below 1");
  topology.SetMultipath(Multipath::Spray);
  EXPECT_NE(check("roce:pfc=off,recovery=go-back-n").find("go-back-n"), std::string::npos);
  EXPECT_EQ(check("roce:pfc=off"), "");
}

}  // namespace
}  // namespace legacy::fabric
