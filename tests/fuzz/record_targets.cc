// Records of trainings, of workers and of clients, and traces of users' own trainings.
#include "base/files/whole_file.h"
#include "tests/fuzz/readers.h"
#include "tests/trainer/clock/example_record.h"
#include "trainer/clock/ddp_trace.h"
#include "trainer/clock/record.h"

namespace legacy::fuzz {

// Checks the positions in the record, which replays use without checks.
void FuzzRecord(ByteSpan input) {
  static MemoryFile file;
  file.Put(input);
  Refusable([] {
    const Record record = ReadRecord(file.path());
    for (const RecordedTraining& training : record.trainings) {
      for (const size_t work : training.works) Require(work < record.works.size());
      for (const auto& [version, work] : training.versions) {
        Require(version == work.version && work.down_bytes >= 0 && work.AboutUp() >= 0);
      }
      for (const auto& [key, task] : training.tasks) Require(task.local_steps >= 0);
    }
    for (const StepWork& work : record.works) {
      for (const BucketWork& bucket : work.buckets) {
        for (const int layer : bucket.layers) {
          Require(layer >= 0 && static_cast<size_t>(layer) < record.layers.size());
        }
      }
    }
  });
}

std::vector<Bytes> RecordSeeds() {
  const MemoryFile steps, tasks;
  Recorder recorder(steps.path(), ExampleHeader());
  for (const char* policy : {"a", "b"}) {
    for (int64_t step = 0; step < 3; ++step) {
      recorder.Write(policy, 7, ExampleWork(step, 100 + step % 2));
    }
  }
  WriteExampleTasks(tasks.path());
  return TextSeeds({ReadWholeFile(steps.path()), ReadWholeFile(tasks.path())});
}

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
      {"legacy-trace 1\nworkers 2\nlayer conv 100 # elements\nlayer fc 1000\n"
       "metric bleu higher\nmethod dense\n"
       "step 3\n  compute 0.5\n  bucket fc\n    ready 0.25\n    send all-reduce 4000\n"
       "step\n  compute 0.5 1\n  rate 0.1\n  loss nan\n  accuracy 0.75 1.5\n"
       "  metric bleu 7\n  bucket conv..fc\n"
       "    ready 0.5 0.75\n    elements 11\n    encode 0.125\n    send broadcast 0 80\n"
       "    decode 0.25\n    encode 0.5\n    send all-gather 7 9\n    decode 1\n"
       "method topk\nstep\n  compute 2\n"});
}

}  // namespace legacy::fuzz
