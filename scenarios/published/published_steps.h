// Published steps are step times of trainings that others measured (scenarios/whole_steps/). Those
// of data parallelism are timed as a scenario of their model's shape.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// A PublishedStep is one row of the file.
struct PublishedStep {
  std::string id;
  std::string level;  // A: all inputs are known; B: one is assumed; C: an important one is
  std::string device;
  int64_t devices = 0;
  std::string precision;
  double seconds = 0;   // 0: published as a rate of samples whose batch is not known
  std::string missing;  // what is assumed
  bool compressed = false;

  // Keys and values of the scenario (SetOption), or why the step cannot be timed here.
  std::vector<std::pair<std::string, std::string>> options;
  std::string not_timed;

  // Returns the part of the id before its device: rows of one family share model and framework.
  std::string Family() const;
  // Returns the scenario that the row describes. Throws Error on values that no scenario has.
  Scenario ToScenario() const;
};

// Reads the rows. Throws Error naming file and line on what is not one.
std::vector<PublishedStep> ReadPublishedSteps(const std::string& path);

// Returns the path of the rows that came with the toolkit.
std::string PublishedStepsPath();

}  // namespace legacy
