// The doctor on steps over RoCEv2 with packets, whose congestion is known by construction.
#include <gtest/gtest.h>

#include "ns3-module/fabric/roce/roce-settings.h"
#include "scenarios/network/step_doctor.h"
#include "tests/network/network_testing.h"

namespace legacy::doctor_roce_test {
namespace {

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kMb = 1'000'000;

// Eight hosts at 100 Gbit/s: 5 and 7 at the switch "far", all others at "near", and a link of 400
// Gbit/s between the two.
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

struct Message {
  int source = 0;
  int destination = 0;
  int64_t bytes = 0;
};

fabric::StepTraffic Exchange(int workers, const std::vector<Message>& messages) {
  fabric::StepTraffic traffic;
  traffic.workers = workers;
  traffic.deviceFree.assign(workers, 0);
  fabric::BucketTraffic bucket;
  bucket.ready.assign(workers, 0);
  bucket.calls.resize(1);
  fabric::CollectiveSpec& spec = bucket.calls[0].collective;
  spec.algorithm = fabric::CollectiveAlgorithm::AllToAllV;
  spec.bytes.assign(workers, 0);
  spec.pairBytes.assign(static_cast<size_t>(workers) * workers, 0);
  for (const Message& message : messages) {
    spec.pairBytes[message.source * workers + message.destination] = message.bytes;
    spec.bytes[message.source] += message.bytes;
  }
  bucket.decode.assign(workers, 0);
  traffic.buckets = {bucket};
  return traffic;
}

StepDiagnosis Ask(const fabric::Topology& topology, const fabric::StepTraffic& traffic,
                  const std::string& transport, Fidelity fidelity = Fidelity::kPacket) {
  const fabric::Placement placement = fabric::MakePlacement({"packed", traffic.workers}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = fabric::MakeTransport(transport);
  return Diagnose({&traffic, {}, 0}, request, FactoryOf(fidelity, "test"));
}

const Remedy* Find(const StepDiagnosis& diagnosis, const std::string& name) {
  for (const Remedy& remedy : diagnosis.remedies) {
    if (remedy.name == name) return &remedy;
  }
  return nullptr;
}

// Five hosts send 2 MB each to host 5, for 0.82 ms of its link. Host 6 sends 10 MB to host 7 over
// the same link between the switches, and host 7 answers against the stream.
const std::vector<Message> kIncast = {{0, 5, 2 * kMb}, {1, 5, 2 * kMb}, {2, 5, 2 * kMb},
                                      {3, 5, 2 * kMb}, {4, 5, 2 * kMb}, {6, 7, 10 * kMb},
                                      {7, 6, kMb}};

class DoctorOfRoce : public testing::Test {
 protected:
  void SetUp() override {
    if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "built without ns-3";
  }
};

TEST_F(DoctorOfRoce, NamesTheIncastBehindWhichAVictimWaits) {
  const StepDiagnosis diagnosis =
      Ask(TwoSwitches(), Exchange(8, kIncast), "roce:cc=none,ecn=off,buffer=1MiB");
  const std::string text = DoctorText(diagnosis);
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kCongestion) << text;
  EXPECT_EQ(diagnosis.Verdict().name, "pauses") << text;
  EXPECT_EQ(diagnosis.congestion.root, "far>host5") << text;
  EXPECT_EQ(diagnosis.congestion.host, "host5") << text;
  EXPECT_EQ(diagnosis.congestion.flows, 7);
  EXPECT_EQ(diagnosis.congestion.waiting, 6);
  EXPECT_EQ(diagnosis.congestion.behind, 6);
  EXPECT_EQ(diagnosis.congestion.victims, 1);
  EXPECT_NE(text.find("86 % of the step flows waited behind pauses that began at far>host5 (incast "
                      "to host5); 1 of 6 is a victim"),
            std::string::npos)
      << text;
  // While the incast lasts, the victim has a fifth of a line; without pauses, two thirds.
  const double line = 8e9 * (10 * kMb) * 4178.0 / 4096 / (100.0 * kGbps);
  EXPECT_NEAR(static_cast<double>(diagnosis.as_it_is.total), 1.8 * line, .05 * line);
  const Remedy* pauses = Find(diagnosis, "pauses");
  ASSERT_NE(pauses, nullptr);
  EXPECT_LT(static_cast<double>(pauses->total), 1.2 * line);
  EXPECT_EQ(Find(diagnosis, "congestion-control"), nullptr) << "none never slows anybody down";
}

TEST_F(DoctorOfRoce, ListsOfFlowsHaveCongestionToo) {
  const fabric::Topology topology = TwoSwitches();
  const fabric::Placement placement = fabric::MakePlacement({"packed", 8}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = fabric::MakeTransport("roce:cc=none,ecn=off,buffer=1MiB");
  std::vector<FlowRequest> flows;
  for (const Message& m : kIncast) flows.push_back({m.source, m.destination, m.bytes, 0});
  DoctorCase list;
  list.flows = &flows;
  const StepDiagnosis diagnosis = Diagnose(list, request, FactoryOf(Fidelity::kPacket, "test"));
  const std::string text = DoctorText(diagnosis);
  EXPECT_EQ(diagnosis.congestion.host, "host5") << text;
  EXPECT_EQ(diagnosis.congestion.victims, 1) << text;
  // The victim is one of seven flows: of their mean, pauses cost less than the incast's link does.
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kBandwidth) << text;
  const Remedy* pauses = Find(diagnosis, "pauses");
  ASSERT_NE(pauses, nullptr) << text;
  EXPECT_GT(pauses->gain, kNoticeable) << text;
  EXPECT_NE(text.find("86 % of the flows waited behind pauses that began at far>host5"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("slowest device"), std::string::npos) << text;
}

TEST_F(DoctorOfRoce, WithoutPausesThereIsNoCongestion) {
  const StepDiagnosis diagnosis =
      Ask(TwoSwitches(), Exchange(8, kIncast), "roce:cc=none,ecn=off,buffer=64MiB");
  EXPECT_NE(diagnosis.Verdict().bound, Bound::kCongestion) << DoctorText(diagnosis);
  EXPECT_EQ(diagnosis.congestion.waiting, 0);
  EXPECT_EQ(diagnosis.congestion.flows, 7);
  EXPECT_EQ(diagnosis.waits, "");
  EXPECT_EQ(Find(diagnosis, "pauses"), nullptr);
}

TEST_F(DoctorOfRoce, RatesBelowTheFairShareAreCongestion) {
  // Two flows into one link. The timers of NICs take milliseconds to find the fair half.
  const fabric::Topology star = [] {
    fabric::Topology topology;
    for (int h = 0; h < 3; ++h) topology.AddHost("host" + std::to_string(h));
    const int middle = topology.AddSwitch("middle");
    for (int h = 0; h < 3; ++h) topology.AddLink({h, middle, 1'000, fabric::Port{100 * kGbps}});
    return topology;
  }();
  const StepDiagnosis diagnosis =
      Ask(star, Exchange(3, {{0, 2, 8 * kMb}, {1, 2, 8 * kMb}}),
          "roce:cc=dcqcn:parameters=mellanox,ecn=5KB/20KB/1@25Gbps,buffer=64MiB");
  const Remedy* fair = Find(diagnosis, "congestion-control");
  ASSERT_NE(fair, nullptr);
  const double needed = 8e9 * (16 * kMb) * 4178.0 / 4096 / (100.0 * kGbps);
  EXPECT_NEAR(static_cast<double>(fair->total), needed, .03 * needed) << DoctorText(diagnosis);
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kCongestion) << DoctorText(diagnosis);
  EXPECT_EQ(diagnosis.congestion.waiting, 0);
}

TEST_F(DoctorOfRoce, WithoutPacketsItSaysThatItKnowsNoPauses) {
  const std::string transport = "roce:cc=none,ecn=off,buffer=1MiB";
  const StepDiagnosis flow = Ask(TwoSwitches(), Exchange(8, kIncast), transport, Fidelity::kFlow);
  EXPECT_NE(DoctorText(flow).find("without packets nothing is known of pauses"), std::string::npos);
  EXPECT_EQ(Find(flow, "pauses"), nullptr);
  EXPECT_EQ(Find(flow, "congestion-control"), nullptr);
  const StepDiagnosis tcp = Ask(TwoSwitches(), Exchange(8, kIncast), "datacenter", Fidelity::kFlow);
  EXPECT_EQ(DoctorText(tcp).find("pauses"), std::string::npos);
}

}  // namespace
}  // namespace legacy::doctor_roce_test
