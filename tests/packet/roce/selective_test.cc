// Selective repeat: losses of all kinds, goodput, time-outs, and what IRN reports about it.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <numeric>
#include <string>

#include "tests/packet/roce/roce_run.h"

namespace {
std::atomic<uint64_t> g_allocations{0};
}  // namespace

// Not inlined, so that compilers see no mixture of new and free.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace legacy::packet_test::selective_test {
namespace {

using fabric::DirectedLink;
using packet::Frame;
using packet::FrameKind;

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kMtu = 4096;
constexpr DirectedLink kFirst = 0;  // host 0 to the switch
constexpr DirectedLink kBack = 2;   // host 1 to the switch
constexpr const char* kSelective = "roce:cc=none,pfc=off,buffer=16MiB,window=256KB";

// 100 frames from host 0 to host 1 over links of 100 Gbit/s and 1 us.
struct OneFlow {
  explicit OneFlow(const std::string& options = "")
      : run(Star(2, 100 * kGbps, 1000), kSelective + options) {}

  // Returns when the flow arrives if the frames that `drop` names are lost.
  TimeNs Time(const std::function<bool(DirectedLink, const Frame&)>& drop) {
    run.ports().SetDrop(drop);
    return run.Run({{0, 1, 100 * kMtu}}).front();
  }

  static TimeNs Lossless() {
    return OneFlow().Time([](DirectedLink, const Frame&) { return false; });
  }

  RoceRun run;
};

// A lost frame costs its own time on the line.
TEST(RoceSelectiveRepeat, ALostFrameAloneIsSentAgain) {
  const TimeNs lossless = OneFlow::Lossless();
  for (const uint64_t psn : {0, 20, 80}) {
    OneFlow flow;
    const TimeNs time = flow.Time(LoseOnce{kFirst, FrameKind::Data, psn});
    EXPECT_EQ(flow.run.Counters().roce.resent, 1u);
    EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 0u);
    EXPECT_EQ(flow.run.Counters().roce.reordered, 0u);
    EXPECT_NEAR(static_cast<double>(time - lossless), Nanoseconds(kMtu + 82, 100 * kGbps),
                psn == 0 ? 4 : 2);
  }
}

TEST(RoceSelectiveRepeat, TailsEndByTimeOut) {
  const TimeNs lossless = OneFlow::Lossless();
  constexpr double kShort = 100'000;  // with fewer than three frames in flight
  constexpr double kLong = 320'000;
  {
    OneFlow flow;
    const TimeNs time = flow.Time(LoseOnce{kFirst, FrameKind::Data, 99});
    EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 1u);
    EXPECT_EQ(flow.run.Counters().roce.resent, 1u);
    EXPECT_NEAR(static_cast<double>(time - lossless), kShort, 5'000);
  }
  {
    OneFlow flow;  // the last five: the first is sent again, and then those after it one by one
    const TimeNs time = flow.Time([](DirectedLink link, const Frame& frame) {
      return link == kFirst && frame.kind == FrameKind::Data && frame.psn >= 95 &&
             frame.ahead == Frame::kNone;
    });
    EXPECT_EQ(flow.run.Counters().roce.resent, 5u);
    EXPECT_GT(static_cast<double>(time - lossless), kLong);
  }
  {
    OneFlow flow;  // the message has arrived, but the sender does not know
    EXPECT_EQ(flow.Time(LoseOnce{kBack, FrameKind::Ack, 100}), lossless);
    RoceRun::Drain();
    EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 1u);
    EXPECT_EQ(flow.run.Counters().roce.resent, 1u);
    EXPECT_EQ(flow.run.Run({{0, 1, kMtu}}).size(), 1u);
  }
  {
    OneFlow flow;  // the one NAK is lost
    LoseOnce data{kFirst, FrameKind::Data, 98};
    LoseOnce nak{kBack, FrameKind::Nak, 98};
    const TimeNs time = flow.Time([&](DirectedLink link, const Frame& frame) {
      return data(link, frame) || nak(link, frame);
    });
    EXPECT_EQ(nak.count, 1);
    EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 1u);
    EXPECT_NEAR(static_cast<double>(time - lossless), kShort, 5'000);
  }
  {
    OneFlow flow;  // of several, one is enough; the sender does not know that 21 has arrived
    LoseOnce data{kFirst, FrameKind::Data, 20};
    LoseOnce nak{kBack, FrameKind::Nak, 20};
    flow.Time([&](DirectedLink link, const Frame& frame) {
      return data(link, frame) || nak(link, frame);
    });
    EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 0u);
    EXPECT_EQ(flow.run.Counters().roce.resent, 2u);
  }
}

// A lost CNP changes only rates.
TEST(RoceSelectiveRepeat, LostNotificationsChangeRatesAlone) {
  for (const std::string recovery : {"go-back-n", "selective"}) {
    std::vector<TimeNs> last;
    for (const bool lost : {false, true}) {
      RoceRun run(Star(5, 100 * kGbps, 1000),
                  "roce:cc=dcqcn,ecn=10KB/40KB/1@100Gbps,recovery=" + recovery);
      run.ports().SetDrop(
          [&](DirectedLink, const Frame& frame) { return lost && frame.kind == FrameKind::Cnp; });
      std::vector<fabric::Flow> flows;
      for (int i = 0; i < 4; ++i) flows.push_back({i, 4, 2'000'000});
      const std::vector<TimeNs> arrived = run.Run(flows);
      last.push_back(*std::max_element(arrived.begin(), arrived.end()));
      EXPECT_GT(run.Counters().roce.cnps, 0u);
      EXPECT_EQ(run.Counters().retransmitTimeouts, 0u);
      EXPECT_EQ(run.Counters().roce.resent, 0u);
    }
    EXPECT_LT(last[1], last[0]) << recovery;  // no sender slows down
  }
}

// Data frames are lost, ACKs are not: 1 - p of the line, where go-back-n has (1 - p) / (1 + p (m -
// 1)). Time-outs, which frames lost twice wait for, are short here.
TEST(RoceSelectiveRepeat, HasItsGoodput) {
  constexpr int64_t kBytes = 40'000'000;
  for (const double loss : {0.001, 0.01, 0.03}) {
    RoceRun run(Lossy(Star(2, 100 * kGbps, 1000), 0, loss), std::string(kSelective) + ",rto=20us");
    const auto time = static_cast<double>(run.Run({{0, 1, kBytes}}).front());
    const double line = Nanoseconds(run.transport().WireBytes(kBytes), 100 * kGbps) / time;
    EXPECT_NEAR(line / (1 - loss), 1, 0.03) << loss;
    EXPECT_NEAR(static_cast<double>(run.Counters().roce.resent) / static_cast<double>(run.Drops()),
                1, 0.05);
  }
}

TEST(RoceSelectiveRepeat, ALinkThatLosesAllEndsTheRunAndNamesTheQueuePair) {
  RoceRun run(Lossy(Star(2, 100 * kGbps, 1000), 0, 0.999999), std::string(kSelective) + ",qps=2");
  const std::string message = run.Failure({{0, 1, 1'000'000}});
  EXPECT_NE(message.find("queue pair host0 -> host1 #1: nothing acknowledged in 8 time-outs"),
            std::string::npos)
      << message;
}

// At 10 Mbit/s a burst of TIMELY takes 54 ms. Time-outs count from the frame that is sent again
// when its time has come, not before.
TEST(RoceSelectiveRepeat, TimeOutsWaitForPacedBursts) {
  fabric::Topology topology;
  for (const char* name : {"fast", "slow"}) topology.AddHost(name);
  topology.AddSwitch("s");
  topology.AddLink({0, 2, 0, fabric::Port{400 * kGbps}});
  topology.AddLink({1, 2, 10'000, fabric::Port{10 * kGbps}});
  RoceRun run(topology,
              "roce:cc=timely:deepest=0+delta=10Mbps+least=10Mbps+a=0.875,pfc=off,retries=2,alpha="
              "8,buffer=212489");
  EXPECT_EQ(run.Failure({{0, 1, 135 * kMtu}}), "");
  EXPECT_GT(run.Drops(), 0);
  EXPECT_GT(run.Counters().retransmitTimeouts, 0u);
}

// IRN (SIGCOMM'18, section 4.2): without PFC selective repeat is at least as good as go-back-n with
// PFC, and go-back-n without PFC is far worse.
TEST(RoceSelectiveRepeat, NeedsNoPauses) {
  std::printf("| recovery | mean | pauses | dropped | sent again |\n");
  const auto mean = [](const std::string& options) {
    Scenario scenario;
    scenario.topology = "leaf-spine:leaves=4,hosts=4,spines=4";
    scenario.workers = 16;
    scenario.rate_bps = 40 * kGbps;
    scenario.delay = 1000;
    RoceRun run(Fabric::MakeTopology(scenario), "roce:cc=none,mtu=1024,buffer=800KB," + options);
    std::vector<fabric::Flow> flows;
    for (int i = 0; i < 16; ++i) {
      for (const int hop : {5, 7, 11}) flows.push_back({i, (i * hop + hop) % 16, 1'000'000});
    }
    const std::vector<TimeNs> arrived = run.Run(flows);
    const double time =
        std::accumulate(arrived.begin(), arrived.end(), 0.0) / static_cast<double>(arrived.size());
    std::printf("| `%s` | %.0f us | %lld | %lld | %llu |\n", options.c_str(), time / 1000,
                static_cast<long long>(run.Pauses()), static_cast<long long>(run.Drops()),
                static_cast<unsigned long long>(run.Counters().roce.resent));
    return time;
  };
  const double selective = mean("pfc=off,recovery=selective");
  const double lossless = mean("pfc=on,recovery=go-back-n");
  const double lossy = mean("pfc=off,recovery=go-back-n");
  EXPECT_LT(selective, 1.05 * lossless);
  EXPECT_GT(lossy, 1.5 * selective);
}

// Frames, losses and ACKs allocate nothing: twice as many need no more memory.
TEST(RoceSelectiveRepeat, FramesAllocateNothing) {
  const auto allocations = [](int64_t bytes) {
    RoceRun run(Lossy(Star(2, 100 * kGbps, 1000), 0, 0.001), kSelective);
    run.Run({{0, 1, 4'000'000}});  // pools grow
    const uint64_t before = g_allocations;
    run.Run({{0, 1, bytes}});
    return static_cast<double>(g_allocations - before);
  };
  EXPECT_NEAR(allocations(20'000'000), allocations(10'000'000), 30);
}

// Many short messages, of which some frames are lost, arrive in their order.
TEST(RoceSelectiveRepeat, ManyMessagesOnOneQueuePair) {
  RoceRun run(Lossy(Star(2, 100 * kGbps, 1000), 0, 0.001), kSelective);
  const std::vector<TimeNs> arrived =
      run.Run(std::vector<fabric::Flow>(65'536, fabric::Flow{0, 1, 1}));
  EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
  EXPECT_GT(run.Drops(), 0);
}

// The same bytes again, whatever ran between.
TEST(RoceSelectiveRepeat, IsDeterministic) {
  const auto times = [](double loss, const std::string& options) {
    RoceRun run(Lossy(Star(4, 100 * kGbps, 1000), 0, loss), kSelective + options);
    return run.Run({{0, 1, 3'000'000}, {0, 2, 1'000'000}, {3, 1, 2'000'000}, {0, 1, 5}});
  };
  const auto first = times(0.01, "");
  EXPECT_NE(times(0.02, ",qps=3"), first);
  EXPECT_EQ(times(0.01, ""), first);
}

}  // namespace
}  // namespace legacy::packet_test::selective_test
