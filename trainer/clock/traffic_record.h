// The recorded traffic of a training is text lines of JSON: enough to time the same training on any
// other network, placement or device without training again. docs/results-format.md describes the
// lines.
//
//   {"format": 2, "hash": "...", "training": {...}, "replay_refused": [], "operations": [...],
//   "layers": [...]}
//   {"work": 0, "workers": 16, "batch": 16, "buckets": [...]}          once for each distinct step
//   {"policy": "topk", "seed": 1, "step": 0, "work": 0}                each step
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/files/output_file.h"
#include "compress/unit.h"
#include "trainer/clock/record_lines.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// The record's name in a run directory.
inline constexpr const char* kTrafficFile = "traffic.jsonl";

// The format's number. Format 1 did not tell sets of launches for all units of a bucket
// (Work::sets) from those for each unit.
inline constexpr int64_t kTrafficFormat = 2;

// Returns bytes, collective calls and device work of a step, without its number.
nlohmann::json ToJson(const StepWork& work);

// Return the names that the record writes.
const char* CollectiveText(Collective collective);
const char* ReductionText(Reduction reduction);

// A TrafficRecorder writes the lines of a run's trainings.
class TrafficRecorder {
 public:
  // `training` has the effective options of data, model, optimizer and compression.
  // `replay_refused` says why the steps would differ on another network; empty: they would not. An
  // older file is replaced. Throws Error naming the file where it cannot be written.
  TrafficRecorder(const std::filesystem::path& path, const nlohmann::json& training,
                  const std::vector<std::string>& replay_refused,
                  std::span<const OperationCost> operations, std::span<const Unit> layers);
  // Goes on behind the last line of a file. Throws Error where it is no such file.
  explicit TrafficRecorder(const std::filesystem::path& path);

  // Writes a step of a training, and its work where no step before it had the same.
  void Write(const std::string& policy, uint64_t seed, const StepWork& work);

 private:
  void WriteLine(const nlohmann::json& line);

  OutputFile file_;
  std::map<std::string, int64_t> known_;  // number of each step's work, by its text
};

}  // namespace legacy
