// Checks of RoCEv2 against what papers say. Rows that would need a paper's own testbed compare only
// the sign.
#include <numeric>

#include "base/error.h"
#include "ns3-module/fabric/import/make.h"
#include "scenarios/network/fairness.h"
#include "scenarios/network/validation/roce_checks.h"
#include "scenarios/network/validation/roce_flows.h"

namespace legacy::roce_validation {
namespace {

using fabric::RoceTrial;

// In a ring of five switches, host i sends to host i + `distance` (CoNEXT'17). Returns 1 if it
// deadlocks.
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

// Returns the mean time, in microseconds, of 48 messages of 1 MB on four leaves with four spines.
// The messages meet on uplinks and at hosts.
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

// Returns the rate of a flow that is alone at its port, divided by the mean rate of three at
// another port.
double PortRatio(const std::string& options, TimeNs from) {
  const std::vector<double> shares = SharesOfPorts(options, TwoPorts(kRate, false), from);
  return 3 * shares[3] / (shares[0] + shares[1] + shares[2]);
}

// Returns how fair TIMELY is to a second flow that begins 10 ms later.
double TimelyIndex(const std::string& options) {
  return JainIndex(
      RunLong("mtu=1000,buffer=64MiB,ecn=off,cc=timely:segment=16KB+pacing=frame" + options, 2,
              10 * kGbps, 100 * kMs, 150 * kMs, 10 * kMs)
          .shares);
}

// Zhu et al., SIGCOMM'15: DCQCN.
void AddSigcomm15(RoceChecks& checks) {
  checks.Add("SIGCOMM'15: PFC alone favours the flow with a port to itself",
             "its rate over the others'", "above 1", 2,
             [] { return AtLeast(PortRatio("cc=none,ecn=off,buffer=1MiB", kMs), 1.5); });
  checks.Add("SIGCOMM'15: DCQCN does not", "its rate over the others'", "1 (15 %)", 2,
             [] { return Within(PortRatio("cc=dcqcn,buffer=32MiB", 50 * kMs), 1, 0.15); });
  checks.Add("SIGCOMM'15: DCQCN frees the victim of PFC", "its rate over that with PFC alone",
             "above 1", 2, [] {
               return AtLeast(
                   VictimRate("cc=dcqcn,buffer=12MiB") / VictimRate("cc=none,ecn=off,buffer=12MiB"),
                   1);
             });
  for (const int senders : {2, 8, 20}) {
    checks.Add("SIGCOMM'15: " + std::to_string(senders) + " to 1 keeps the line full",
               "of the line", "0.97 or more", 3, [=] {
                 return AtLeast(
                     SumOf(RunLong("cc=dcqcn,buffer=32MiB", senders, kRate, 50 * kMs, 70 * kMs)),
                     0.97);
               });
  }
}

// Li et al., SIGCOMM'19: HPCC.
void AddSigcomm19(RoceChecks& checks) {
  for (const int senders : {2, 16}) {
    const std::string name = "SIGCOMM'19: " + std::to_string(senders) + " to 1, ";
    checks.Add(name + "HPCC's queue", "kB, 99th percentile", "20 or less, no pause", 1, [=] {
      const LongFlows ours = RunLong("mtu=1000,cc=hpcc", senders, kRate, 2 * kMs, 6 * kMs);
      RoceFigure check = AtMost(ours.queue99 / 1e3, 20);
      check.holds = check.holds && ours.pauses == 0;
      return check;
    });
    checks.Add(name + "DCQCN's queue", "kB, mean", "100 or more", 1, [=] {
      return AtLeast(
          RunLong("mtu=1000,cc=dcqcn,buffer=32MiB", senders, kRate, 50 * kMs, 70 * kMs).queue / 1e3,
          100);
    });
  }
}

// Zhu et al., CoNEXT'16: DCQCN and TIMELY.
void AddConext16(RoceChecks& checks) {
  for (const int flows : {2, 8, 16}) {
    checks.Add(
        "CoNEXT'16: DCQCN is fair, " + std::to_string(flows) + " flows", "Jain's index",
        "0.97 or more", 3, [=] {
          return AtLeast(
              JainIndex(RunLong("cc=dcqcn,buffer=32MiB", flows, kRate, 50 * kMs, 100 * kMs).shares),
              0.97);
        });
  }
  checks.Add("CoNEXT'16: TIMELY is as unfair as flows began, second flow 10 ms later",
             "Jain's index", "below 0.97", 3, [] { return AtMost(TimelyIndex("+a=0.875"), 0.97); });
  checks.Add("CoNEXT'16: the patched form is fair", "Jain's index", "0.99 or more", 3,
             [] { return AtLeast(TimelyIndex("+patched=on"), 0.99); });
}

// Mittal et al., SIGCOMM'18: whether RDMA needs PFC.
void AddSigcomm18(RoceChecks& checks) {
  const std::string selective = "pfc=off,recovery=selective";
  checks.Add("SIGCOMM'18: selective repeat needs no PFC", "time over that of go-back-n with PFC",
             "1.05 or less", 3, [=] {
               return AtMost(
                   MeanTimeOfMessages(selective) / MeanTimeOfMessages("pfc=on,recovery=go-back-n"),
                   1.05);
             });
  checks.Add("SIGCOMM'18: go-back-n needs PFC", "time without over that of selective repeat",
             "1.5 or more", 1, [=] {
               return AtLeast(
                   MeanTimeOfMessages("pfc=off,recovery=go-back-n") / MeanTimeOfMessages(selective),
                   1.5);
             });
}

// Hu et al., CoNEXT'17: deadlocks.
void AddConext17(RoceChecks& checks) {
  const std::string none = "cc=none,ecn=off,buffer=2MiB";
  checks.Add("CoNEXT'17: ring of 5, host i to i + 2, PFC alone", "deadlocks", "1", 0,
             [=] { return RingDeadlock("ring:hosts=5", none, 2, true); });
  checks.Add("CoNEXT'17: the same, HPCC", "deadlocks", "0", 0,
             [] { return RingDeadlock("ring:hosts=5", "cc=hpcc,buffer=2MiB", 2, false); });
  checks.Add("CoNEXT'17: the same, no cycle (host i to i + 1)", "deadlocks", "0", 0,
             [=] { return RingDeadlock("ring:hosts=5", none, 1, false); });
  checks.Add("CoNEXT'17: the same on a star, no cycle", "deadlocks", "0", 0,
             [=] { return RingDeadlock("star", none, 2, false); });
}

}  // namespace

RoceChecks PublishedTrends() {
  RoceChecks checks("trend");
  AddSigcomm15(checks);
  AddSigcomm19(checks);
  AddConext16(checks);
  AddSigcomm18(checks);
  AddConext17(checks);
  return checks;
}

}  // namespace legacy::roce_validation
