// A recorded step as a plan (fabric/step/step-plan.h), for other simulators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ns3-module/fabric/step/step-plan.h"
#include "scenarios/run/recording.h"

namespace legacy {

// A RecordedStep names a step of a recording.
struct RecordedStep {
  std::string policy;            // "": that of the first training
  std::optional<uint64_t> seed;  // nothing: the first one of the policy
  int64_t step = 0;              // from 0
};

// Returns the plan of a step of workers on the network and the devices of the recording. Throws
// Error where there is no such training or step, and on runs of clients.
fabric::StepPlan PlanOfRecordedStep(const Recording& recording, const RecordedStep& which);

}  // namespace legacy
