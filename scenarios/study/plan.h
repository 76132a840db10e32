// From a definition to the smallest set of trainings, and the points that each serves. Points share
// a training where every option that shapes the training of their policy is the same: a density
// that a dense policy never reads makes no other training. A point whose training may not be
// replayed (ReplayRefusals) has a training on its own network, and shares it only with points that
// equal it in that too.
#pragma once

#include <string>
#include <vector>

#include "analysis/study/study.h"
#include "scenarios/options/scenario.h"
#include "scenarios/study/grid.h"

namespace legacy {

struct PlannedTraining {
  std::string id;  // TrainingHash of the options that count
  // one policy, one seed, recorded; network the cheapest where it is replayed, else the point's
  Scenario scenario;
  std::string refused;  // why it is not replayed; "": it is
  std::vector<size_t> points;
};

struct PlannedPoint {
  // one policy, one seed: training options as its training's, network and clock its own
  Scenario scenario;
  size_t training = 0;
};

struct StudyPlan {
  StudyDefinition definition;
  std::vector<PlannedTraining> trainings;
  std::vector<PlannedPoint> points;  // in the definition's order: the position is the point's id
};

// Throws Error naming the point and its option where a scenario cannot be (ValidateScenario).
StudyPlan PlanStudy(StudyDefinition definition);

// Throws Error where the data set of a training is not on this machine.
void CheckData(const PlannedTraining& training);

// `scenario` (of one policy) with every option that its training never reads at its default. Where
// the training may not be replayed it reads network, devices and target as well.
Scenario TrainingOf(const Scenario& scenario);

// Point `id` before any work: pending.
analysis::StudyPoint EmptyPoint(const StudyPlan& plan, size_t id);

// The study before any work: all pending.
analysis::Study EmptyStudy(const StudyPlan& plan);

}  // namespace legacy
