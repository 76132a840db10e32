// The doctor finds by trial what bounds a step, or the mean completion time of a list of flows.
// Every remedy (a faster link, faster devices, ...) is simulated on the same traffic; the remedy
// that saves most names the bound.
//
// The verdict takes the kind of the remedy with the largest gain, and of this kind's remedies the
// narrowest that gains at least kAsGood of that (one link before its tier before all links; the
// slowest worker before all slow ones; encoding or decoding before both). Where no remedy gains
// kNoticeable, the step is balanced. Of equal gains the order is straggler, codec, congestion,
// latency, bandwidth, compute.
//
// Congestion needs no better hardware, so its remedies decide where they gain kNoticeable, and at
// least kCongestionShare of the largest gain. They are tried where the doctor simulates RoCEv2 with
// packets.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/device_times.h"
#include "scenarios/network/flow_list.h"

namespace legacy {

inline constexpr double kNoticeable = 0.05;      // fraction of the step's time
inline constexpr double kAsGood = 0.9;           // fraction of the largest gain
inline constexpr double kCongestionShare = 0.5;  // fraction of the largest gain

// A Bound is what may bound a step.
enum class Bound : uint8_t {
  kBalanced,
  kStraggler,
  kCodec,
  kCongestion,
  kLatency,
  kBandwidth,
  kCompute
};
const char* ToString(Bound bound);  // "balanced", "straggler", ...

// A Remedy is one change, simulated. Remedies that would change nothing are not tried.
struct Remedy {
  Bound bound = Bound::kBalanced;
  // "slowest-worker", "slow-workers", "encode", "decode", "codec", "pauses", "congestion-control",
  // "delays", "busiest-link", "tier", "all-links", "compute"
  std::string name;
  std::string change;  // words: "link leaf0>spine1 twice as fast"
  TimeNs total = 0;    // time of the step, or mean of the flows, with the remedy
  double gain = 0;     // part of the time that is saved; below 0 where time is lost
};

// Congestion says which flows of a step over RoCEv2 pauses held up.
struct Congestion {
  int64_t flows = 0;    // flows that crossed the network
  int64_t waiting = 0;  // those that waited behind a pause
  int64_t victims = 0;  // those of them that crossed no full port beyond the pause
  std::string root;     // link whose queue held up flows for the longest time, in sum
  int64_t behind = 0;   // flows that waited for it most
  std::string host;  // destination of most flows through that queue, from several hosts; or empty
};

// A Diagnosis is the doctor's result.
struct Diagnosis {
  uint64_t step = 0;
  bool of_flows = false;  // true for a list of flows, which has no devices
  TimeNs total = 0;       // time of the step, or mean completion time of the flows
  Bound bound = Bound::kBalanced;
  std::optional<size_t> verdict;  // position of the decisive remedy; nullopt where balanced
  std::string busiest_link;       // name: "leaf0>spine1"; empty where nothing is sent
  // Rate of that link, bits per second.
  int64_t busiest_rate = 0;
  double busiest_utilisation = 0;  // part of the step, or until the last flow, that it transmits
  int slowest_worker = 0;          // worker whose device works longest, the first of several
  TimeNs slowest_time = 0;
  TimeNs median_time = 0;        // median of the workers' device times, the lower of two
  std::vector<Remedy> remedies;  // remedies by gain, the largest first
  Congestion congestion;         // of RoCEv2 with packets
  bool knows_pauses = true;      // false where roce is simulated without packets
};

// A DoctorCase is a step to diagnose, or a list of flows.
struct DoctorCase {
  const fabric::StepTraffic* traffic = nullptr;
  EncodeTimes encode;
  uint64_t step = 0;  // keys the draws of random engines
  TimeNs start = 0;   // time of rates and failures that change, where the step begins
  const std::vector<FlowRequest>* flows = nullptr;  // where it is not null, there is no traffic
};

// Simulates the step as it is and with each remedy, in about a dozen simulations. Throws Error
// where `encode` does not belong to the traffic, and as StepSimulator does.
Diagnosis Diagnose(const DoctorCase& step, const fabric::EngineRequest& network,
                   const fabric::EngineFactory& factory);

// Returns one line without its end: "bound by bandwidth: host links twice as fast save 41.2 % of
// 5.21 ms". Of congestion it ends with CongestionText.
std::string VerdictText(const Diagnosis& diagnosis);
// Returns a sentence without its end: "12 % of the step flows waited behind pauses that began at
// spine0>leaf1 (incast to host3)", and how many were victims; empty where none waited.
std::string CongestionText(const Diagnosis& diagnosis);
// Returns the verdict, the facts and the remedies, the verdict's marked by a star, in at most 15
// lines.
std::string DoctorText(const Diagnosis& diagnosis);

// Returns one object for the traffic as it is (remedy "none") and one for each remedy; `head` comes
// first in each. Keys: remedy, bound, change, step_seconds (of a list of flows: mean_flow_seconds),
// gain, verdict (0 or 1).
std::vector<nlohmann::ordered_json> DoctorRows(const Diagnosis& diagnosis,
                                               const nlohmann::ordered_json& head);

}  // namespace legacy
