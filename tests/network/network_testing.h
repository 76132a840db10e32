// What the tests of scenarios/network/ share.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

#include "scenarios/network/experiment.h"
#include "scenarios/network/measure.h"

namespace legacy {

template <typename Call>
std::string MessageOf(Call call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

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
