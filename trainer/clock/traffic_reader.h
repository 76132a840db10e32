// Reads what TrafficRecorder wrote (traffic_record.h). The file is taken as hostile: every number
// is checked before anything is sized or indexed by it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compress/unit.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/step_work.h"

namespace legacy {

struct RecordedTraining {
  std::string policy;
  uint64_t seed = 0;
  std::vector<size_t> works;  // of each step, from step 0: position in RecordedTraffic::works
};

struct RecordedTraffic {
  std::string hash;         // of `training`, checked
  nlohmann::json training;  // every option that shaped it
  std::vector<std::string> replay_refused;
  std::vector<OperationCost> operations;
  std::vector<Unit> layers;     // names and elements
  std::vector<StepWork> works;  // each different one once; their `step` is of no meaning
  std::vector<RecordedTraining> trainings;  // in the order in which they began

  std::vector<int64_t> LayerNumels() const;
};

// Throws Error "file:line: ..." on anything that TrafficRecorder would not have written: what is no
// JSON, missing keys, values out of range, layers that no operation computes, steps that do not
// follow each other.
RecordedTraffic ReadTraffic(const std::filesystem::path& path);

}  // namespace legacy
