// The rounds of workers are steps: a training that is trained here, or read from the journal of the
// process that trains it, is timed step by step on its networks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/state.h"
#include "scenarios/checkpoint/jobs.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/timed_run.h"
#include "scenarios/run/workers/gradient_files.h"
#include "scenarios/run/workers/method_rows.h"
#include "scenarios/run/workers/shared_training.h"
#include "trainer/clock/record.h"
#include "trainer/step_source.h"

namespace legacy {

// A TimedPiece is a training on the networks that it is timed on.
struct TimedPiece {
  const Method* method = nullptr;
  uint64_t seed = 0;
  std::span<const TimedNetwork> networks;
  bool own = false;  // true on the run's own network, where the training is recorded
};

// True where a training is evaluated after that many steps.
bool Evaluates(const Scenario& scenario, int64_t done);

// Writes the gradients that the scenario asks for, if the piece is on the run's own network.
class PieceGradients {
 public:
  PieceGradients(const Scenario& scenario, const TimedPiece& piece, StepSource& source,
                 const std::filesystem::path& directory);
  PieceGradients(const PieceGradients&) = delete;
  PieceGradients& operator=(const PieceGradients&) = delete;

 private:
  std::optional<GradientFiles> files_;
};

class WorkerRounds : public Rounds {
 public:
  // References and pointers outlive the rounds.
  struct Parts {
    const Scenario& scenario;
    TimedPiece piece;
    std::unique_ptr<StepSource> source;
    // Times the training on further networks; null: it is not shared. Those that it counts for
    // become `twins` at its end.
    std::unique_ptr<SharedTraining> shared;
    std::vector<std::unique_ptr<TimedTwin>>& twins;
    Recorder* recorder;  // null: the training is not recorded
    Jobs* jobs;          // processes that train; null: it is trained here
    std::filesystem::path directory;
    Progress* progress;
  };
  explicit WorkerRounds(Parts parts);

  bool Next() override;
  bool Finish() override;

  int64_t Done() const { return timed_.Done(); }
  const StepSource& source() const { return *parts_.source; }
  const SharedTraining* shared() const { return parts_.shared.get(); }
  // Save and restore everything except the source.
  void Save(StateWriter& out);
  void Load(StateReader& in);
  // Restores the source.
  void LoadSource(const SectionFile& from) { parts_.source->Load(from); }

 private:
  // Calls write(timed) for the networks of the piece, and for those that share its training.
  void OnAll(const std::function<void(TimedEverywhere& timed)>& write);

  Parts parts_;
  const std::span<const Unit> layers_;
  const MethodRow row_;
  UnitStats stats_;
  PieceGradients gradients_;
  TimedEverywhere timed_;
};

}  // namespace legacy
