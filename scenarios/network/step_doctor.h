// The doctor's remedies for a step, or for the mean completion time of a list of flows: faster
// links, faster devices, ... Those of congestion are tried where RoCEv2 is simulated with packets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/device_times.h"
#include "scenarios/network/doctor.h"
#include "scenarios/network/flow_list.h"

namespace legacy {

// Congestion says which flows of a step over RoCEv2 pauses held up.
struct Congestion {
  int64_t flows = 0;    // flows that crossed the network
  int64_t waiting = 0;  // those that waited behind a pause
  int64_t victims = 0;  // those of them that crossed no full port beyond the pause
  std::string root;     // link whose queue held up flows for the longest time, in sum
  int64_t behind = 0;   // flows that waited for it most
  std::string host;  // destination of most flows through that queue, from several hosts; or empty
};

// A StepDiagnosis is that of a step or a list of flows. The remedies have these names:
// "slowest-worker", "slow-workers", "encode", "decode", "codec", "pauses", "congestion-control",
// "delays", "busiest-link", "tier", "all-links", "compute"; of divided models also "gathers",
// "reductions", "copies", "tensors", "contexts", "experts" and "stages", each of which then takes
// no time, "reshard-off" and "prefetch". Those that would change nothing are not tried. `waits` is
// of congestion: "12 % of the step flows waited behind pauses that began at spine0>leaf1 (incast to
// host3)", and how many were victims; empty where none waited.
struct StepDiagnosis : Diagnosis {
  bool of_flows = false;     // true for a list of flows, which has no devices
  std::string busiest_link;  // name: "leaf0>spine1"; empty where nothing is sent
  // Rate of that link, bits per second.
  int64_t busiest_rate = 0;
  double busiest_utilisation = 0;  // part of the step, or until the last flow, that it transmits
  int slowest_worker = 0;          // worker whose device works longest, the first of several
  TimeNs slowest_time = 0;
  TimeNs median_time = 0;    // median of the workers' device times, the lower of two
  Congestion congestion;     // of RoCEv2 with packets
  bool knows_pauses = true;  // false where roce is simulated without packets
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
StepDiagnosis Diagnose(const DoctorCase& step, const fabric::EngineRequest& network,
                       const fabric::EngineFactory& factory);

// Returns the verdict, the facts and the remedies, the verdict's marked by a star, in at most 15
// lines.
std::string DoctorText(const StepDiagnosis& diagnosis);

}  // namespace legacy
