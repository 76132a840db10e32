// The record of a run's trainings has what they asked of devices and network: enough to time them
// again on any other network, placement or device without training. It is text lines of JSON, a
// header and one of two kinds of lines; docs/results-format.md describes them.
//
//   {"format": 2, "hash": "...", "training": {...}, "replay_refused": [], "operations": [...],
//   "layers": [...]}
//
// Steps of workers:
//   {"work": 0, "workers": 16, "batch": 16, "buckets": [...]}          once for each distinct step
//   {"policy": "topk", "seed": 1, "step": 0, "work": 0}                each step
//
// Tasks of clients, whose header has "format": 1 and "batch": 16:
//   {"policy": "topk", "seed": 1, "update": ["optimizer.sgd"], "corrections": []}  each training
//   {"version": 0, "down": 287144, "up": 4407, "encode": [...]}     each version that tasks start
//       from; "expected" instead of "up" where that depends on the data; "decode" where the model
//       is decoded; "whole" and "sent" of a downlink of deltas
//   {"task": 0, "client": 7, "steps": 5, "up": 4407, "loss": 2.31}  each task, by the key of its
//       draws; "up" where the version has none, "loss" where it counted, and "squares" where the
//       selection reads them
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files/output_file.h"
#include "compress/unit.h"
#include "trainer/clock/client_work.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// The record's name in a run directory.
inline constexpr const char* kRecordFile = "traffic.jsonl";

// A RecordHeader is the first line.
struct RecordHeader {
  RecordHeader() = default;
  RecordHeader(nlohmann::json shaping, std::span<const OperationCost> costs,
               std::span<const Unit> model)
      : training(std::move(shaping)),
        operations(costs.begin(), costs.end()),
        layers(model.begin(), model.end()) {}

  nlohmann::json training;  // every option that shaped the training
  // Reasons why the steps would differ on another network; empty: they would not.
  std::vector<std::string> replay_refused;
  std::vector<OperationCost> operations;
  std::vector<Unit> layers;      // names, elements and rows
  std::optional<int64_t> batch;  // of a local step; none: lines are of workers

  // Returns the hash of `training`.
  std::string Hash() const;
};

// A RecordedTask is what is known of one task alone.
struct RecordedTask {
  uint64_t key = 0;  // of its draws
  int64_t client = 0;
  int64_t local_steps = 0;
  std::optional<int64_t> up_bytes;
  std::optional<double> loss;
  std::optional<double> squares = std::nullopt;  // mean of the squared losses
};

// A RecordedTraining is one training of a record.
struct RecordedTraining {
  std::string policy;
  uint64_t seed = 0;
  // Of workers: position in Record::works of each step, from step 0.
  std::vector<size_t> works = {};
  // Of clients: tasks by key and client.
  LocalStepWork local = {};
  std::map<int64_t, VersionWork> versions = {};
  std::map<std::pair<uint64_t, int64_t>, RecordedTask> tasks = {};
};

// A Record is the whole file.
struct Record : RecordHeader {
  // Work of each distinct step of workers, once; its `step` has no meaning.
  std::vector<StepWork> works;
  std::vector<RecordedTraining> trainings;  // in the order in which they began

  // Returns a training. Throws Error where there is none.
  const RecordedTraining& Training(const std::string& policy, uint64_t seed) const;
};

// Reads the file, which is not trusted. Throws Error "file:line: ..." on anything that Recorder
// would not have written: text that is not JSON, missing keys, values out of range, layers that no
// operation computes, steps that do not follow each other.
Record ReadRecord(const std::filesystem::path& path);

// A Recorder writes the record of a run, line by line.
class Recorder {
 public:
  // Replaces an older file. Throws Error naming the file where it cannot be written.
  Recorder(const std::filesystem::path& path, const RecordHeader& header);
  // Continues after the last line of a file. Throws Error as ReadRecord does.
  explicit Recorder(const std::filesystem::path& path);

  // Writes a step of workers, and its work where no step before it had the same.
  void Write(const std::string& policy, uint64_t seed, const StepWork& work);
  // Write the beginning of a training of clients, and its versions and tasks.
  void Begin(const std::string& policy, uint64_t seed, const LocalStepWork& work);
  void Write(const VersionWork& work);
  void Write(const RecordedTask& task);

 private:
  void WriteLine(const nlohmann::json& line) { file_.Write(line.dump() + '\n'); }

  OutputFile file_;
  std::map<std::string, int64_t> known_;  // number of each step's work, by its text
};

// Returns bytes, collective calls and device work of a step, without its number.
nlohmann::json ToJson(const StepWork& work);

// Returns the hash of everything that shaped a training (its JSON text), as 16 hexadecimal digits:
// FNV-1a, 64 bit.
std::string TrainingHash(const nlohmann::json& training);

}  // namespace legacy
