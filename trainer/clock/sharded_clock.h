// How the clock prices a step of a divided model, stage by stage. Internal to the clock.
#pragma once

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

// Returns the options of collectives whose members are the same part of each model: those of a node
// are fewer.
TransferOptions InData(const ParallelLayout& layout, TransferOptions transfers);

}  // namespace legacy
