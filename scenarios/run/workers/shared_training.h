// A training whose policy or scheme reads the network is one training for several networks while
// all decisions are the same. While it runs for the first network, it is timed on the others, too,
// and their policies are asked along with its own (compress/policies/networks_policy.h). What would
// have been written for a network is kept; it counts if no decision differed until the end.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "compress/policies/networks_policy.h"
#include "scenarios/run/timed_run.h"
#include "trainer/step_source.h"

namespace legacy {

// A RowBuffer keeps rows in their order.
class RowBuffer : public RunSink {
 public:
  using RunSink::Write;
  void Write(const analysis::StepRow& row) override { rows_.emplace_back(row); }
  void Write(const analysis::EvaluationRow& row) override { rows_.emplace_back(row); }
  void Write(const analysis::LayerRow& row) override { rows_.emplace_back(row); }
  void Write(const analysis::DecisionRow& row) override { rows_.emplace_back(row); }
  void Write(const analysis::LinkRow& row) override { rows_.emplace_back(row); }
  void Write(const analysis::NetworkRow& row) override { rows_.emplace_back(row); }
  // Writes the rows to a sink.
  void WriteTo(RunSink& sink) const;

 private:
  using Row = std::variant<analysis::StepRow, analysis::EvaluationRow, analysis::LayerRow,
                           analysis::DecisionRow, analysis::LinkRow, analysis::NetworkRow>;
  std::vector<Row> rows_;
};

// A TimedTwin is a further network on which a training is timed besides its own.
struct TimedTwin {
  ScenarioTiming* timing = nullptr;
  Bytes before;  // state of `timing` without this training
  RowBuffer rows;
  TimedNetwork network;
  std::unique_ptr<TimedEverywhere> timed;
};

class SharedTraining {
 public:
  // `policy` asks the policies of the networks of `timings` after its first. What references refer
  // to outlives this.
  SharedTraining(NetworksPolicy& policy, std::span<ScenarioTiming* const> timings,
                 const std::string& method, uint64_t seed, const StepSource& source);

  // Sets the networks' estimates before a step.
  void SetLinks(int64_t step);
  // Times a step on all networks whose policies decided the same so far.
  void Step(const StepWork& work, const StepFacts& facts);
  // Tells the policies how long it took.
  void OnFeedback(StepSource& source);
  // Calls write(timed) for each of these networks; the source's TakeDecisions() is then that of its
  // policy.
  void ForEach(const std::function<void(TimedEverywhere& timed)>& write);

  // Returns the timings as they are without this training.
  const std::vector<std::unique_ptr<TimedTwin>>& twins() const { return twins_; }
  // Ends the training. Returns the networks that it counts for; all other timings are as before.
  std::vector<std::unique_ptr<TimedTwin>> Finish();

 private:
  bool Same(size_t twin) const { return policy_.Same(twin + 1); }

  NetworksPolicy& policy_;
  std::vector<std::unique_ptr<TimedTwin>> twins_;
};

// Returns a timing's state, and restores it.
Bytes StateOf(const ScenarioTiming& timing);
void Restore(ScenarioTiming& timing, const Bytes& state);

}  // namespace legacy
