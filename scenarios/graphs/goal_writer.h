// The writer of GOAL schedules (goal_reader.h).
#pragma once

#include <string>

#include "ns3-module/fabric/step/step-plan.h"

namespace legacy::graphs {

// Returns the plan as the text of a GOAL schedule. Collectives are written out as messages
// (collective_messages.h), the order of streams and communicators as dependencies, and segments as
// calc on the cpu of their stream's device. Throws Error where the plan has what GOAL cannot say:
// collectives that need more than their ranks, times before which operations do not start,
// contention, and limits of hosts.
std::string GoalText(const fabric::StepPlan& plan);

}  // namespace legacy::graphs
