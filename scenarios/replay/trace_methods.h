// Methods of a trace replay compress the gradients of a traced training. Nothing is trained: a step
// computes as long as the trace's, its buckets are ready when the trace's are, and messages have
// the lengths that a method's have on layers of these shapes (shapes/drawn_exchange.h). The
// scenario's device profile prices the codecs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/network/cost_estimate.h"
#include "scenarios/replay/trace_replay.h"
#include "scenarios/run/timed_run.h"
#include "scenarios/run/workers/compared_methods.h"

namespace legacy {

// TraceMethods are the scenario's methods without those that the trace itself has trainings of. The
// first training of the trace is the one that they compress.
class TraceMethods {
 public:
  // `file` and `scenario` outlive this. Throws Error where a method cannot compress the training,
  // and where a step of the training does not send all layers.
  TraceMethods(const TraceFile& file, const Scenario& scenario);

  bool Empty() const { return !methods_; }
  // Returns the number of steps of all methods that this number of networks needs.
  int64_t Steps(size_t timed_networks) const;
  // Adds the traffic of each method, and describes the methods on `log`, unless that is null.
  void Estimate(const ScenarioTiming& timing, std::FILE* log, CostEstimate& estimate);
  // A Piece is a training on the networks that it is timed on: `count` of them from `first` on.
  struct Piece {
    const Method* method = nullptr;
    uint64_t seed = 0;
    size_t first = 0;
    size_t count = 0;
  };
  // Returns the trainings of all methods with all seeds.
  std::vector<Piece> Trainings(size_t timed_networks) const;
  // Begins one of them.
  std::unique_ptr<Rounds> Begin(size_t training, std::span<const TimedNetwork> timed_networks,
                                Progress* progress);
  // Adds the methods to the manifest of a replay.
  void Describe(nlohmann::json& manifest) const;
  // Returns a text for people under the tables; empty without methods.
  std::string Note() const;

 private:
  const TraceTraining& base_;
  const TraceSteps steps_;
  Scenario scenario_;  // the replay's, with the methods that the trace does not have
  std::optional<ComparedMethods> methods_;
  BackendReports reports_;
};

}  // namespace legacy
