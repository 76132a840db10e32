// Helpers of the tests of federated plans.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "scenarios/federated/plan.h"

namespace legacy {

using Texts = std::map<std::string, std::string>;

inline PlanRequest Request(const Texts& texts) {
  PlanOptions options;
  for (const auto& [name, text] : texts) PlanRow("--" + name).set(options, "--" + name, text);
  return ParsePlan(options);
}

inline Plan RunOf(const Texts& texts) { return RunPlan(Request(texts)); }

// Writes a file of the tests' own, and returns its path.
inline std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "federated-" + name;
  std::ofstream(path) << text;
  return path;
}

}  // namespace legacy
