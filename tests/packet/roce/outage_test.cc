// Links over RoCEv2 whose rates change, and that are out for a while.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "helper/packet-engine-helper.h"
#include "ns3-module/fabric/engine/engine.h"
#include "tests/message_of.h"
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::outages {
namespace {
using fabric::LinkSchedule;
using ::testing::HasSubstr;

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kBytes = 2'000'000;
constexpr TimeNs kMicro = 1'000;
constexpr TimeNs kSecond = 1'000'000'000;

// A star whose link of one host follows a schedule, both ways or towards the switch or the host.
struct Line {
  Line(const std::string& options, int host, const LinkSchedule& schedule,
       std::vector<int> ways = {0, 1})
      : topology(Star(4, 100 * kGbps, kMicro).WithLinks([&](int link, fabric::Link& one) {
          if (link != host) return;
          for (const int way : ways) {
            one.ports[way].schedule = std::make_shared<LinkSchedule>(schedule);
          }
        })) {
    placement.hosts = topology.Hosts();
    request.topology = &topology;
    request.placement = &placement;
    request.transport = fabric::MakeTransport("roce:" + options);
  }
  // Returns when the last flow has arrived.
  TimeNs Run(const fabric::EngineFactory& make, const std::vector<fabric::Flow>& flows) {
    engine = make(request);
    Burst burst(flows);
    engine->Submit(burst, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    return *std::max_element(burst.arrived.begin(), burst.arrived.end());
  }

  const fabric::Topology topology;
  fabric::Placement placement;
  fabric::EngineRequest request;
  std::unique_ptr<fabric::Engine> engine;
};

const std::vector<fabric::Flow> kIncast = {{0, 1, kBytes}, {2, 1, kBytes}, {1, 3, kBytes}};

// Neither the receiver's link nor a sender's passes a frame while it is out; then all continues.
TEST(RoceOutages, StopAllFramesAndGoOn) {
  for (const std::string options :
       {"cc=none", "cc=dcqcn", "cc=hpcc", "cc=timely", "cc=swift", "cc=none,pfc=off",
        "cc=dcqcn,pfc=off,recovery=go-back-n", "cc=none,qps=4"}) {
    for (const int host : {0, 1}) {
      const TimeNs from = 50 * kMicro;
      const TimeNs back = from + 2 * kSecond;
      Line line(options, host, LinkSchedule({{0, 100 * kGbps}}).Without({from, back}));
      const auto engine = fabric::MakePacketEngine(line.request);
      Burst burst(kIncast);
      engine->Submit(burst, 0);
      const auto sent = [&](TimeNs time) {
        EXPECT_FALSE(engine->RunUntil(time)) << options << host;
        const std::vector<fabric::LinkCounters> links = engine->Links();
        return std::pair{links[2 * host].bytes, links[2 * host + 1].bytes};
      };
      const auto begin = sent(from + kMicro);  // the last frame has left
      EXPECT_GT(begin.first + begin.second, 100'000) << options << host;
      EXPECT_EQ(begin, sent(back - 1)) << options << host;
      EXPECT_TRUE(engine->RunUntil(kNever)) << options << host;
      const TimeNs last = *std::max_element(burst.arrived.begin(), burst.arrived.end());
      const TimeNs fluid = line.Run(fabric::MakeFlowEngine, kIncast);
      // Round trips of seconds hold TIMELY back.
      const TimeNs later = options == "cc=timely" ? 10'000 * kMicro : 200 * kMicro;
      EXPECT_GT(last, fluid - 100 * kMicro) << options << host;
      EXPECT_LT(last, fluid + later) << options << host;
      EXPECT_EQ(engine->Counters().retransmitTimeouts, 0u) << options << host;
    }
  }
}

// An outage of hours is not waited for by polling.
TEST(RoceOutages, MayLastForHours) {
  const TimeNs back = 3'600 * kSecond;
  Line line("cc=dcqcn,pfc=off", 1, LinkSchedule({{0, 100 * kGbps}}).Without({50 * kMicro, back}));
  const TimeNs last = line.Run(fabric::MakePacketEngine, {{0, 1, kBytes}});
  EXPECT_LT(last, back + kSecond);
  EXPECT_LT(line.engine->Counters().events, 20'000u);
}

TEST(RoceOutages, OfOneWayStopThatWayAlone) {
  for (const int way : {0, 1}) {
    const TimeNs back = 50 * kMicro + kSecond / 10;
    Line line("cc=dcqcn", 1, LinkSchedule({{0, 100 * kGbps}}).Without({50 * kMicro, back}), {way});
    const TimeNs last = line.Run(fabric::MakePacketEngine, {{0, 1, kBytes}});
    const TimeNs fluid = line.Run(fabric::MakeFlowEngine, {{0, 1, kBytes}});
    EXPECT_NEAR(static_cast<double>(last), static_cast<double>(fluid), kMicro) << way;
  }
}

TEST(RoceOutages, RatesFollowTheSchedule) {
  for (const std::string cc : {"none", "hpcc", "swift"}) {
    Line line(
        "cc=" + cc, 0,
        LinkSchedule({{0, 100 * kGbps}, {50 * kMicro, 10 * kGbps}, {400 * kMicro, 40 * kGbps}}));
    const auto fluid = static_cast<double>(line.Run(fabric::MakeFlowEngine, {{0, 1, kBytes}}));
    const auto last = static_cast<double>(line.Run(fabric::MakePacketEngine, {{0, 1, kBytes}}));
    EXPECT_NEAR(last / fluid, 1, 0.02) << cc;
  }
}

TEST(RoceOutages, RefusesAndNamesWhatNeverComesBack) {
  const auto message = [](const std::string& options, TimeNs until, bool fails = false) {
    Line line(options, 1, LinkSchedule({{0, 100 * kGbps}}).Without({50 * kMicro, until}));
    fabric::Topology topology = line.topology;
    if (fails) topology.AddFailure(topology.Hosts()[0], {kMicro, kSecond});
    line.request.topology = &topology;
    return MessageOf([&] { line.Run(fabric::MakePacketEngine, {{0, 1, kBytes}}); });
  };
  EXPECT_THAT(message("cc=dcqcn", kNever), HasSubstr("carries nothing any more, for ever"));
  EXPECT_THAT(message("train=8", kSecond), HasSubstr("train=8 beside links whose rates change"));
  EXPECT_THAT(message("cc=hpcc:int=wire", kSecond), HasSubstr("cc=hpcc:int=wire beside links"));
  EXPECT_THAT(message("cc=dcqcn", kSecond, true), HasSubstr("host host0, which fails"));
}

}  // namespace
}  // namespace legacy::packet_test::outages
