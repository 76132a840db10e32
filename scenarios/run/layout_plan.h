// A plan of layouts says how workers can divide a shape (training.layers): it enumerates tensor and
// pipeline parallelism, sharding, microbatches and recomputation for one global batch, drops what
// does not fit the device's memory, and times one step of what does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "base/programs/program.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/rank_memory.h"

namespace legacy {

// A PlannedLayout is one that fits, by one method.
struct PlannedLayout {
  Scenario scenario;  // with one policy
  RankMemory memory;  // of the largest stage
  analysis::StepRow step;
  double samples_per_second = 0;
  double mfu = 0;  // 0: the device's peak is not known
};

// A LayoutPlan is the result.
struct LayoutPlan {
  int64_t samples = 0;  // of a step
  double device = 0;    // bytes of its memory
  int64_t tried = 0;    // combinations of layout and method
  int64_t fit = 0;
  // The number of the others, by reason.
  std::map<std::string, int64_t> dropped = {};
  std::vector<PlannedLayout> timed = {};  // the shortest step first
  bool interrupted = false;
};

// Plans the layouts of the scenario's shape for the batch that its workers have together. What the
// scenario says of clock.parallel, clock.sharding and clock.recompute holds. Of layouts that differ
// in recomputation alone, the one with the least that fits is timed, which is the fastest. At most
// `most` are timed: those with the least idle time of stages and recomputation by their formulas.
// `progress(done, all)` is called after each. Throws Error on scenarios that are not valid, and on
// devices whose memory is not known.
LayoutPlan PlanLayouts(const Scenario& scenario, int64_t most, const StopFlag& stop,
                       const std::function<void(int64_t done, int64_t all)>& progress);

// Returns the table of the first `rows` layouts, the counts of the others, and the commands of the
// layouts shown.
std::string LayoutPlanText(const LayoutPlan& plan, int64_t rows);

// Returns all timed layouts as CSV.
std::string LayoutPlanCsv(const LayoutPlan& plan);

}  // namespace legacy
