// Helpers of the tests of scenarios/network/.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "scenarios/network/experiment.h"
#include "scenarios/network/measure.h"
#include "tests/message_of.h"

namespace legacy {

// Returns the path of a file of this process, as tests run at the same time.
inline std::string OwnFile(const std::string& name) {
  return testing::TempDir() + std::to_string(getpid()) + "-" + name;
}

inline OptionValues With(const OptionValues& changes) {
  OptionValues values = DefaultValues();
  values["fidelity"] = "analytic";
  values["bandwidth"] = "10Gbps";
  values["delay"] = "1us";
  for (const auto& [name, value] : changes) values.at(name) = value;
  const bool grouped = values["collective"].starts_with("hierarchical");
  if (grouped && values["group"] == "0") values["group"] = "4";
  return values;
}

inline Experiment ExperimentWith(const OptionValues& changes) {
  return ParseExperiment(With(changes), {});
}

}  // namespace legacy
