// A trace of distributed data-parallel training in the user's own hands: what each step sent and
// how long its devices took, measured anywhere and written as text. docs/trace-format.md describes
// the lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compress/unit.h"
#include "trainer/clock/step_work.h"

namespace legacy {

// One value for all workers, or one for each.
template <typename Value>
class PerWorker {
 public:
  PerWorker() : values_(1) {}
  // `values`: 1, or as many as there are workers.
  explicit PerWorker(std::vector<Value> values) : values_(std::move(values)) {}

  Value Of(int worker) const { return values_.size() == 1 ? values_[0] : values_[worker]; }
  bool Differs() const { return values_.size() > 1; }

 private:
  std::vector<Value> values_;
};

// Device times are seconds, and what the device would need for that alone.
struct TraceCall {
  Collective collective = Collective::kAllReduce;
  int root = 0;  // of a broadcast
  PerWorker<int64_t> bytes;
  PerWorker<double> encode;  // before it is sent
  PerWorker<double> decode;  // after it came
};

struct TraceBucket {
  // First and last of layers in a row, either way round; positions in DdpTrace::layers.
  std::vector<std::pair<int, int>> layers;
  int64_t elements = 0;          // of the dense gradient of these layers
  PerWorker<double> ready;       // since the step's start, without encoding
  std::optional<int64_t> sent;   // values that one worker sends, where that is known
  std::vector<TraceCall> calls;  // empty: nothing travels
};

struct TraceStep {
  int64_t count = 1;  // equal steps in a row
  PerWorker<double>
      compute;  // forward and backward pass, and what else the device did but encoding
  std::optional<double> learning_rate;
  std::optional<double> loss;
  std::optional<double> accuracy;  // fraction, after the last of the equal steps
  std::optional<double> test_loss;
  std::vector<TraceBucket> buckets;  // in the order in which they were ready
};

struct TraceTraining {
  std::string method;  // names rows, curves and columns
  std::vector<TraceStep> steps;

  int64_t Steps() const;  // equal ones counted
};

struct DdpTrace {
  int workers = 0;
  std::vector<Unit> layers;  // names and elements
  std::vector<TraceTraining> trainings;

  std::vector<int64_t> LayerNumels() const;
};

// What a training is called whose file does not say.
inline constexpr const char* kUnnamedMethod = "trace";

// The file is taken as hostile. Throws Error "file:line:column: ..." with the value and what is
// allowed.
DdpTrace ReadDdpTrace(const std::filesystem::path& path);

// What step number `step` asks of the network; without device work, whose time is known.
StepWork WorkOf(const DdpTrace& trace, const TraceStep& traced, int64_t step);

}  // namespace legacy
