// A plan is the smallest set of trainings for a definition, and the points that each serves. Points
// share a training where every option that shapes the training of their policy is the same: a
// density that a dense policy never reads does not need another training. A point whose training
// may not be replayed (ReplayRefusals, CouplingsOf) has a training on its own network, and shares
// it only with points that have the same network.
#pragma once

#include <optional>
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
  std::string refused;  // reason why it is not replayed; "": it is replayed
  std::vector<size_t> points;
};

// A PlannedPoint is one point whose time is simulated.
struct PlannedPoint {
  // Scenario of one policy and one seed. Training options are those of its training; network and
  // clock are its own.
  Scenario scenario;
  size_t training = 0;
};

// A StudyPlan is a definition with its trainings and points.
struct StudyPlan {
  StudyDefinition definition;
  std::vector<PlannedTraining> trainings;
  std::vector<Metric> metrics;  // metrics of all trainings' task; empty: nothing is trained
  // Target of the first point, with its metric's name; nothing: none. Those of other points may
  // have other values of the same metric.
  std::optional<Target> target;
  // Points in the definition's order: the position is the point's id.
  std::vector<PlannedPoint> points;
};

// Plans a study. Throws Error naming the point and its option where a scenario is not valid
// (ValidateScenario), or trains for another task than those before.
StudyPlan PlanStudy(StudyDefinition definition);

// Returns the recorded scenario on the network and clock of `point`, with its lines and prices of
// clients where it is federated.
Scenario OnNetworkOf(const Scenario& point, Scenario recorded);

// Throws Error where the data set of a training is not on this machine.
void CheckData(const PlannedTraining& training);

// Returns `scenario` (of one policy) with every option that its training does not read at its
// default. A training that may not be replayed reads network and devices as well.
Scenario TrainingOf(const Scenario& scenario);

// Returns point `id` before any work: pending.
analysis::StudyPoint EmptyPoint(const StudyPlan& plan, size_t id);

// Returns the study before any work: all is pending.
analysis::Study EmptyStudy(const StudyPlan& plan);

}  // namespace legacy
