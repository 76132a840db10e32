// Helpers of the tests of scenarios/network/.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

#include "scenarios/network/measure.h"
#include "scenarios/network/options/experiment.h"
#include "tests/message_of.h"

namespace legacy {

// Returns the path of a file of this process, as tests run at the same time.
inline std::string OwnFile(const std::string& name) {
  return testing::TempDir() + std::to_string(getpid()) + "-" + name;
}

using Changes = std::map<std::string, std::string>;  // texts of options, by name

inline ExperimentOptions With(const Changes& changes) {
  ExperimentOptions options;
  options.fidelity = "analytic";
  options.bandwidth = "10Gbps";
  options.delay = "1us";
  for (const auto& [name, text] : changes) SetOption(options, name, text);
  const bool grouped = options.collective.text().starts_with("hierarchical");
  if (grouped && options.group == 0) options.group = 4;
  return options;
}

inline Experiment ExperimentWith(const Changes& changes) {
  return ParseExperiment(With(changes), {});
}

}  // namespace legacy
