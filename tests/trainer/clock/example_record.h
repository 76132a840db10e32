// Small records of steps and of tasks, for tests and fuzzers of their reader.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "trainer/clock/record.h"

namespace legacy {

// Returns a step of two workers with one bucket of two layers and five collective calls, the
// second of `bytes`.
inline StepWork ExampleWork(int64_t step, int64_t bytes) {
  StepWork work;
  work.step = step;
  work.workers = 2;
  work.batch_size = 8;
  SentCall first;
  first.collective = Collective::kBroadcast;
  first.root = 1;
  first.bytes = {0, 12};
  SentCall second;
  second.collective = Collective::kAllReduce;
  second.reduction = Reduction::kSum;
  second.bytes = {bytes, bytes};
  second.encode = {{"topk.encode", 30, 2}, {"qsgd.encode", 30, 4, 2, 8}};
  work.whole_gradient = {{"clip", 30, 1}};
  second.decode = {{"sparse.decode", 5, 1}};
  SentCall third;
  third.collective = Collective::kAllToAll;
  third.bytes = {7, 3};
  third.pair_bytes = {2, 5, 3, 0};
  SentCall fourth;
  fourth.collective = Collective::kBlockSparse;
  fourth.reduction = Reduction::kSum;
  fourth.bytes = {44, 20};
  fourth.pull = 44;
  fourth.blocks = BlockStream{.bytes = 20, .slots = 3};
  SentCall fifth;
  fifth.collective = Collective::kAllReduce;
  fifth.reduction = Reduction::kServed;
  fifth.bytes = {56, 56};
  fifth.pull = 40;
  fifth.serve = {{"topk.encode", 30, 2}};
  fifth.served = {{.sent = 30, .answered = 24}, {.sent = 26, .answered = 16}};
  work.buckets = {{{1, 0}, 30, {first, second, third, fourth, fifth}}};
  return work;
}

// Returns the header of trainings of the model whose gradients those steps send.
inline RecordHeader ExampleHeader() {
  std::vector<OperationCost> costs(2);
  costs[0] = {"conv", 100, 20.5, 80, {0}};
  costs[1] = {"linear", 60, 8, 40, {1}};
  costs[1].keys = 12;
  costs[1].experts = 8;
  costs[1].used = 2;
  costs[1].dispatch = 24;
  costs[1].combine = 36;
  std::vector<Unit> layers(2);
  layers[0] = {0, "conv.weight", {20}, 0, 20};
  layers[1] = {1, "fc.weight", {10}, 20, 10};
  return {{{"steps", 2}}, costs, layers};
}

// Writes two trainings of clients of that model.
inline void WriteExampleTasks(const std::filesystem::path& path) {
  RecordHeader header = ExampleHeader();
  header.batch = 8;
  Recorder recorder(path, header);
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
