// A small record of a federated run, for tests and fuzzers of its reader.
#pragma once

#include <filesystem>

#include "ns3-module/fabric/tasks/server.h"
#include "scenarios/federated/task_record.h"

namespace legacy {

inline void WriteExampleRecord(const std::filesystem::path& path) {
  std::vector<OperationCost> costs(2);
  costs[0] = {"conv", 100, 20.5, 80, {0}};
  costs[1] = {"linear", 60, 8, 40, {1}};
  std::vector<Unit> layers(2);
  layers[0] = {0, "conv.weight", {20}, 0, 20};
  layers[1] = {1, "fc.weight", {10}, 20, 10};
  TaskRecorder recorder(path, {{"rounds", 2}}, costs, layers, 8);
  recorder.Begin("topk", 7, {{"optimizer.sgd"}, {{"accumulate", 30, 1}}});
  recorder.Write(VersionWork{
      .version = 0, .down_bytes = 120, .up_bytes = 24, .encode = {{"topk.encode", 30, 2}}});
  recorder.Write(RecordedTask{
      .key = 0, .client = 4, .local_steps = 3, .up_bytes = {}, .loss = 2.302585092994046});
  recorder.Begin("redsync", 7, {{"optimizer.sgd"}, {}});
  recorder.Write(VersionWork{.version = 0,
                             .down_bytes = 120,
                             .up_bytes = fabric::kUnknownBytes,
                             .expected_up = 40,
                             .encode = {},
                             .decode = {{"sparse.decode", 3, 1}},
                             .delta = DeltaSize{.whole = 110, .sent = 7}});
  recorder.Write(RecordedTask{.key = 0, .client = 4, .local_steps = 3, .up_bytes = 36, .loss = {}});
}

}  // namespace legacy
