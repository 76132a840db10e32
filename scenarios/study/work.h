// The work of a study is one training, or one point timed from its training's record.
#pragma once

#include <filesystem>
#include <memory>

#include "analysis/study/study.h"
#include "scenarios/replay/replay_source.h"
#include "scenarios/run/progress.h"
#include "scenarios/study/plan.h"

namespace legacy {

// Returns trainings/<id> of a study's folder.
std::filesystem::path TrainingFolder(const std::filesystem::path& study,
                                     const PlannedTraining& training);

// True where that run directory is whole.
bool IsTrained(const std::filesystem::path& study, const PlannedTraining& training);

// Trains into trainings/<id>, which is there whole or not at all, with a run's messages on standard
// error. Throws Error.
void Train(const std::filesystem::path& study, const PlannedTraining& training,
           const ShareTold& told = {});

// A TrainedRun is a training that was read back.
struct TrainedRun {
  analysis::RunDirectory run = {};                   // of a training that is not replayed
  std::unique_ptr<const RecordedRun> recorded = {};  // null: it is not replayed
};

// Reads a training back. Throws Error.
TrainedRun ReadTraining(const std::filesystem::path& study, const PlannedTraining& training);

// Returns the rows of point `id`, as TimePoint times it.
analysis::RunDirectory RowsOfPoint(const StudyPlan& plan, size_t id, const TrainedRun& trained);

// Times point `id` of the plan from its training, in memory. A training that is not replayed gives
// its own times. Throws Error on networks that are not valid.
analysis::StudyPoint TimePoint(const StudyPlan& plan, size_t id, const TrainedRun& trained);

}  // namespace legacy
