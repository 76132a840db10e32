// The record of a federated run has what its tasks moved and computed, so that they can be timed
// again over another network, other clients' devices or prices, without training. It is the file
// traffic.jsonl of the run directory: lines of JSON (docs/results-format.md).
//
//   {"format": 1, "hash": "...", "training": {...}, "replay_refused": [], "operations": [...],
//   "layers": [...], "batch": 16}
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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/output_file.h"
#include "scenarios/federated/client_clock.h"
#include "trainer/clock/record_lines.h"
#include "trainer/federated/downlink.h"

namespace legacy {

// A VersionWork is what all tasks of a version share.
struct VersionWork {
  int64_t version = 0;
  int64_t down_bytes = 0;   // on the first contact with a client
  int64_t up_bytes = 0;     // or fabric::kUnknownBytes
  int64_t expected_up = 0;  // what parameters ask for, where it is not known
  WorkList encode;
  WorkList decode = {};                           // of one message of the downlink
  std::optional<DeltaSize> delta = std::nullopt;  // of a downlink of deltas

  // Returns the upload, or what is expected of it.
  int64_t AboutUp() const { return up_bytes < 0 ? expected_up : up_bytes; }
  // Returns what a client downloads, and the messages that it decodes of that.
  DownlinkNeed DownOf(int64_t client, const DownlinkLedger& ledger) const;
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

// A TaskRecorder writes the record of a run.
class TaskRecorder {
 public:
  // Replaces an older file. Throws Error naming the file where it cannot be written.
  TaskRecorder(const std::filesystem::path& path, const nlohmann::json& training,
               std::span<const OperationCost> operations, std::span<const Unit> layers,
               int64_t batch);

  // Goes on behind the last line of a file.
  explicit TaskRecorder(const std::filesystem::path& path)
      : file_(path, OutputFile::Mode::kAppend) {}

  void Begin(const std::string& policy, uint64_t seed, const LocalStepWork& work);
  void Write(const VersionWork& work);
  void Write(const RecordedTask& task);

 private:
  void WriteLine(const nlohmann::json& line) { file_.Write(line.dump() + '\n'); }

  OutputFile file_;
};

// A RecordedFederation is one training of a record.
struct RecordedFederation {
  std::string policy;
  uint64_t seed = 0;
  LocalStepWork work;
  std::map<int64_t, VersionWork> versions;
  std::map<std::pair<uint64_t, int64_t>, RecordedTask> tasks;  // by key and client
};

// A FederatedRecord is the whole file.
struct FederatedRecord : RecordHeader {
  int64_t batch = 1;
  std::vector<RecordedFederation> trainings;
};

// Reads the file. Throws Error "file:line: ..." on anything that TaskRecorder would not have
// written.
FederatedRecord ReadTaskRecord(const std::filesystem::path& path);

}  // namespace legacy
