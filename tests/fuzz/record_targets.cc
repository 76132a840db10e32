// Recorded traffic, and traces of users' own trainings.
#include "files/whole_file.h"
#include "tests/fuzz/readers.h"
#include "trainer/ddp_trace.h"
#include "trainer/traffic_reader.h"
#include "trainer/traffic_record.h"

namespace legacy::fuzz {
namespace {

StepWork WorkOf(int64_t bytes) {
  StepWork work;
  work.workers = 2;
  work.batch_size = 8;
  RoundWork first;
  first.primitive = Primitive::kBroadcast;
  first.root = 1;
  first.bytes = {0, 12};
  RoundWork second;
  second.primitive = Primitive::kAllReduce;
  second.reduction = Reduction::kSum;
  second.bytes = {bytes, bytes};
  second.encode = {{"topk.encode", 30, 2}};
  second.decode = {{"sparse.decode", 5, 1}};
  work.buckets = {{{1, 0}, 30, {first, second}}};
  return work;
}

std::string Recorded() {
  const MemoryFile file;
  std::vector<OperationCost> costs(2);
  costs[0] = {"conv", 100, 20.5, 80, {0}};
  costs[1] = {"linear", 60, 8, 40, {1}};
  std::vector<Unit> layers(2);
  layers[0] = {0, "conv.weight", {20}, 0, 20};
  layers[1] = {1, "fc.weight", {10}, 20, 10};
  TrafficRecorder recorder(file.path(), {{"steps", 2}}, {}, costs, layers);
  for (const char* policy : {"a", "b"}) {
    for (int64_t step = 0; step < 3; ++step) {
      StepWork work = WorkOf(100 + step % 2);
      work.step = step;
      recorder.Write(policy, 7, work);
    }
  }
  return ReadWholeFile(file.path());
}

}  // namespace

// Whoever replays goes by these positions without looking again.
void FuzzTraffic(ByteSpan input) {
  static MemoryFile file;
  file.Put(input);
  Refusable([] {
    const RecordedTraffic traffic = ReadTraffic(file.path());
    for (const RecordedTraining& training : traffic.trainings) {
      for (const size_t work : training.works) Require(work < traffic.works.size());
    }
    for (const StepWork& work : traffic.works) {
      for (const BucketWork& bucket : work.buckets) {
        for (const int layer : bucket.layers) {
          Require(layer >= 0 && static_cast<size_t>(layer) < traffic.layers.size());
        }
      }
    }
  });
}

std::vector<Bytes> TrafficSeeds() { return TextSeeds({Recorded()}); }

void FuzzDdpTrace(ByteSpan input) {
  static MemoryFile file;
  file.Put(input);
  Refusable([] {
    const DdpTrace trace = ReadDdpTrace(file.path());
    for (const TraceTraining& training : trace.trainings) {
      for (const TraceStep& step : training.steps) WorkOf(trace, step, 0);
    }
  });
}

std::vector<Bytes> DdpTraceSeeds() {
  return TextSeeds(
      {"legacy-trace 1\nworkers 2\nlayer conv 100 # elements\nlayer fc 1000\nmethod dense\n"
       "step 3\n  compute 0.5\n  bucket fc\n    ready 0.25\n    send all-reduce 4000\n"
       "step\n  compute 0.5 1\n  rate 0.1\n  loss nan\n  accuracy 0.75 1.5\n  bucket conv..fc\n"
       "    ready 0.5 0.75\n    elements 11\n    encode 0.125\n    send broadcast 0 80\n"
       "    decode 0.25\n    encode 0.5\n    send all-gather 7 9\n    decode 1\n"
       "method topk\nstep\n  compute 2\n"});
}

}  // namespace legacy::fuzz
