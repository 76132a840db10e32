// A small record of traffic, for tests and fuzzers of its reader.
#pragma once

#include <filesystem>
#include <vector>

#include "trainer/clock/operation_cost.h"
#include "trainer/clock/traffic_record.h"

namespace legacy {

// Returns a step of two workers with one bucket of two layers and two collective calls, the second
// of `bytes`.
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
  work.buckets = {{{1, 0}, 30, {first, second}}};
  return work;
}

// Returns a recorder of trainings of the model whose gradients those steps send.
inline TrafficRecorder ExampleRecorder(const std::filesystem::path& path) {
  std::vector<OperationCost> costs(2);
  costs[0] = {"conv", 100, 20.5, 80, {0}};
  costs[1] = {"linear", 60, 8, 40, {1}};
  std::vector<Unit> layers(2);
  layers[0] = {0, "conv.weight", {20}, 0, 20};
  layers[1] = {1, "fc.weight", {10}, 20, 10};
  return TrafficRecorder(path, {{"steps", 2}}, {}, costs, layers);
}

}  // namespace legacy
