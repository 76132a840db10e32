// A plan is the smallest set of trainings for a definition, and the points that each serves. Points
// share a training where every option that shapes the training of their policy is the same: a
// density that a dense policy never reads makes no other training. A point whose training may not
// be replayed (ReplayRefusals) has a training on its own network, and shares it only with points
// that equal it in that too.
#pragma once

#include <string>
#include <vector>

#include "analysis/study/study.h"
#include "scenarios/options/scenario.h"
#include "scenarios/study/grid.h"

namespace legacy {

// A PlannedTraining is one training to run.
struct PlannedTraining {
  std::string id;  // TrainingHash of the options that count
  // Scenario of one policy and one seed, recorded. Its network is the cheapest where it is
  // replayed, else the point's.
  Scenario scenario;
  std::string refused;  // why it is not replayed; "": it is
  std::vector<size_t> points;
};

// A PlannedPoint is one point to time.
struct PlannedPoint {
  // Scenario of one policy and one seed: training options are its training's, network and clock its
  // own.
  Scenario scenario;
  size_t training = 0;
};

// A StudyPlan is a definition with its work.
struct StudyPlan {
  StudyDefinition definition;
  std::vector<PlannedTraining> trainings;
  // Points in the definition's order: the position is the point's id.
  std::vector<PlannedPoint> points;
};

// Plans a study. Throws Error naming the point and its option where a scenario cannot be
// (ValidateScenario).
StudyPlan PlanStudy(StudyDefinition definition);

// Throws Error where the data set of a training is not on this machine.
void CheckData(const PlannedTraining& training);

// Returns `scenario` (of one policy) with every option that its training never reads at its
// default. Where the training may not be replayed it reads network, devices and target as well.
Scenario TrainingOf(const Scenario& scenario);

// Returns point `id` before any work: pending.
analysis::StudyPoint EmptyPoint(const StudyPlan& plan, size_t id);

// Returns the study before any work: all is pending.
analysis::Study EmptyStudy(const StudyPlan& plan);

}  // namespace legacy
