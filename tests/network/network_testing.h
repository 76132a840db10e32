// What the tests of scenarios/network/ share.
#pragma once

#include <fstream>
#include <string>

#include "scenarios/network/experiment.h"
#include "scenarios/network/measure.h"
#include "tests/message_of.h"

namespace legacy {

inline OptionValues With(const OptionValues& changes) {
  OptionValues values = DefaultValues();
  values["fidelity"] = "analytic";
  for (const auto& [name, value] : changes) values.at(name) = value;
  return values;
}

inline Experiment ExperimentWith(const OptionValues& changes) {
  return ParseExperiment(With(changes), {});
}

}  // namespace legacy
