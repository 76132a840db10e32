// How the clock prices a step of a divided model, stage by stage. Internal to the clock.
#pragma once

#include <span>
#include <vector>

#include "trainer/clock/clock.h"

namespace legacy {

// A Stage is what the clock knows of one stage while it prices it.
struct Clock::Stage {
  int number = 0;
  std::vector<OperationRange> chunks;
  ShardedModel model;                     // units of all chunks
  std::vector<std::vector<int>> unit_of;  // of the operations of each chunk
  std::vector<double> factors;            // slow-downs of its ranks; empty: none
  fabric::ShardedStage* traffic = nullptr;
};

// Returns whether each operation of the forward pass runs again in the backward pass.
std::vector<bool> ComputedAgain(std::span<const OperationCost> operations, RecomputeRule rule);

// Returns the units of all chunks of a stage. The last stage has a copy of what its head shares
// with the first one. `unit_of` gets the unit of each operation of each chunk, unless it is null.
std::vector<UnitOfModel> UnitsOfStage(const ShardingOptions& options, int workers,
                                      std::span<const OperationCost> operations,
                                      std::span<const Unit> layers, int stage,
                                      std::span<const OperationRange> chunks,
                                      std::vector<std::vector<int>>* unit_of = nullptr);

// Returns the times of workers that are slowed down by `factors`; one for all where there are none.
std::vector<TimeNs> SlowedTimes(double seconds, std::span<const double> factors);

// Returns the options of collectives whose members are the same part of each model: those of a node
// are fewer.
TransferOptions InData(const ParallelLayout& layout, TransferOptions transfers);

}  // namespace legacy
