// The traffic reader reads what TrafficRecorder wrote (traffic_record.h). The file is not trusted:
// every number is checked before anything is sized or indexed by it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/clock/record_lines.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// A RecordedTraining is one training of the file.
struct RecordedTraining {
  std::string policy;
  uint64_t seed = 0;
  std::vector<size_t> works;  // position in RecordedTraffic::works of each step, from step 0
};

// RecordedTraffic is the whole file.
struct RecordedTraffic : RecordHeader {
  // Work of each distinct step, once; its `step` has no meaning.
  std::vector<StepWork> works;
  std::vector<RecordedTraining> trainings;  // trainings in the order in which they began
};

// Reads the file. Throws Error "file:line: ..." on anything that TrafficRecorder would not have
// written: text that is no JSON, missing keys, values out of range, layers that no operation
// computes, steps that do not follow each other.
RecordedTraffic ReadTraffic(const std::filesystem::path& path);

}  // namespace legacy
