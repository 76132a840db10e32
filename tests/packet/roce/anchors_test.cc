// Results of ASTRA-sim's RDMA model (ns-3 back end of 2024-03), which were measured with links of
// 100 Gbit/s and 1 us, 1,000 bytes of payload and its sizes of frames. Its own rounding to whole
// nanoseconds adds 0.14 % to each frame; its frames carry telemetry of five switches, ours that of
// those they pass.
#include <cstdio>

#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test {
namespace {

constexpr int64_t kRate = 100'000'000'000;
const std::string kSizes = "mtu=1000,header=36,message-header=0,ack-bytes=48,ack=1";

// Prints a row of the table in docs/network.md, and returns the ratio of the times.
double Row(const char* what, fabric::TimeNs ours, fabric::TimeNs theirs, int64_t pauses) {
  const double ratio = static_cast<double>(ours) / static_cast<double>(theirs);
  std::printf("| %s | %lld | %lld | %+.2f %% | %lld |\n", what, static_cast<long long>(ours),
              static_cast<long long>(theirs), 100 * (ratio - 1), static_cast<long long>(pauses));
  return ratio;
}

double Incast(const char* what, const std::string& transport, int senders, int64_t bytes,
              fabric::TimeNs theirs, int64_t* pauses = nullptr) {
  RoceRun run(Star(senders + 1, kRate, 1000), "roce:" + kSizes + "," + transport);
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < senders; ++i) flows.push_back({i, senders, bytes});
  const std::vector<fabric::TimeNs> arrived = run.Run(flows);
  EXPECT_EQ(run.Drops(), 0);
  if (pauses) *pauses = run.Pauses();
  return Row(what, *std::max_element(arrived.begin(), arrived.end()), theirs, run.Pauses());
}

TEST(RoceAnchors, FlowsAndIncastsAreAstraSims) {
  EXPECT_NEAR(Incast("1 kB, none", "cc=none", 1, 1'000, 2'166), 1, 0.005);
  EXPECT_NEAR(Incast("1 MB, none", "cc=none", 1, 1'000'000, 85'083), 1, 0.005);
  EXPECT_NEAR(Incast("100 MB, hpcc", "cc=hpcc:stages=0", 1, 100'000'000, 9'074'501), 1, 0.05);
  EXPECT_NEAR(Incast("8 to 1, none, 32 MiB", "cc=none,buffer=32MiB", 8, 1'000'000, 666'083), 1,
              0.005);
  int64_t pauses = 0;
  EXPECT_NEAR(Incast("8 to 1, none, 2 MiB", "cc=none,buffer=2MiB", 8, 1'000'000, 666'083, &pauses),
              1, 0.005);
  EXPECT_GE(pauses, 100);
  EXPECT_LE(pauses, 400);  // theirs: 200
  EXPECT_NEAR(
      Incast("8 to 1, hpcc, 32 MiB", "cc=hpcc:stages=0,buffer=32MiB", 8, 1'000'000, 739'635), 1,
      0.05);
  EXPECT_NEAR(Incast("8 to 1, dcqcn, 32 MiB", "cc=dcqcn:parameters=hpcc,buffer=32MiB", 8, 1'000'000,
                     1'101'427),
              1, 0.15);
}

// Five flows of 2 MB to one host, and the victim to another, over a link of 400 Gbit/s.
TEST(RoceAnchors, VictimsAreAstraSims) {
  const auto victim = [](const char* what, const std::string& transport, fabric::TimeNs theirs) {
    fabric::Topology topology;
    for (int h = 0; h < 8; ++h) topology.AddHost("h" + std::to_string(h));
    const int left = topology.AddSwitch("left");
    const int right = topology.AddSwitch("right");
    for (int h = 0; h < 8; ++h) {
      topology.AddLink({h, h < 6 ? left : right, 1000, fabric::Port{kRate}});
    }
    topology.AddLink({left, right, 1000, fabric::Port{4 * kRate}});
    RoceRun run(topology, "roce:" + kSizes + "," + transport);
    std::vector<fabric::Flow> flows;
    for (int i = 0; i < 5; ++i) flows.push_back({i, 6, 2'000'000});
    flows.push_back({5, 7, 2'000'000});
    const fabric::TimeNs time = run.Run(flows).back();
    return std::pair{Row(what, time, theirs, run.Pauses()), run.Pauses()};
  };
  const auto [none, pauses] = victim("victim, none, 2 MiB", "cc=none,buffer=2MiB", 778'718);
  EXPECT_NEAR(none, 1, 0.02);
  EXPECT_GE(pauses, 148);
  EXPECT_LE(pauses, 592);  // theirs: 296
  const auto [hpcc, none_paused] =
      victim("victim, hpcc, 32 MiB", "cc=hpcc:stages=0,buffer=32MiB", 191'606);
  EXPECT_NEAR(hpcc, 1, 0.05);
  EXPECT_EQ(none_paused, 0);
}

TEST(RoceAnchors, RingsAreAstraSims) {
  Scenario scenario;
  scenario.workers = 8;
  scenario.rate_bps = kRate;
  scenario.delay = 1000;
  scenario.transport = fabric::MakeTransport("roce:cc=none," + kSizes);
  scenario.collective.algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
  scenario.collective.bytes.assign(8, 8'000'000);
  EXPECT_NEAR(Row("ring all-reduce, 8 x 8 MB, none", Simulate(scenario).total, 1'245'814, 0), 1,
              0.005);
}

}  // namespace
}  // namespace legacy::packet_test
