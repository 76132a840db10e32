// Priority flow control: headroom, quanta, victims, deadlocks, storms.
#include <algorithm>
#include <numeric>

#include "ns3-module/fabric/base/hash.h"
#include "ns3-module/fabric/roce/buffers.h"
#include "tests/message_of.h"
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test {
namespace {

using fabric::DirectedLink;

constexpr int64_t kGbps = 1'000'000'000;

// A random small fabric with random incasts: rates, delays, buffers and times.
struct RandomCase {
  explicit RandomCase(uint64_t seed) : seed_(seed) {
    const int hosts = static_cast<int>(Draw(2, 6));
    const int switches = static_cast<int>(Draw(1, 2));
    for (int h = 0; h < hosts; ++h) topology.AddHost("h" + std::to_string(h));
    for (int s = 0; s < switches; ++s) topology.AddSwitch("s" + std::to_string(s));
    constexpr std::array<int64_t, 5> kRates = {1, 10, 25, 100, 400};
    constexpr std::array<fabric::TimeNs, 5> kDelays = {0, 1, 100, 1'000, 10'000};
    const auto link = [&](int a, int b) {
      topology.AddLink({a, b, kDelays[Draw(0, 4)], fabric::Port{kRates[Draw(0, 4)] * kGbps}});
    };
    for (int h = 0; h < hosts; ++h) link(h, hosts + static_cast<int>(Draw(0, switches - 1)));
    if (switches == 2) link(hosts, hosts + 1);
    mtu = std::array{256, 1024, 4096}[Draw(0, 2)];
    const int target = static_cast<int>(Draw(0, hosts - 1));
    for (int h = 0; h < hosts; ++h) {
      if (h != target) flows.push_back({h, target, static_cast<int64_t>(Draw(1, 200) * mtu)});
      if (h != target && Draw(0, 1))
        flows.push_back({target, h, static_cast<int64_t>(Draw(1, 50'000))});
    }
    alpha = std::array{"0.0625", "0.125", "1", "8"}[Draw(0, 3)];
    extra = static_cast<int64_t>(Draw(1, 200'000));
  }

  // Returns the transport with a buffer that leaves `extra` bytes to share at the largest switch.
  std::string Transport(int64_t less_headroom) const {
    const std::string base =
        "roce:cc=none,ecn=off,rto=1s,mtu=" + std::to_string(mtu) + ",alpha=" + alpha;
    const fabric::RoceSettings settings = fabric::RoceSettings::Parse(base, "test");
    int64_t needed = 0;
    int64_t headroom = 0;
    for (int node = 0; node < topology.NodeCount(); ++node) {
      if (topology.IsHost(node)) continue;
      int64_t sum = 0;
      for (const DirectedLink out : topology.Out(node)) {
        const int64_t one = fabric::HeadroomOf(topology, out ^ 1, settings);
        headroom = std::max(headroom, one);
        sum += one + 2 * 4096;
      }
      needed = std::max(needed, sum);
    }
    std::string text = base + ",buffer=" + std::to_string(needed + extra);
    if (less_headroom > 0) {
      text += ",pfc-drops=allow,headroom=" +
              std::to_string(std::max<int64_t>(1, headroom - less_headroom));
    }
    return text;
  }

  uint64_t Draw(uint64_t least, uint64_t most) {
    return least + fabric::Reduce(fabric::HashWords({seed_, draws_++}), most - least + 1);
  }

  fabric::Topology topology;
  std::vector<fabric::Flow> flows;
  int mtu = 0;
  std::string alpha;
  int64_t extra = 0;

 private:
  uint64_t seed_;
  uint64_t draws_ = 0;
};

// No traffic fills the headroom, and afterwards nothing is left anywhere.
TEST(RocePause, HeadroomIsEnoughForAnyTraffic) {
  int64_t pauses = 0;
  double headroom = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const RandomCase random(seed);
    RoceRun run(random.topology, random.Transport(0));
    EXPECT_EQ(run.Failure(random.flows), "") << seed;
    EXPECT_EQ(run.Drops(), 0) << seed;
    RoceRun::Drain();
    EXPECT_EQ(run.ports().GetBuffered(), 0) << seed;
    const auto [begun, resumed, expired] = run.ports().GetPauses();
    EXPECT_EQ(begun, resumed + expired) << seed;
    pauses += run.Pauses();
    headroom = std::max(headroom, run.Counters().roce.maxHeadroom);
  }
  EXPECT_GT(pauses, 1000);
  EXPECT_GT(headroom, 0.8);
  EXPECT_LE(headroom, 1);
}

// Returns the lossless frames that a headroom of `less` bytes below the one reckoned loses, where
// one host sends ten times what another takes, and the pauses wait behind frames of a third.
int64_t DropsWith(int64_t less) {
  int64_t drops = 0;
  for (const fabric::TimeNs delay : {0, 10, 100, 1000, 5000}) {
    fabric::Topology topology;
    for (const char* name : {"a", "b", "c"}) topology.AddHost(name);
    topology.AddSwitch("s");
    topology.AddLink({0, 3, delay, fabric::Port{100 * kGbps}});
    topology.AddLink({1, 3, delay, fabric::Port{10 * kGbps}});
    topology.AddLink({2, 3, delay, fabric::Port{100 * kGbps}});
    const std::string base = "roce:cc=none,ecn=off,pfc-drops=allow";
    const auto settings = fabric::RoceSettings::Parse(base, "test");
    const int64_t headroom = fabric::HeadroomOf(topology, 0, settings) - less;
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
}

TEST(RocePause, TooSmallBuffersAreRefusedWithTheNumbers) {
  const std::string message =
      MessageOf([] { RoceRun run(Star(8, 100 * kGbps, 10'000), "roce:cc=none,buffer=1MiB"); });
  EXPECT_NE(message.find("buffer of switch switch: got '1048576 bytes'"), std::string::npos)
      << message;
  EXPECT_NE(message.find("bytes of headroom and 65536 of reserves"), std::string::npos) << message;
}

// A pause whose RESUME is lost ends after its quanta.
TEST(RocePause, LostResumeEndsByItself) {
  RoceRun run(Star(3, 100 * kGbps, 1000), "roce:cc=none,buffer=600KB,quanta=2000");
  int resumes = 0;
  run.ports().SetDrop([&](DirectedLink, const packet::Frame& frame) {
    return frame.kind == packet::FrameKind::Pause && frame.payload == 0 && resumes++ == 0;
  });
  run.Run({{0, 2, 2'000'000}, {1, 2, 2'000'000}});
  RoceRun::Drain();
  const auto [begun, resumed, expired] = run.ports().GetPauses();
  EXPECT_GT(resumes, 0);
  EXPECT_EQ(expired, 1u);
  EXPECT_EQ(begun, resumed + 1);
  EXPECT_EQ(run.Drops(), 1);  // the RESUME
}

// A card that is paused is silent from the end of its frame to the RESUME.
TEST(RocePause, APausedPortIsSilentUntilResumed) {
  RoceRun run(Star(3, 100 * kGbps, 1000), "roce:cc=none,buffer=600KB");
  fabric::TimeNs heard = -1;
  run.ports().SetDrop([&](DirectedLink link, const packet::Frame& frame) {
    const fabric::TimeNs now = packet::PacketEngine::Now();
    if (frame.kind == packet::FrameKind::Pause) {
      // Link 1 is the switch's port to host 0; the frame takes 6.72 ns and 1 us.
      if (link == 1) heard = frame.payload > 0 ? now + 1007 : fabric::kNever;
    } else if (link == 0 && frame.kind == packet::FrameKind::Data && heard >= 0) {
      EXPECT_LE(now, heard == fabric::kNever ? heard : heard + 1);
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
    fabric::Topology topology;
    for (int h = 0; h < 8; ++h) topology.AddHost("h" + std::to_string(h));
    const int left = topology.AddSwitch("left");
    const int right = topology.AddSwitch("right");
    for (int h = 0; h < 8; ++h) {
      topology.AddLink({h, h < 6 ? left : right, 1000, fabric::Port{100 * kGbps}});
    }
    topology.AddLink({left, right, 1000, fabric::Port{400 * kGbps}});
    return topology;
  }
  // Returns the victim's rate over the line's.
  double Rate() const {
    return Nanoseconds(run.transport().WireBytes(2'000'000), 100 * kGbps) /
           static_cast<double>(arrived.back() - 3000);
  }
  RoceRun run;
  std::vector<fabric::TimeNs> arrived;
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

// Where nobody pauses, the six flows share the link between the switches alone.
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

// A host whose card pauses all the time stops those who send to it, until it ends. Others go on.
TEST(RocePause, AStormStopsWhoSendsToIt) {
  const std::vector<fabric::Flow> flows = {{0, 1, 1'000'000}, {2, 3, 1'000'000}};
  RoceRun run(Star(4, 100 * kGbps, 1000), "roce:cc=none,storm=host=1+from=10us+for=300us");
  const std::vector<fabric::TimeNs> arrived = run.Run(flows);
  EXPECT_GT(arrived[0], 310'000);
  EXPECT_LT(arrived[0], 400'000);
  EXPECT_LT(arrived[1], 90'000);
  EXPECT_EQ(run.Drops(), 0);
}

TEST(RocePause, AWatchdogDropsForAPausedPort) {
  const std::string storm = "roce:cc=none,buffer=2MiB,storm=host=1+from=10us+for=3ms";
  const std::vector<fabric::Flow> flows = {{0, 1, 2'000'000}, {0, 2, 2'000'000}};
  fabric::TimeNs without = 0;
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
  const std::vector<fabric::TimeNs> arrived =
      run.Run({{3, 4, 10'000'000}, {0, 4, 10'000'000}, {1, 4, 10'000'000}, {2, 4, 10'000'000}});
  const double wire = Nanoseconds(run.transport().WireBytes(10'000'000), 100 * kGbps);
  EXPECT_NEAR(static_cast<double>(arrived[0]) / wire, 2, 0.1);  // half of the line
  EXPECT_NEAR(static_cast<double>(arrived[3]) / wire, 4, 0.1);  // all have passed
}

// A, B, A in one process gives A twice.
TEST(RocePause, RunsAreDeterministic) {
  const auto run = [](uint64_t seed) {
    const RandomCase random(seed);
    RoceRun engine(random.topology, random.Transport(0));
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
}  // namespace legacy::packet_test
