// The recorded traffic of a training, as text lines of JSON: enough to time the same training on
// any other network, placement or device without training again. docs/results-format.md describes
// the lines.
//
//   {"format": 2, "hash": "...", "training": {...}, "replay_refused": [], "operations": [...],
//   "layers": [...]}
//   {"work": 0, "workers": 16, "batch": 16, "buckets": [...]}                    each different
//                                                                                step once
//   {"policy": "topk", "seed": 1, "step": 0, "work": 0}                          each step
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "compress/unit.h"
#include "trainer/clock/step_work.h"

namespace legacy {

struct OperationCost;

// Of the lines. Format 1 did not tell sets of launches for all units of a bucket (Work::sets) from
// those for each.
inline constexpr int64_t kTrafficFormat = 2;

// Bytes, collective calls and device work of a step, without its number.
nlohmann::json ToJson(const StepWork& work);

// How the record writes them.
const char* CollectiveText(Collective collective);
const char* ReductionText(Reduction reduction);

// Hash of everything that shaped a training (its JSON text), as 16 hexadecimal digits: FNV-1a, 64
// bit.
std::string TrainingHash(const nlohmann::json& training);

class TrafficRecorder {
 public:
  // `training`: the effective options of data, model, optimizer and compression. `replay_refused`:
  // why the steps would not be the same on another network; empty where they would. Replaces an
  // older file; throws Error naming it where the disk refuses.
  TrafficRecorder(const std::filesystem::path& path, const nlohmann::json& training,
                  const std::vector<std::string>& replay_refused,
                  std::span<const OperationCost> operations, std::span<const Unit> layers);

  void Write(const std::string& policy, uint64_t seed, const StepWork& work);

 private:
  void WriteLine(const nlohmann::json& line);

  OutputFile file_;
  std::map<std::string, int64_t> known_;  // text of a step's work -> its number
};

}  // namespace legacy
