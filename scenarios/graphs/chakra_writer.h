// The writer of Chakra's execution traces (chakra_reader.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ns3-module/fabric/step/step-plan.h"
#include "scenarios/graphs/trace_node.h"

namespace legacy::graphs {

// Returns the bytes of a file's first message. `plan` is what our plans say of all ranks; nothing:
// the file is none of ours.
std::string ChakraHeader(const std::optional<PlanFields>& plan);
// Returns those of a node.
std::string ChakraNode(const TraceNode& node);

// Writes the plan as a file for each rank, NAME.RANK.et, and the groups of its collectives as
// comm_group.json, into a folder that it makes. ImportTrace makes an equal plan of them, with equal
// times to the nanosecond: what Chakra has no word for is in attributes that begin with "legacy_"
// (docs/execution-traces.md). `per_role`: of each role only the first rank has such a file, and the
// others NAME.RANK.et-diff, with what differs from it. Throws Error where the folder has other
// traces, or cannot be written.
void WriteChakra(const fabric::StepPlan& plan, const std::filesystem::path& folder,
                 const std::string& name, bool per_role);

}  // namespace legacy::graphs
