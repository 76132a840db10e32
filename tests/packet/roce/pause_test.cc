// Priority flow control: headroom, quanta, victims, deadlocks, storms.
#include <algorithm>
#include <numeric>

#include "ns3-module/fabric/roce/buffers.h"
#include "tests/message_of.h"
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::pause_test {
namespace {

using fabric::DirectedLink;

constexpr int64_t kGbps = 1'000'000'000;

// No traffic fills the headroom, and afterwards nothing is left anywhere.
void CheckHeadroom(const std::string& options) {
  int64_t pauses = 0;
  double headroom = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const fabric::RandomRoceCase random(seed);
    RoceRun run(random.topology, random.Transport(0, "cc=none,ecn=off,rto=1s" + options));
    EXPECT_EQ(run.Failure(random.flows), "") << seed;
    EXPECT_EQ(run.Drops(), 0) << seed;
    RoceRun::Drain();
    EXPECT_EQ(run.ports().GetBuffered(), 0) << seed;
    EXPECT_EQ(run.ports().Frames().InUse(), 0u) << seed;
    const auto [begun, resumed, expired] = run.ports().GetPauses();
    EXPECT_EQ(begun, resumed + expired) << seed;
    pauses += run.Pauses();
    headroom = std::max(headroom, run.Counters().roce.maxHeadroom);
  }
  EXPECT_GT(pauses, 1000);
  EXPECT_GT(headroom, 0.8);
  EXPECT_LE(headroom, 1);
}

TEST(RocePause, HeadroomIsEnoughForAnyTraffic) { CheckHeadroom(""); }

TEST(RocePause, HeadroomIsEnoughForTrains) {
  for (const char* train : {",train=3", ",train=8"}) CheckHeadroom(train);
}

// Returns the lossless frames that a headroom of `less` bytes below the computed one loses, where
// one host sends ten times what another takes, and the pauses wait behind frames of a third.
int64_t DropsWith(int64_t less, const std::string& options = "") {
  int64_t drops = 0;
  for (const TimeNs delay : {0, 10, 100, 1000, 5000}) {
    fabric::Topology topology;
    for (const char* name : {"a", "b", "c"}) topology.AddHost(name);
    topology.AddSwitch("s");
    topology.AddLink({0, 3, delay, fabric::Port{100 * kGbps}});
    topology.AddLink({1, 3, delay, fabric::Port{10 * kGbps}});
    topology.AddLink({2, 3, delay, fabric::Port{100 * kGbps}});
    const std::string base = "roce:cc=none,ecn=off,pfc-drops=allow" + options;
    const auto settings = fabric::RoceSettings::Parse(base, "test");
    const int64_t headroom = std::max<int64_t>(1, fabric::HeadroomOf(topology, 0, settings) - less);
    RoceRun run(topology, base + ",headroom=" + std::to_string(headroom));
    run.Run({{0, 1, 10'000'000}, {2, 0, 60'000'000}});
    EXPECT_GT(run.Pauses(), 0);
    drops += run.Drops();
  }
  return drops;
}

TEST(RocePause, TwoFramesLessHeadroomLosesFrames) {
  EXPECT_EQ(DropsWith(0), 0);
  EXPECT_GT(DropsWith(2 * 4178), 0);
  EXPECT_EQ(DropsWith(0, ",train=8"), 0);
  EXPECT_GT(DropsWith(2 * 8 * 4178, ",train=8"), 0);
}

TEST(RocePause, TooSmallBuffersAreRefusedWithTheNumbers) {
  const std::string message =
      MessageOf([] { RoceRun run(Star(8, 100 * kGbps, 10'000), "roce:cc=none,buffer=1MiB"); });
  EXPECT_NE(message.find("buffer of switch switch: got '1048576 bytes'"), std::string::npos)
      << message;
  EXPECT_NE(message.find("bytes of headroom and 65536 of reserves"), std::string::npos) << message;
}

// Without pauses, a switch that has no room for any frame would let runs end by retries alone.
TEST(RocePause, BuffersWithoutRoomForAFrameAreRefused) {
  const auto message = [](const std::string& options, int64_t queue = 0) {
    const fabric::Topology star =
        Star(2, 100 * kGbps, 1000).WithLinks([=](int, fabric::Link& link) {
          link.ports[1].queueBytes = queue;
        });
    return MessageOf([&] { RoceRun run(star, "roce:pfc=off," + options); });
  };
  const std::string small = message("buffer=30KB,egress-alpha=8");
  EXPECT_NE(small.find("buffer of switch switch: got '30000 bytes'; allowed: with pfc=off, more: "
                       "roce:alpha times the 13616 bytes that it has to share are no room for a "
                       "frame of 4174"),
            std::string::npos)
      << small;
  EXPECT_NE(message("buffer=20KB,alpha=8").find("roce:egress-alpha times the 3616"),
            std::string::npos);
  EXPECT_EQ(message("buffer=20KB,alpha=8,mtu=1024"), "no error");
  EXPECT_NE(message("buffer=1MB", 4000)
                .find("queue of switch>host0: got '4000 bytes'; allowed: 0, "
                      "or room for a frame: 4174 or more"),
            std::string::npos);
  EXPECT_EQ(message("buffer=1MB", 4174), "no error");
}

// A link that loses frames loses pauses, too: frames that then find no room are sent again.
TEST(RocePause, LostPausesCostFramesAndEndNoRun) {
  const fabric::Topology star = Star(5, 100 * kGbps, 1000).WithLinks([](int, fabric::Link& link) {
    link.ports[1].errorRate = link.a == 4 ? 0 : 0.5;
  });
  RoceRun run(star, "roce:cc=none,buffer=500KB");
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < 4; ++i) flows.push_back({i, 4, 1'000'000});
  EXPECT_EQ(run.Failure(flows), "");
  EXPECT_GT(run.Links()[run.topology().Out(star.Hosts()[4])[0] ^ 1].drops, 0);
  EXPECT_GT(run.Counters().roce.resent, 0u);
}

// A pause whose RESUME is lost ends after its quanta: 2,000 of 512 bit times are 10.24 us.
TEST(RocePause, LostResumeEndsByItself) {
  RoceRun run(Star(3, 100 * kGbps, 1000), "roce:cc=none,buffer=600KB,quanta=2000");
  DirectedLink lost = -1;
  TimeNs paused = -1;  // beginning of the last PAUSE of host 0's or 1's port
  TimeNs silent = -1;  // from the arrival of that PAUSE to the next frame of the port
  std::array<TimeNs, 6> pauses{};
  run.ports().SetDrop([&](DirectedLink link, const packet::Frame& frame) {
    const TimeNs now = packet::PacketEngine::Now();
    if (frame.kind == packet::FrameKind::Pause) {
      if (frame.payload > 0) {
        pauses[link] = now;
      } else if (lost < 0) {
        lost = link;
        paused = pauses[link];
        return true;
      }
    } else if (lost >= 0 && silent < 0 && link == (lost ^ 1) && now > paused + 2000) {
      silent = now - paused - 1007;  // the frame takes 6.72 ns and 1 us
    }
    return false;
  });
  run.Run({{0, 2, 2'000'000}, {1, 2, 2'000'000}});
  RoceRun::Drain();
  const auto [begun, resumed, expired] = run.ports().GetPauses();
  EXPECT_EQ(expired, 1u);
  EXPECT_EQ(begun, resumed + 1);
  EXPECT_EQ(run.Drops(), 1);  // the RESUME
  EXPECT_NEAR(static_cast<double>(silent), 10'240, 2);
}

// A NIC that is paused is silent from the end of its frame to the RESUME.
TEST(RocePause, APausedPortIsSilentUntilResumed) {
  RoceRun run(Star(3, 100 * kGbps, 1000), "roce:cc=none,buffer=600KB");
  TimeNs heard = -1;
  run.ports().SetDrop([&](DirectedLink link, const packet::Frame& frame) {
    const TimeNs now = packet::PacketEngine::Now();
    if (frame.kind == packet::FrameKind::Pause) {
      // Link 1 is the switch's port to host 0; the frame takes 6.72 ns and 1 us.
      if (link == 1) heard = frame.payload > 0 ? now + 1007 : kNever;
    } else if (link == 0 && frame.kind == packet::FrameKind::Data && heard >= 0) {
      EXPECT_LE(now, heard == kNever ? heard : heard + 1);
    }
    return false;
  });
  run.Run({{0, 2, 2'000'000}, {1, 2, 2'000'000}});
  EXPECT_GE(heard, 0);
  const double share = run.Counters().roce.maxHeadroom;
  EXPECT_GT(share, 0);
  EXPECT_LE(share, 1);
}

// Five flows to host a and one to host b over one link of four times their rate.
struct Victims {
  explicit Victims(const std::string& transport) : run(Topology(), transport) {
    std::vector<fabric::Flow> flows;
    for (int i = 0; i < 5; ++i) flows.push_back({i, 6, 2'000'000});
    flows.push_back({5, 7, 2'000'000});
    arrived = run.Run(flows);
  }
  static fabric::Topology Topology() {
    return fabric::RoceTrunk(6, 2, 100 * kGbps, 400 * kGbps, 1000);
  }
  // Returns the victim's rate over the line's.
  double Rate() const {
    return Nanoseconds(run.transport().WireBytes(2'000'000), 100 * kGbps) /
           static_cast<double>(arrived.back() - 3000);
  }
  RoceRun run;
  std::vector<TimeNs> arrived;
};

// With pauses alone the victim gets what each of the others does, a fifth of the line, though no
// link of its own is full. The pauses begin at the queue of host a.
TEST(RocePause, VictimsWaitBehindPauses) {
  const Victims small("roce:cc=none,buffer=2MiB");
  EXPECT_NEAR(small.Rate(), 0.2, 0.03);
  EXPECT_GT(small.run.Pauses(), 0);
  EXPECT_EQ(small.run.Drops(), 0);
  const fabric::Topology& topology = small.run.topology();
  const std::vector<fabric::LinkCounters> links = small.run.Links();
  for (DirectedLink link = 0; link < static_cast<DirectedLink>(links.size()); ++link) {
    if (topology.LinkName(link) != "left>right") continue;
    EXPECT_GT(links[link].pauses, 0);
    EXPECT_EQ(topology.LinkName(links[link].pauseRoot), "right>h6");
  }
}

// If no port pauses, the six flows share only the link between the switches.
TEST(RocePause, LargeBuffersHaveNoVictims) {
  const Victims large("roce:cc=none,buffer=64MiB");
  EXPECT_NEAR(large.Rate(), 4.0 / 6, 0.01);
  EXPECT_EQ(large.run.Pauses(), 0);
}

// Host i sends to i + 2 around a ring of five switches (Hu et al., CoNEXT'17).
std::string RingFailure(const std::string& transport) {
  Scenario scenario;
  scenario.topology = "ring:hosts=5";
  scenario.workers = 5;
  scenario.rate_bps = 100 * kGbps;
  scenario.delay = 1000;
  RoceRun run(Fabric::MakeTopology(scenario), transport);
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < 5; ++i) flows.push_back({i, (i + 2) % 5, 20'000'000});
  return run.Failure(flows);
}

TEST(RocePause, RingsDeadlockAndTheCycleIsNamed) {
  for (const char* buffer : {"1MiB", "2MiB"}) {
    const std::string message = RingFailure(std::string("roce:cc=none,buffer=") + buffer);
    EXPECT_EQ(message.find("PFC deadlock at "), 0u) << message;
    size_t waits = 0;
    for (size_t at = 0; (at = message.find(" waits for ", at)) != std::string::npos; ++at) ++waits;
    EXPECT_EQ(waits, 5u) << message;
  }
}

// A host whose NIC pauses all the time stops the hosts that send to it, until the pauses end.
// Others continue.
TEST(RocePause, AStormStopsWhoSendsToIt) {
  const std::vector<fabric::Flow> flows = {{0, 1, 1'000'000}, {2, 3, 1'000'000}};
  const fabric::Topology star = Star(4, 100 * kGbps, 1000);
  for (const std::string& host : {std::string("1"), star.NodeName(star.Hosts()[1])}) {
    RoceRun run(star, "roce:cc=none,storm=host=" + host + "+from=10us+for=300us");
    const std::vector<TimeNs> arrived = run.Run(flows);
    EXPECT_GT(arrived[0], 310'000) << host;
    EXPECT_LT(arrived[0], 400'000) << host;
    EXPECT_LT(arrived[1], 90'000) << host;
    EXPECT_EQ(run.Drops(), 0) << host;
  }
}

TEST(RocePause, AWatchdogDropsForAPausedPort) {
  const std::string storm = "roce:cc=none,buffer=2MiB,storm=host=1+from=10us+for=3ms";
  const std::vector<fabric::Flow> flows = {{0, 1, 2'000'000}, {0, 2, 2'000'000}};
  TimeNs without = 0;
  {
    RoceRun run(Star(3, 100 * kGbps, 1000), storm);
    without = run.Run(flows)[1];
    EXPECT_EQ(run.Counters().roce.watchdogDrops, 0u);
  }
  RoceRun run(Star(3, 100 * kGbps, 1000), storm + ",watchdog=200us");
  EXPECT_LT(run.Run(flows)[1], 1'000'000);
  EXPECT_GT(without, 3'000'000);
  EXPECT_GT(run.Counters().roce.watchdogDrops, 0u);
}

// Ports share an outgoing link in proportion to their thresholds, flows do not: one flow comes
// through one port, three through another of the same rate.
TEST(RocePause, PortsShareAndFlowsDoNot) {
  fabric::Topology topology;
  for (int h = 0; h < 5; ++h) topology.AddHost("h" + std::to_string(h));
  const int left = topology.AddSwitch("left");
  const int right = topology.AddSwitch("right");
  for (int h = 0; h < 3; ++h) topology.AddLink({h, left, 1000, fabric::Port{100 * kGbps}});
  for (int h = 3; h < 5; ++h) topology.AddLink({h, right, 1000, fabric::Port{100 * kGbps}});
  topology.AddLink({left, right, 1000, fabric::Port{100 * kGbps}});
  RoceRun run(topology, "roce:cc=none,buffer=1MiB");
  const std::vector<TimeNs> arrived =
      run.Run({{3, 4, 10'000'000}, {0, 4, 10'000'000}, {1, 4, 10'000'000}, {2, 4, 10'000'000}});
  const double wire = Nanoseconds(run.transport().WireBytes(10'000'000), 100 * kGbps);
  EXPECT_NEAR(static_cast<double>(arrived[0]) / wire, 2, 0.1);  // half of the line
  EXPECT_NEAR(static_cast<double>(arrived[3]) / wire, 4, 0.1);  // all have passed
}

// A, B, A in one process gives A twice.
TEST(RocePause, RunsAreDeterministic) {
  const auto run = [](uint64_t seed) {
    const fabric::RandomRoceCase random(seed);
    RoceRun engine(random.topology, random.Transport());
    std::vector<int64_t> all = engine.Run(random.flows);
    all.push_back(static_cast<int64_t>(engine.Counters().events));
    for (const fabric::LinkCounters& link : engine.Links()) {
      all.insert(all.end(), {link.bytes, link.pauses, link.paused, link.maxQueueBytes});
    }
    return all;
  };
  const std::vector<int64_t> first = run(3);
  EXPECT_NE(run(4), first);
  EXPECT_EQ(run(3), first);
}

}  // namespace
}  // namespace legacy::packet_test::pause_test
