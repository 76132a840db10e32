// Validation section that holds RoCEv2 against results of ASTRA-sim's RDMA model, closed forms, and
// what papers say. Rows that need a paper's own testbed compare the sign alone.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/roce/dcqcn-fixed-point.h"
#include "ns3-module/fabric/roce/marking.h"
#include "ns3-module/fabric/roce/pfc-check.h"
#include "ns3-module/helper/roce-anchors.h"
#include "ns3-module/helper/roce-trial.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/results.h"
#include "scenarios/network/validation/validation_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

using fabric::LinkCounters;
using fabric::RoceTrial;

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kRate = 100 * kGbps;
constexpr TimeNs kDelay = 1000;
constexpr TimeNs kMs = 1'000'000;
constexpr int64_t kEndless = int64_t{1} << 40;  // bytes of a flow that does not end

// A RoceFigure is one figure of ours, what it should be, and whether it is.
struct RoceFigure {
  double ours = 0;
  double expected = 0;
  bool holds = false;
};

// A RoceCheck is one row: a case with its figure.
struct RoceCheck {
  std::string part;      // "anchor", "form" or "trend"
  std::string name;      // unique
  std::string quantity;  // with its unit
  std::string target;
  int decimals = 0;
  bool quick = false;
  std::function<RoceFigure()> run;
};

RoceFigure Within(double ours, double expected, double tolerance) {
  return {ours, expected, std::abs(ours - expected) <= tolerance * std::abs(expected)};
}

RoceFigure AtMost(double ours, double most) { return {ours, most, ours <= most}; }
RoceFigure AtLeast(double ours, double least) { return {ours, least, ours >= least}; }

double WireNanoseconds(const RoceTrial& trial, int64_t bytes, int64_t rate = kRate) {
  return 8e9 * static_cast<double>(trial.GetTransport().WireBytes(bytes)) /
         static_cast<double>(rate);
}

double JainIndex(const std::vector<double>& rates) {
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  double squares = 0;
  for (const double rate : rates) squares += rate * rate;
  return sum * sum / (static_cast<double>(rates.size()) * squares);
}

// --- Closed forms --------------------------------------------------------------------------------

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

// Rates of long flows over the line that they share, between two times. Each sender has one flow,
// so that the bytes of its link are the flow's.
std::vector<double> SharesBetween(RoceTrial& trial, int senders, TimeNs from, TimeNs until) {
  const auto bytes = [&] {
    std::vector<double> all;
    for (int i = 0; i < senders; ++i) all.push_back(trial.Activity()[2 * i].bytes);
    return all;
  };
  trial.RunUntil(from);
  const std::vector<double> before = bytes();
  trial.RunUntil(until);
  std::vector<double> shares = bytes();
  for (int i = 0; i < senders; ++i) {
    shares[i] = 8e9 * (shares[i] - before[i]) / static_cast<double>(until - from) / kRate;
  }
  return shares;
}

// Hosts 0 to 2 send through a trunk, host 3 through a port of its own; all to host 4. HPCC is fair
// to flows of one round trip: there the link of host 3 is as long as the trunk and a link are.
fabric::Topology TwoPorts(int64_t trunk, bool same_trip) {
  const fabric::Topology topology = fabric::RoceTrunk(3, 2, kRate, trunk, kDelay);
  return topology.WithLinks([=](int index, fabric::Link& link) {
    constexpr TimeNs kHalfOfFrames = 47;  // a frame of 1,092 bytes and its ACK, at 100 Gbit/s
    if (same_trip && index == 3) link.delay += kDelay + kHalfOfFrames;
  });
}

// Returns the share of flow 3, which is alone, or of flow 0, one of three.
RoceFigure PortShare(const std::string& options, const fabric::Topology& topology, bool alone,
                     double expected, double tolerance, TimeNs from) {
  RoceTrial trial(topology, "roce:" + options);
  for (int i = 0; i < 4; ++i) trial.Send({i, 4, kEndless});
  const std::vector<double> shares = SharesBetween(trial, 4, from, 2 * from);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  return Within(shares[alone ? 3 : 0] / sum, expected, tolerance);
}

// Five flows to one host and a victim to another over a link of four times their rate. Returns the
// victim's mean rate over the line's.
RoceFigure Victim(const std::string& options, const std::function<RoceFigure(double)>& compare) {
  constexpr int64_t kBytes = 2'000'000;
  RoceTrial trial(fabric::RoceTrunk(6, 2, kRate, 4 * kRate, kDelay), "roce:" + options);
  for (int i = 0; i < 5; ++i) trial.Send({i, 6, kBytes});
  trial.Send({5, 7, kBytes});
  trial.RunUntil();
  return compare(WireNanoseconds(trial, kBytes) /
                 static_cast<double>(trial.Arrived().back() - 3 * kDelay));
}

// Goodput of go-back-n where one frame in 100 is lost: (1 - p) / (1 + p (m - 1)) of the line, m
// frames from a lost one until the sender goes back.
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

// Lossless frames that random fabrics lose, and what is left of frames, bytes and pauses.
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

// N long flows of 1,000-byte frames to one receiver, sampled.
struct LongFlows {
  std::vector<double> shares;  // of the line
  double queue = 0;            // mean bytes
  double queue99 = 0;          // 99th percentile
  double marks = 0;            // share of frames
  int64_t pauses = 0;
};

LongFlows RunLong(const std::string& options, int flows, int64_t rate, TimeNs from, TimeNs until,
                  TimeNs second = 0) {
  RoceTrial trial(fabric::RoceStar(flows + 1, rate, kDelay), "roce:" + options);
  for (int i = 0; i < flows; ++i) trial.Send({i, flows, kEndless}, i == 1 ? second : 0);
  const fabric::DirectedLink last = trial.Link("switch>host" + std::to_string(flows));
  trial.RunUntil(from);
  const std::vector<LinkCounters> before = trial.Links();
  std::vector<double> queues;
  constexpr TimeNs kSample = 2000;
  for (TimeNs now = from + kSample; now <= until; now += kSample) {
    trial.RunUntil(now);
    queues.push_back(static_cast<double>(trial.Activity()[last].queueBytes));
  }
  const std::vector<LinkCounters> after = trial.Links();
  LongFlows result;
  for (int i = 0; i < flows; ++i) {
    result.shares.push_back(8e9 * static_cast<double>(after[2 * i].bytes - before[2 * i].bytes) /
                            static_cast<double>(until - from) / static_cast<double>(rate));
  }
  result.queue =
      std::accumulate(queues.begin(), queues.end(), 0.0) / static_cast<double>(queues.size());
  std::ranges::sort(queues);
  result.queue99 = Percentile(queues, 0.99);
  result.marks = static_cast<double>(after[last].marks - before[last].marks) /
                 static_cast<double>(after[last].packets - before[last].packets);
  for (const LinkCounters& link : after) result.pauses += link.pauses;
  return result;
}

double SumOf(const LongFlows& flows) {
  return std::accumulate(flows.shares.begin(), flows.shares.end(), 0.0);
}

// Frames of 1,000 bytes, as in the equations of DCQCN.
const std::string kDcqcnFrames = "mtu=918,header=82,message-header=0,buffer=64MiB";

// A SettledCase is N long flows of DCQCN at their fixed point.
struct SettledCase {
  int flows;
  int64_t gbps;
  const char* np;
  fabric::EcnThresholds ecn;
};

constexpr fabric::EcnThresholds kPaperMarks = {5e3, 200e3, 0.01};
// The same line, so far that the queue of eight flows does not swing beyond it.
constexpr fabric::EcnThresholds kPaperLine = {5e3, 1955e3, 0.1};
constexpr fabric::EcnThresholds kProductionMarks = {400e3, 1600e3, 0.2};

// Share of marked frames over p*: that of CoNEXT'16 for its receiver, that of cycles for the other.
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

// HPCC: U = eta + N W_AI / (B T).
RoceFigure HpccUtilisation(int flows) {
  constexpr int kMtu = 1000;
  const LongFlows ours = RunLong("mtu=1000,cc=hpcc", flows, kRate, 2 * kMs, 6 * kMs);
  // A full frame there and its ACK back, over two links each; telemetry of one switch.
  const double frames = 8e9 * (2 * (kMtu + 82 + 10) + 2 * (86 + 10)) / kRate;
  const double trip = 4 * kDelay + frames;
  // The senders' links carry 8 bytes of telemetry less than the receiver's.
  const double share = SumOf(ours) * (kMtu + 92.0) / (kMtu + 84.0);
  return Within(share, 0.95 + flows * 80 * 8e9 / (kRate * trip), 0.01);
}

// --- Trains --------------------------------------------------------------------------------------

// A TrainCase is flows, or a ring all-reduce, that are run with trains and without.
struct TrainCase {
  std::string name;
  std::string options;
  std::function<fabric::Topology()> topology;  // without one: a ring on a fat-tree
  std::vector<fabric::Flow> flows;
  double tolerance = 0;  // of the time of each flow
  double fewer = 0;      // events, at least so many times
  bool quick = false;
};

// What a run with trains, or without, comes to.
struct TrainRun {
  std::vector<TimeNs> times;
  double events = 0;
};

TrainRun RunTrains(const TrainCase& one, const std::string& train) {
  const std::string transport = "roce:" + one.options + ",train=" + train;
  if (!one.topology) {
    const Experiment experiment = ExperimentOf(
        {"topo=fat-tree:k=4 workers=16 bandwidth=100Gbps delay=1us bytes=44.7MB transport=" +
         transport},
        {"packet"});
    const Measurement result = Measure(Prepare(experiment), {}).front();
    return {{result.Time()}, static_cast<double>(result.timing.counters.events)};
  }
  RoceTrial trial(one.topology(), transport);
  for (const fabric::Flow& flow : one.flows) trial.Send(flow);
  trial.RunUntil();
  return {trial.Arrived(), static_cast<double>(trial.Counters().events)};
}

// Returns the time of the flow whose time differs most, or the events.
RoceFigure CompareTrains(const TrainCase& one, bool events) {
  const TrainRun single = RunTrains(one, "1");
  const TrainRun trains = RunTrains(one, "8");
  if (events) {
    return {trains.events, single.events, one.fewer * trains.events <= single.events};
  }
  RoceFigure worst;
  for (size_t i = 0; i < single.times.size(); ++i) {
    const RoceFigure flow = Within(static_cast<double>(trains.times[i]),
                                   static_cast<double>(single.times[i]), one.tolerance);
    const auto error = [](const RoceFigure& figure) {
      return std::abs(figure.ours / figure.expected - 1);
    };
    worst = i == 0 || error(flow) > error(worst) ? flow : worst;
  }
  return worst;
}

std::vector<fabric::Flow> FlowsToOne(int senders, int64_t bytes) {
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < senders; ++i) flows.push_back({i, senders, bytes});
  return flows;
}

std::vector<TrainCase> TrainCases() {
  constexpr int64_t kMb = 1'000'000;
  const std::string none = "cc=none,ecn=off";
  const auto star = [](int hosts) {
    return [hosts] { return fabric::RoceStar(hosts, kRate, kDelay); };
  };
  std::vector<fabric::Flow> victim = FlowsToOne(5, 2 * kMb);
  for (fabric::Flow& flow : victim) flow.destination = 6;
  victim.push_back({5, 7, 2 * kMb});
  return {
      {"one flow of 1 MB, none", none, star(2), {{0, 1, kMb}}, 0.01, 4, true},
      {"one flow of 100 MB, none", none, star(2), {{0, 1, 100 * kMb}}, 0.01, 4},
      {"one flow of 10 MB over a trunk of four times the rate, none",
       none,
       [] { return fabric::RoceTrunk(1, 1, kRate, 4 * kRate, kDelay); },
       {{0, 1, 10 * kMb}},
       0.01,
       4},
      {"ring all-reduce of 44.7 MB, 16 workers of a k=4 fat-tree, dcqcn",
       "cc=dcqcn",
       {},
       {},
       0.01,
       4},
      {"15 to 1, 1 MB each, none, 64 MiB", none + ",buffer=64MiB", star(16), FlowsToOne(15, kMb),
       0.05, 4, true},
      {"15 to 1, 1 MB each, none, 4 MiB", none + ",buffer=4MiB", star(16), FlowsToOne(15, kMb),
       0.05, 4, true},
      {"victim of five to one, none, 2 MiB", none + ",buffer=2MiB",
       [] { return fabric::RoceTrunk(6, 2, kRate, 4 * kRate, kDelay); }, victim, 0.05, 4},
      {"8 to 1, 1 MB each, dcqcn, 32 MiB", "cc=dcqcn,buffer=32MiB", star(9), FlowsToOne(8, kMb),
       0.05, 1},
      {"8 to 1, 10 MB each, dcqcn, 32 MiB", "cc=dcqcn,buffer=32MiB", star(9),
       FlowsToOne(8, 10 * kMb), 0.05, 1},
  };
}

std::vector<RoceCheck> Trains() {
  std::vector<RoceCheck> checks;
  for (const TrainCase& one : TrainCases()) {
    checks.push_back({"train", "trains: " + one.name, "ns of the flow that differs most",
                      FormatFixed(100 * one.tolerance, 0) + " %", 0, one.quick,
                      [=] { return CompareTrains(one, false); }});
    checks.push_back({"train", "events of trains: " + one.name, "events",
                      one.fewer > 1 ? FormatFixed(one.fewer, 0) + " times fewer" : "no more", 0,
                      one.quick, [=] { return CompareTrains(one, true); }});
  }
  return checks;
}

// --- Published trends ----------------------------------------------------------------------------

// Ring of five switches, host i sends to i + 2 (CoNEXT'17). Returns 1 where it deadlocks.
RoceFigure RingDeadlock(const std::string& topology, const std::string& options, int distance,
                        bool expected) {
  fabric::TopologyRequest request;
  request.text = topology;
  request.rateBps = kRate;
  request.delay = kDelay;
  request.hostsNeeded = 5;
  const fabric::Topology made = fabric::MakeTopology(request);
  RoceTrial trial(made, "roce:" + options);
  for (int i = 0; i < 5; ++i) trial.Send({i, (i + distance) % 5, 20'000'000});
  double dead = 0;
  try {
    trial.RunUntil();
  } catch (const Error& error) {
    dead = std::string(error.what()).starts_with("PFC deadlock") ? 1 : 2;
  }
  return {dead, expected ? 1.0 : 0.0, dead == (expected ? 1 : 0)};
}

// Mean time of 48 messages of 1 MB on four leaves with four spines, in microseconds, that meet on
// uplinks and at hosts.
double MeanTimeOfMessages(const std::string& options) {
  fabric::TopologyRequest request;
  request.text = "leaf-spine:leaves=4,hosts=4,spines=4";
  request.rateBps = 40 * kGbps;
  request.delay = kDelay;
  request.hostsNeeded = 16;
  RoceTrial trial(fabric::MakeTopology(request), "roce:cc=none,mtu=1024,buffer=800KB," + options);
  for (int i = 0; i < 16; ++i) {
    for (const int hop : {5, 7, 11}) trial.Send({i, (i * hop + hop) % 16, 1'000'000});
  }
  trial.RunUntil();
  const std::vector<TimeNs>& arrived = trial.Arrived();
  return std::accumulate(arrived.begin(), arrived.end(), 0.0) /
         (1e3 * static_cast<double>(arrived.size()));
}

std::vector<RoceCheck> Anchors() {
  std::vector<RoceCheck> checks;
  for (const fabric::RoceAnchor& anchor : fabric::RoceAnchors()) {
    const std::string allowed = FormatFixed(100 * anchor.tolerance, 1) + " %" +
                                (anchor.pauses > 0 ? ", pauses within a factor of 2" : "");
    checks.push_back({"anchor", anchor.name, "ns", allowed, 0, anchor.bytes <= 1'000'000, [anchor] {
                        const fabric::RoceAnchorResult ours = fabric::RunRoceAnchor(anchor);
                        return RoceFigure{static_cast<double>(ours.time),
                                          static_cast<double>(anchor.published),
                                          ours.Holds(anchor)};
                      }});
  }
  return checks;
}

std::vector<RoceCheck> Forms() {
  const std::string none = "cc=none,ecn=off";
  std::vector<RoceCheck> checks;
  const auto add = [&](const std::string& name, const std::string& quantity,
                       const std::string& target, int decimals,
                       const std::function<RoceFigure()>& run, bool quick = false) {
    checks.push_back({"form", name, quantity, target, decimals, quick, run});
  };
  for (const auto& [rate, mtu] : {std::pair{25, 4096}, {100, 4096}, {100, 1024}, {800, 256}}) {
    add("one flow of 100 MB, " + std::to_string(rate) + " Gbit/s, MTU " + std::to_string(mtu),
        "Gbit/s of payload", "0.01 %", 3,
        [=, mtu = mtu, rate = rate] { return Goodput(rate * kGbps, mtu, none, 1e-4); });
  }
  add("the same, 100 Gbit/s, MTU 4096, window=bdp", "Gbit/s of payload", "0.01 %", 3,
      [=] { return Goodput(kRate, 4096, none + ",window=bdp", 1e-4); });
  for (const char* buffer : {"64MiB", "2MiB"}) {
    add(
        std::string("15 to 1, 1 MB each, buffer ") + buffer, "ns", "0.1 %, nothing lost", 0,
        [=] { return Incast(15, none + ",buffer=" + buffer); }, true);
  }
  add("ring all-reduce of 8 MB, 16 workers", "ns", "0.2 %", 0, [] { return Ring(16); });
  const std::string small = none + ",buffer=1MiB";
  add(
      "two ports into one, none: flow alone at its port", "of the line", "5 %", 3,
      [=] { return PortShare(small, TwoPorts(kRate, false), true, 1.0 / 2, 0.05, kMs); }, true);
  add("two ports into one, none: one of three flows", "of the line", "5 %", 3,
      [=] { return PortShare(small, TwoPorts(kRate, false), false, 1.0 / 6, 0.05, kMs); });
  const std::string doubled = none + ",buffer=2MiB";
  add("the same, their port has four times the rate: flow alone", "of the line", "5 %", 3,
      [=] { return PortShare(doubled, TwoPorts(4 * kRate, false), true, 1.0 / 5, 0.05, kMs); });
  add("the same, their port has four times the rate: one of three", "of the line", "5 %", 3,
      [=] { return PortShare(doubled, TwoPorts(4 * kRate, false), false, 4.0 / 15, 0.05, kMs); });
  add("two ports into one, hpcc:wai=500B, equal round trips: flow alone", "of the line", "15 %", 3,
      [] {
        return PortShare("mtu=1000,cc=hpcc:wai=500B", TwoPorts(kRate, true), true, 1.0 / 4, 0.15,
                         10 * kMs);
      });
  add("two ports into one, dcqcn: flow alone", "of the line", "15 %", 3, [] {
    return PortShare("cc=dcqcn,buffer=32MiB", TwoPorts(kRate, false), true, 1.0 / 4, 0.15,
                     50 * kMs);
  });
  add("victim of five to one, none, 2 MiB", "of the line", "10 %", 3,
      [=] { return Victim(none + ",buffer=2MiB", [](double r) { return Within(r, .2, .1); }); });
  add("go-back-n, one frame in 100 lost", "of the line", "3 %", 3, GoBackN);
  add("10,000 random fabrics with PFC: what is lost or left", "frames", "none", 0,
      [] { return Headroom(10'000); });
  for (const char* np : {"window", "gap"}) {
    for (const SettledCase& one : {SettledCase{2, 40, np, kPaperMarks},
                                   {4, 40, np, kPaperMarks},
                                   {8, 40, np, kPaperLine},
                                   {4, 100, np, kProductionMarks},
                                   {8, 100, np, kProductionMarks}}) {
      add("DCQCN, np=" + std::string(np) + ", " + std::to_string(one.flows) + " flows at " +
              std::to_string(one.gbps) + " Gbit/s" +
              (one.ecn.mostBytes == kPaperLine.mostBytes ? ", kmax 1,955 kB" : ""),
          "% of frames marked", "30 %, queue 30 %, line 98 % full", 3,
          [=] { return FixedPointMarks(one); });
    }
  }
  add("DCQCN, second flow 1 ms later", "Jain's index", "0.99 or more", 3, [] {
    const std::string options = kDcqcnFrames + ",ecn=5KB/200KB/0.01,cc=dcqcn:np=window";
    return AtLeast(JainIndex(RunLong(options, 2, 40 * kGbps, 50 * kMs, 100 * kMs, kMs).shares),
                   0.99);
  });
  for (const int flows : {1, 2, 8}) {
    add("HPCC, " + std::to_string(flows) + " flow" + (flows > 1 ? "s" : ""), "of the line", "1 %",
        4, [=] { return HpccUtilisation(flows); });
  }
  return checks;
}

std::vector<RoceCheck> Trends() {
  std::vector<RoceCheck> checks;
  const auto add = [&](const std::string& name, const std::string& quantity,
                       const std::string& target, int decimals,
                       const std::function<RoceFigure()>& run) {
    checks.push_back({"trend", name, quantity, target, decimals, false, run});
  };
  const auto port_ratio = [](const std::string& options, TimeNs from) {
    RoceTrial trial(TwoPorts(kRate, false), "roce:" + options);
    for (int i = 0; i < 4; ++i) trial.Send({i, 4, kEndless});
    const std::vector<double> shares = SharesBetween(trial, 4, from, 2 * from);
    return 3 * shares[3] / (shares[0] + shares[1] + shares[2]);
  };
  // Zhu et al., SIGCOMM'15.
  add("SIGCOMM'15: PFC alone favours the flow with a port to itself", "its rate over the others'",
      "above 1", 2, [=] { return AtLeast(port_ratio("cc=none,ecn=off,buffer=1MiB", kMs), 1.5); });
  add("SIGCOMM'15: DCQCN does not", "its rate over the others'", "1 (15 %)", 2,
      [=] { return Within(port_ratio("cc=dcqcn,buffer=32MiB", 50 * kMs), 1, 0.15); });
  const auto victim = [](const std::string& options) {
    return Victim(options, [](double rate) { return RoceFigure{rate, 0, true}; }).ours;
  };
  add("SIGCOMM'15: DCQCN frees the victim of PFC", "its rate over that with PFC alone", "above 1",
      2, [=] {
        return AtLeast(victim("cc=dcqcn,buffer=12MiB") / victim("cc=none,ecn=off,buffer=12MiB"), 1);
      });
  for (const int senders : {2, 8, 20}) {
    add("SIGCOMM'15: " + std::to_string(senders) + " to 1 keeps the line full", "of the line",
        "0.97 or more", 3, [=] {
          return AtLeast(
              SumOf(RunLong("cc=dcqcn,buffer=32MiB", senders, kRate, 50 * kMs, 70 * kMs)), 0.97);
        });
  }
  // Li et al., SIGCOMM'19.
  for (const int senders : {2, 16}) {
    const std::string name = "SIGCOMM'19: " + std::to_string(senders) + " to 1, ";
    add(name + "HPCC's queue", "kB, 99th percentile", "20 or less, no pause", 1, [=] {
      const LongFlows ours = RunLong("mtu=1000,cc=hpcc", senders, kRate, 2 * kMs, 6 * kMs);
      RoceFigure check = AtMost(ours.queue99 / 1e3, 20);
      check.holds = check.holds && ours.pauses == 0;
      return check;
    });
    add(name + "DCQCN's queue", "kB, mean", "100 or more", 1, [=] {
      return AtLeast(
          RunLong("mtu=1000,cc=dcqcn,buffer=32MiB", senders, kRate, 50 * kMs, 70 * kMs).queue / 1e3,
          100);
    });
  }
  // Zhu et al., CoNEXT'16.
  for (const int flows : {2, 8, 16}) {
    add("CoNEXT'16: DCQCN is fair, " + std::to_string(flows) + " flows", "Jain's index",
        "0.97 or more", 3, [=] {
          return AtLeast(
              JainIndex(RunLong("cc=dcqcn,buffer=32MiB", flows, kRate, 50 * kMs, 100 * kMs).shares),
              0.97);
        });
  }
  const auto timely = [](const std::string& options) {
    return JainIndex(
        RunLong("mtu=1000,buffer=64MiB,ecn=off,cc=timely:segment=16KB+pacing=frame" + options, 2,
                10 * kGbps, 100 * kMs, 150 * kMs, 10 * kMs)
            .shares);
  };
  add("CoNEXT'16: TIMELY is as unfair as flows began, second flow 10 ms later", "Jain's index",
      "below 0.97", 3, [=] { return AtMost(timely("+a=0.875"), 0.97); });
  add("CoNEXT'16: the patched form is fair", "Jain's index", "0.99 or more", 3,
      [=] { return AtLeast(timely("+patched=on"), 0.99); });
  // Mittal et al., SIGCOMM'18.
  const std::string selective = "pfc=off,recovery=selective";
  add("SIGCOMM'18: selective repeat needs no PFC", "time over that of go-back-n with PFC",
      "1.05 or less", 3, [=] {
        return AtMost(
            MeanTimeOfMessages(selective) / MeanTimeOfMessages("pfc=on,recovery=go-back-n"), 1.05);
      });
  add("SIGCOMM'18: go-back-n needs PFC", "time without over that of selective repeat",
      "1.5 or more", 1, [=] {
        return AtLeast(
            MeanTimeOfMessages("pfc=off,recovery=go-back-n") / MeanTimeOfMessages(selective), 1.5);
      });
  // Hu et al., CoNEXT'17.
  const std::string none = "cc=none,ecn=off,buffer=2MiB";
  add("CoNEXT'17: ring of 5, host i to i + 2, PFC alone", "deadlocks", "1", 0,
      [=] { return RingDeadlock("ring:hosts=5", none, 2, true); });
  add("CoNEXT'17: the same, HPCC", "deadlocks", "0", 0,
      [] { return RingDeadlock("ring:hosts=5", "cc=hpcc,buffer=2MiB", 2, false); });
  add("CoNEXT'17: the same, no cycle (host i to i + 1)", "deadlocks", "0", 0,
      [=] { return RingDeadlock("ring:hosts=5", none, 1, false); });
  add("CoNEXT'17: the same on a star, no cycle", "deadlocks", "0", 0,
      [=] { return RingDeadlock("star", none, 2, false); });
  return checks;
}

ValidationRow RowOf(const RoceCheck& check) {
  const RoceFigure done = check.run();
  const bool sum = done.expected != 0;
  return {check.name,
          check.part,
          check.quantity,
          FormatFixed(done.ours, check.decimals),
          FormatFixed(done.expected, check.decimals),
          sum ? FormatFixed(100 * (done.ours / done.expected - 1), 2) : "-",
          check.target,
          done.holds ? "yes" : "no"};
}

// Returns the rows of a part, with the columns that its table shows.
ValidationTable TableOf(const std::string& name, const std::string& part,
                        const ValidationTable& all, const ValidationRow& columns,
                        const std::vector<int>& shown) {
  ValidationTable table{name, columns, {}};
  for (const ValidationRow& row : all.rows) {
    if (row[1] != part) continue;
    ValidationRow one;
    for (const int column : shown) one.push_back(row[column]);
    table.rows.push_back(one);
  }
  return table;
}

}  // namespace

SectionResult ValidateRoce(const SectionRun& run) {
  std::vector<RoceCheck> checks = Anchors();
  for (std::vector<RoceCheck> more : {Forms(), Trends(), Trains()}) {
    for (RoceCheck& check : more) checks.push_back(std::move(check));
  }
  if (run.sample) std::erase_if(checks, [](const RoceCheck& check) { return !check.quick; });
  std::vector<std::string> names;
  for (const RoceCheck& check : checks) names.push_back(check.name);
  SectionResult result;
  result.csv = {
      "roce",
      {"case", "part", "quantity", "ours", "expected", "ours - expected (%)", "target", "holds"},
      ForkRows(run, names, [&](int i) { return RowOf(checks[i]); })};
  for (const ValidationRow& row : result.csv.rows) {
    result.Expect(row[7] == "yes", "roce: " + row[0] + ": " + row[3] + " " + row[2] + ", target " +
                                       row[6] + " of " + row[4]);
  }
  result.document = {TableOf("roce-anchors", "anchor", result.csv,
                             {"case", "ours (ns)", "ASTRA-sim (ns)", "difference (%)", "allowed"},
                             {0, 3, 4, 5, 6}),
                     TableOf("roce-forms", "form", result.csv,
                             {"case", "quantity", "ours", "expected", "difference (%)", "allowed"},
                             {0, 2, 3, 4, 5, 6}),
                     TableOf("roce-trends", "trend", result.csv,
                             {"case", "quantity", "ours", "target", "holds"}, {0, 2, 3, 6, 7}),
                     TableOf("roce-trains", "train", result.csv,
                             {"case", "quantity", "train=8", "train=1", "difference (%)", "target"},
                             {0, 2, 3, 4, 5, 6})};
  return result;
}

}  // namespace legacy
