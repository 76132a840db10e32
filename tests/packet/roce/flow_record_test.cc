// The record of a flow over RoCEv2: its rate, its CNPs, and the pauses that held it up.
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::flow_record_test {
namespace {

constexpr int64_t kGbps = 1'000'000'000;

// Hosts 0 to 6 at 100 Gbit/s: 0 to 4 and 6 at one switch, 5 and 7 at another, and a link of 400
// Gbit/s between them.
fabric::Topology TwoSwitches() {
  fabric::Topology topology;
  for (int h = 0; h < 8; ++h) topology.AddHost("host" + std::to_string(h));
  const int near = topology.AddSwitch("near");
  const int far = topology.AddSwitch("far");
  for (int h = 0; h < 8; ++h) {
    topology.AddLink({h, h == 5 || h == 7 ? far : near, 1'000, fabric::Port{100 * kGbps}});
  }
  topology.AddLink({near, far, 1'000, fabric::Port{400 * kGbps}});
  return topology;
}

std::string RootOf(const RoceRun& run, const fabric::RoceFlow& flow) {
  return flow.pauseRoot < 0 ? "" : run.topology().LinkName(flow.pauseRoot);
}

// Five hosts send to host 5, and host 6 to host 7 over the same link between the switches.
const std::vector<fabric::Flow> kIncast = {{0, 5, 2'000'000}, {1, 5, 2'000'000}, {2, 5, 2'000'000},
                                           {3, 5, 2'000'000}, {4, 5, 2'000'000}, {6, 7, 2'000'000}};

TEST(RoceFlow, AVictimWaitsBehindPausesThatOthersCause) {
  RoceRun run(TwoSwitches(), "roce:cc=none,ecn=off,buffer=1MiB");
  const std::vector<fabric::RoceFlow> flows = run.Records(kIncast);
  ASSERT_EQ(flows.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(flows[i].victim, i == 5) << i;
    EXPECT_EQ(RootOf(run, flows[i]), "far>host5") << i;
    EXPECT_GT(flows[i].paused, 100'000) << i;
    EXPECT_EQ(flows[i].rateAtEnd, 100e9);
    EXPECT_EQ(flows[i].cnps + flows[i].resent, 0u);
  }
  // The incast takes 5 x 164 us of the last link. The victim needs 164 us, and is held up by about
  // as much as it is late.
  const double alone = Nanoseconds(2'000'000, 100 * kGbps);
  EXPECT_NEAR(static_cast<double>(flows[5].paused), 4 * alone, alone);
}

// Frames that take any path have victims, too, where all ways on from the pause are free.
TEST(RoceFlow, SprayHasVictims) {
  fabric::Topology topology = TwoSwitches();
  topology.AddLink({8, 9, 1'000, fabric::Port{400 * kGbps}});  // a second one between the switches
  topology.SetMultipath(fabric::Multipath::Spray);
  RoceRun run(topology, "roce:cc=none,ecn=off,buffer=2MiB,recovery=selective,window=2MB");
  const std::vector<fabric::RoceFlow> flows = run.Records(kIncast);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(flows[i].victim, i == 5) << i;
    EXPECT_EQ(RootOf(run, flows[i]), "far>host5") << i;
  }
  for (const fabric::DirectedLink between : {16, 18}) EXPECT_GT(run.Links()[between].packets, 0);
}

TEST(RoceFlow, WithRoomForAllNobodyWaits) {
  RoceRun run(TwoSwitches(), "roce:cc=none,ecn=off,buffer=64MiB");
  for (const fabric::RoceFlow& flow : run.Records(kIncast)) {
    EXPECT_EQ(flow.paused, 0);
    EXPECT_EQ(flow.pauseRoot, -1);
    EXPECT_FALSE(flow.victim);
  }
  EXPECT_EQ(run.Pauses(), 0);
}

TEST(RoceFlow, TimesOfPausesAreThoseOfAStorm) {
  // A NIC pauses its switch from 10 to 60 us; the frames of its flow wait there, and the switch
  // holds back the sender when its buffer is full.
  RoceRun run(Star(3, 100 * kGbps, 0), "roce:cc=none,ecn=off,storm=host=1+from=10us+for=50us");
  const std::vector<fabric::RoceFlow> flows = run.Records({{0, 1, 250'000}, {0, 2, 250'000}});
  ASSERT_EQ(flows.size(), 2u);
  // Flows share the NIC, so that half of the first waits at the switch until the storm ends.
  EXPECT_NEAR(static_cast<double>(flows[0].paused), 50'000 - 32'000, 2'000);
  EXPECT_EQ(RootOf(run, flows[0]), "switch>host1");
  EXPECT_FALSE(flows[0].victim);
  EXPECT_EQ(flows[1].paused, 0);
}

TEST(RoceFlow, CountsItsOwnNotifications) {
  RoceRun run(Star(3, 100 * kGbps, 1'000), "roce:ecn=5KB/20KB/1@100Gbps");
  const std::vector<fabric::RoceFlow> flows =
      run.Records({{0, 2, 4'000'000}, {1, 2, 4'000'000}, {2, 0, 100'000}});
  EXPECT_GT(flows[0].cnps, 0u);
  EXPECT_GT(flows[1].cnps, 0u);
  EXPECT_EQ(flows[2].cnps, 0u);
  EXPECT_EQ(flows[0].cnps + flows[1].cnps, run.Counters().roce.cnps);
  EXPECT_LT(flows[0].rateAtEnd, 100e9);
  EXPECT_EQ(flows[2].rateAtEnd, 100e9);
}

TEST(RoceFlow, CountsItsFramesThatWereSentAgain) {
  RoceRun lossy(Star(2, 100 * kGbps, 1'000), "roce:cc=none,pfc=off,mtu=1024");
  int data = 0;
  lossy.ports().SetDrop([&](fabric::DirectedLink, const packet::Frame& frame) {
    return frame.kind == packet::FrameKind::Data && frame.hop == 1 && data++ == 10;
  });
  const std::vector<fabric::RoceFlow> sent = lossy.Records({{0, 1, 50'000}, {0, 1, 1'000}});
  EXPECT_GT(sent[0].resent, 0u);
  EXPECT_EQ(sent[0].resent + sent[1].resent, lossy.Counters().roce.resent);
}

}  // namespace
}  // namespace legacy::packet_test::flow_record_test
