// These functions say what the ranks of a shape's run hold, by kind, and how many FLOPs a step has.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "analysis/summary.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/timed_run.h"
#include "trainer/clock/rank_memory.h"

namespace legacy {

// Returns the memory of the ranks of each stage of the scenario's shape (training.layers) by one of
// its methods. A node has `node` workers. Throws Error as the steps of the shape do.
std::vector<RankMemory> MemoryOfRanks(const Scenario& scenario, const std::string& method,
                                      int node);

// Returns the row of a stage on a device of so many bytes.
analysis::MemoryRow MemoryRowOf(const std::string& method, const RankMemory& memory, double device);

// Returns a table of the ranks with most bytes, with a line for each method that has other figures
// than those before, and a warning where a device has less memory.
std::string MemoryText(std::span<const analysis::MemoryRow> rows, const std::string& device);

// Writes the rows of all methods on all networks, unless the run continues, and returns that table
// of the run's own network, and of networks on which ranks hold something else. Empty where nothing
// is a shape.
std::string WriteMemory(const Scenario& scenario, std::span<const TimedNetwork> networks,
                        bool goes_on);

// Returns the FLOPs of a step of the scenario's shape at all of its workers, and the peak of their
// devices; nothing where that peak is not known.
std::optional<analysis::StepFlops> FlopsOfStep(const Scenario& scenario);

// Adds them to what the manifest says of the shape.
void DescribeFlops(const Scenario& scenario, nlohmann::json& manifest);

}  // namespace legacy
