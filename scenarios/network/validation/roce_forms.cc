// Checks of RoCEv2 against closed forms: goodput, incast, shares of ports, go-back-n, and the fixed
// points of congestion controls.
#include <cmath>
#include <numeric>

#include "analysis/recorded_table.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/roce/dcqcn-fixed-point.h"
#include "ns3-module/fabric/roce/marking.h"
#include "ns3-module/fabric/roce/pfc-check.h"
#include "scenarios/network/fairness.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/validation/roce_checks.h"
#include "scenarios/network/validation/roce_flows.h"
#include "scenarios/network/validation/validation_cases.h"

namespace legacy::roce_validation {
namespace {

using fabric::LinkCounters;
using fabric::RoceTrial;

const std::string kPlain = "cc=none,ecn=off";

RoceFigure Goodput(int64_t rate, int mtu, const std::string& options, double tolerance) {
  constexpr int64_t kBytes = 100'000'000;
  RoceTrial trial(fabric::RoceStar(2, rate, kDelay),
                  "roce:mtu=" + std::to_string(mtu) + "," + options);
  trial.Send({0, 1, kBytes});
  trial.RunUntil();
  const double first = 2 * (kDelay + 8e9 * (mtu + 98) / static_cast<double>(rate));
  const double ours =
      8 * static_cast<double>(kBytes - mtu) / (static_cast<double>(trial.Last()) - first);
  return Within(ours, static_cast<double>(rate) / 1e9 * mtu / (mtu + 82.0), tolerance);
}

RoceFigure Incast(int senders, const std::string& options) {
  constexpr int64_t kBytes = 1'000'000;
  RoceTrial trial(fabric::RoceStar(senders + 1, kRate, kDelay), "roce:" + options);
  for (int i = 0; i < senders; ++i) trial.Send({i, senders, kBytes});
  trial.RunUntil();
  const double expected =
      2 * kDelay + 8e9 * (4096 + 98) / kRate + senders * WireNanoseconds(trial, kBytes);
  RoceFigure check = Within(static_cast<double>(trial.Last()), expected, 1e-3);
  check.holds = check.holds && trial.Sum(&LinkCounters::drops) == 0;
  return check;
}

RoceFigure Ring(int workers) {
  const Experiment experiment = ExperimentOf(
      {"topo=star bandwidth=100Gbps delay=1us transport=roce:cc=none bytes=8MB workers=" +
       std::to_string(workers)},
      {"packet"});
  const TimeNs ours = Measure(Prepare(experiment), {}).front().Time();
  const TimeNs form = fabric::RingAllReduceTime(workers, 8'000'000, {2, kRate, kDelay},
                                                experiment.network.transport);
  return Within(static_cast<double>(ours), static_cast<double>(form), 2e-3);
}

// Returns the share of flow 3, which is alone at its port, or that of flow 0, which is one of
// three.
RoceFigure PortShare(const std::string& options, const fabric::Topology& topology, bool alone,
                     double expected, double tolerance, TimeNs from) {
  const std::vector<double> shares = SharesOfPorts(options, topology, from);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  return Within(shares[alone ? 3 : 0] / sum, expected, tolerance);
}

// Returns the goodput of go-back-n if one frame in 100 is lost: (1 - p) / (1 + p (m - 1)) of the
// line rate, where m is the number of frames from a lost one until the sender goes back.
RoceFigure GoBackN() {
  constexpr double kLoss = 0.01;
  constexpr int64_t kBytes = 40'000'000;
  const fabric::Topology topology =
      fabric::RoceStar(2, kRate, kDelay).WithLinks([](int index, fabric::Link& link) {
        link.ports[0].errorRate = index == 0 ? kLoss : 0;
      });
  RoceTrial trial(topology, "roce:cc=none");
  trial.Send({0, 1, kBytes});
  trial.RunUntil();
  const double frame = 8e9 * (4096 + 82) / kRate;
  const double frames = 3 + (4 * kDelay + 2 * 8e9 * 86 / kRate) / frame + 0.5;
  return Within(WireNanoseconds(trial, kBytes) / static_cast<double>(trial.Last()),
                (1 - kLoss) / (1 + kLoss * (frames - 1)), 0.03);
}

// Counts the lossless frames that random fabrics lose, and the fabrics in which frames, bytes or
// pauses are left.
RoceFigure Headroom(uint64_t fabrics) {
  int64_t wrong = 0;
  for (uint64_t seed = 0; seed < fabrics; ++seed) {
    const fabric::RandomRoceCase random(seed);
    RoceTrial trial(random.topology, random.Transport());
    for (const fabric::Flow& flow : random.flows) trial.Send(flow);
    trial.RunUntil();
    trial.Drain();
    wrong += trial.Sum(&LinkCounters::drops) + (trial.GetBalance().Holds() ? 0 : 1);
  }
  return AtMost(static_cast<double>(wrong), 0);
}

// Frames have 1,000 bytes, as in the equations of DCQCN.
const std::string kDcqcnFrames = "mtu=918,header=82,message-header=0,buffer=64MiB";

// A SettledCase has N long flows of DCQCN at their fixed point.
struct SettledCase {
  int flows;
  int64_t gbps;
  const char* np;
  fabric::EcnThresholds ecn;
};

constexpr fabric::EcnThresholds kPaperMarks = {5e3, 200e3, 0.01};
// The same line, extended so that the queue of eight flows does not swing beyond it.
constexpr fabric::EcnThresholds kPaperLine = {5e3, 1955e3, 0.1};
constexpr fabric::EcnThresholds kProductionMarks = {400e3, 1600e3, 0.2};

// Returns the share of marked frames, and p*: that of CoNEXT'16 for its receiver, that of cycles
// for the other receiver.
RoceFigure FixedPointMarks(const SettledCase& one) {
  constexpr double kTolerance = 0.3;
  const std::string np = one.np;
  Settings settings("cc", "dcqcn");
  settings.Set("ai", "40Mbps");
  settings.Set("np", np);
  const fabric::DcqcnFixedPoint point(fabric::Dcqcn::Read(settings), one.flows,
                                      static_cast<double>(one.gbps * kGbps), 1000);
  const double expected = np == "window" ? point.Solve() : point.SolveCycles();
  const auto bytes = [](double number) { return std::to_string(std::llround(number)) + "B"; };
  const fabric::EcnThresholds& ecn = one.ecn;
  const LongFlows ours =
      RunLong(kDcqcnFrames + ",ecn=" + bytes(ecn.leastBytes) + "/" + bytes(ecn.mostBytes) + "/" +
                  FormatFixed(ecn.share, 2) + ",cc=dcqcn:ai=40Mbps+np=" + np,
              one.flows, one.gbps * kGbps, 100 * kMs, 200 * kMs);
  const double queue = ecn.leastBytes + expected / ecn.share * (ecn.mostBytes - ecn.leastBytes);
  RoceFigure check = Within(100 * ours.marks, 100 * expected, kTolerance);
  check.holds = check.holds && Within(ours.queue, queue, kTolerance).holds && SumOf(ours) >= 0.98;
  return check;
}

// Returns the utilisation of HPCC: U = eta + N W_AI / (B T).
RoceFigure HpccUtilisation(int flows) {
  constexpr int kMtu = 1000;
  const LongFlows ours = RunLong("mtu=1000,cc=hpcc", flows, kRate, 2 * kMs, 6 * kMs);
  // A full frame and the ACK that answers it cross two links each; they have the telemetry of one
  // switch.
  const double frames = 8e9 * (2 * (kMtu + 82 + 10) + 2 * (86 + 10)) / kRate;
  const double trip = 4 * kDelay + frames;
  // The senders' links carry 8 bytes of telemetry less per frame than the receiver's.
  const double share = SumOf(ours) * (kMtu + 92.0) / (kMtu + 84.0);
  return Within(share, 0.95 + flows * 80 * 8e9 / (kRate * trip), 0.01);
}

// Adds flows, incasts and a ring, whose times follow from rates and headers.
void AddTimes(RoceChecks& checks) {
  for (const auto& [rate, mtu] : {std::pair{25, 4096}, {100, 4096}, {100, 1024}, {800, 256}}) {
    checks.Add(
        "one flow of 100 MB, " + std::to_string(rate) + " Gbit/s, MTU " + std::to_string(mtu),
        "Gbit/s of payload", "0.01 %", 3,
        [=, mtu = mtu, rate = rate] { return Goodput(rate * kGbps, mtu, kPlain, 1e-4); });
  }
  checks.Add("the same, 100 Gbit/s, MTU 4096, window=bdp", "Gbit/s of payload", "0.01 %", 3,
             [=] { return Goodput(kRate, 4096, kPlain + ",window=bdp", 1e-4); });
  for (const char* buffer : {"64MiB", "2MiB"}) {
    checks.Add(
        std::string("15 to 1, 1 MB each, buffer ") + buffer, "ns", "0.1 %, nothing lost", 0,
        [=] { return Incast(15, kPlain + ",buffer=" + buffer); }, true);
  }
  checks.Add("ring all-reduce of 8 MB, 16 workers", "ns", "0.2 %", 0, [] { return Ring(16); });
}

// Adds flows that share a line through ports: the shares that result from PFC, and those of
// congestion controls.
void AddShares(RoceChecks& checks) {
  const std::string small = kPlain + ",buffer=1MiB";
  checks.Add(
      "two ports into one, none: flow alone at its port", "of the line", "5 %", 3,
      [=] { return PortShare(small, TwoPorts(kRate, false), true, 1.0 / 2, 0.05, kMs); }, true);
  checks.Add("two ports into one, none: one of three flows", "of the line", "5 %", 3,
             [=] { return PortShare(small, TwoPorts(kRate, false), false, 1.0 / 6, 0.05, kMs); });
  const std::string doubled = kPlain + ",buffer=2MiB";
  checks.Add(
      "the same, their port has four times the rate: flow alone", "of the line", "5 %", 3,
      [=] { return PortShare(doubled, TwoPorts(4 * kRate, false), true, 1.0 / 5, 0.05, kMs); });
  checks.Add(
      "the same, their port has four times the rate: one of three", "of the line", "5 %", 3,
      [=] { return PortShare(doubled, TwoPorts(4 * kRate, false), false, 4.0 / 15, 0.05, kMs); });
  checks.Add("two ports into one, hpcc:wai=500B, equal round trips: flow alone", "of the line",
             "15 %", 3, [] {
               return PortShare("mtu=1000,cc=hpcc:wai=500B", TwoPorts(kRate, true), true, 1.0 / 4,
                                0.15, 10 * kMs);
             });
  checks.Add("two ports into one, dcqcn: flow alone", "of the line", "15 %", 3, [] {
    return PortShare("cc=dcqcn,buffer=32MiB", TwoPorts(kRate, false), true, 1.0 / 4, 0.15,
                     50 * kMs);
  });
  checks.Add("victim of five to one, none, 2 MiB", "of the line", "10 %", 3,
             [=] { return Within(VictimRate(kPlain + ",buffer=2MiB"), .2, .1); });
}

// Adds lost frames: what go-back-n sends again, and that PFC loses no frames.
void AddLosses(RoceChecks& checks) {
  checks.Add("go-back-n, one frame in 100 lost", "of the line", "3 %", 3, GoBackN);
  checks.Add("10,000 random fabrics with PFC: what is lost or left", "frames", "none", 0,
             [] { return Headroom(10'000); });
}

// Adds congestion controls at their fixed points.
void AddFixedPoints(RoceChecks& checks) {
  for (const char* np : {"window", "gap"}) {
    for (const SettledCase& one : {SettledCase{2, 40, np, kPaperMarks},
                                   {4, 40, np, kPaperMarks},
                                   {8, 40, np, kPaperLine},
                                   {4, 100, np, kProductionMarks},
                                   {8, 100, np, kProductionMarks}}) {
      checks.Add("DCQCN, np=" + std::string(np) + ", " + std::to_string(one.flows) + " flows at " +
                     std::to_string(one.gbps) + " Gbit/s" +
                     (one.ecn.mostBytes == kPaperLine.mostBytes ? ", kmax 1,955 kB" : ""),
                 "% of frames marked", "30 %, queue 30 %, line 98 % full", 3,
                 [=] { return FixedPointMarks(one); });
    }
  }
  checks.Add("DCQCN, second flow 1 ms later", "Jain's index", "0.99 or more", 3, [] {
    const std::string options = kDcqcnFrames + ",ecn=5KB/200KB/0.01,cc=dcqcn:np=window";
    return AtLeast(JainIndex(RunLong(options, 2, 40 * kGbps, 50 * kMs, 100 * kMs, kMs).shares),
                   0.99);
  });
  for (const int flows : {1, 2, 8}) {
    checks.Add("HPCC, " + std::to_string(flows) + " flow" + (flows > 1 ? "s" : ""), "of the line",
               "1 %", 4, [=] { return HpccUtilisation(flows); });
  }
}

}  // namespace

RoceChecks ClosedForms() {
  RoceChecks checks("form");
  AddTimes(checks);
  AddShares(checks);
  AddLosses(checks);
  AddFixedPoints(checks);
  return checks;
}

}  // namespace legacy::roce_validation
