// A DDP trace is a distributed data-parallel training that ran elsewhere: what each step sent and
// how long its devices took, written as text. docs/trace-format.md describes the lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/metric.h"
#include "compress/unit.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// PerWorker is one value for all workers, or one for each.
template <typename Value>
class PerWorker {
 public:
  PerWorker() : values_(1) {}
  // `values` has one entry, or one for each worker.
  explicit PerWorker(std::vector<Value> values) : values_(std::move(values)) {}

  Value Of(int worker) const { return values_.size() == 1 ? values_[0] : values_[worker]; }
  bool Differs() const { return values_.size() > 1; }

 private:
  std::vector<Value> values_;
};

// A TraceCall is one collective call. Device times are in seconds, of that work alone.
struct TraceCall {
  Collective collective = Collective::kAllReduce;
  int root = 0;  // the worker that broadcasts
  PerWorker<int64_t> bytes;
  PerWorker<double> encode;  // device seconds before it is sent
  PerWorker<double> decode;  // device seconds after it has arrived
};

// A TraceBucket is what was sent together.
struct TraceBucket {
  // First and last of layers in a row, in either direction, as positions in DdpTrace::layers.
  std::vector<std::pair<int, int>> layers;
  int64_t elements = 0;          // elements of the dense gradient of these layers
  PerWorker<double> ready;       // seconds since the step's start, without encoding
  std::optional<int64_t> sent;   // values that one worker sends, where that is known
  std::vector<TraceCall> calls;  // calls in order; empty: nothing is sent
};

// A TraceStep is a number of equal steps in a row.
struct TraceStep {
  int64_t count = 1;  // number of equal steps
  // Seconds of the forward and backward pass, and of all else that the device did but encoding.
  PerWorker<double> compute;
  std::optional<double> learning_rate;
  std::optional<double> loss;
  // Values of DdpTrace::metrics after the last of the equal steps, nan where one was not measured;
  // empty: there was no evaluation.
  std::vector<double> metrics;
  std::optional<double> test_loss;
  std::vector<TraceBucket> buckets;  // buckets in the order in which they were ready
};

// A TraceTraining is one training of the trace.
struct TraceTraining {
  std::string method;  // name in rows, curves and columns
  std::vector<TraceStep> steps;

  int64_t Steps() const;  // counts equal steps one by one
};

// TraceSteps finds the steps of a training by their numbers.
class TraceSteps {
 public:
  // `training` outlives this.
  explicit TraceSteps(const TraceTraining& training);

  // Throws std::out_of_range where the training has no such step.
  const TraceStep& At(int64_t step) const;

 private:
  const TraceTraining& training_;
  // Number of steps up to the end of each of the training's entries.
  std::vector<int64_t> ends_;
};

// Returns the position of the last bucket of `step` that has one of `layers`; nothing where none
// has.
std::optional<size_t> LastBucketOf(const TraceStep& step, std::span<const int> layers);

// A DdpTrace is the whole file.
struct DdpTrace {
  int workers = 0;
  std::vector<Unit> layers;     // names and elements of the layers
  std::vector<Metric> metrics;  // what evaluations measured; empty: there were none
  std::vector<TraceTraining> trainings;
};

// Name of a training for which the file has none.
inline constexpr const char* kUnnamedMethod = "trace";

// Reads a trace from an untrusted file. Throws Error "file:line:column: ..." with the value and
// what is allowed.
DdpTrace ReadDdpTrace(const std::filesystem::path& path);

// Returns what step number `step` asks of the network. It has no device work, because a trace has
// the device's times.
StepWork WorkOf(const DdpTrace& trace, const TraceStep& traced, int64_t step);

}  // namespace legacy
