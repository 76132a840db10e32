// Helpers of the tests of federated plans.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "scenarios/federated/plan.h"
#include "tests/real_data.h"

namespace legacy {

using Texts = std::map<std::string, std::string>;

inline PlanRequest Request(const Texts& texts) {
  FederatedValues values = DefaultFederatedValues();
  for (const auto& [name, text] : texts) values.at(name) = text;
  return ParsePlan(values);
}

inline Plan RunOf(const Texts& texts) { return RunPlan(Request(texts)); }

// Writes a file of the tests' own, and returns its path.
inline std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "federated-" + name;
  std::ofstream(path) << text;
  return path;
}

// Returns the folder of measurements between regions, with a slash; "" where it is absent.
inline std::string MeasuredRegions() {
  const std::filesystem::path folder = RealData() / "wan_cloud";
  return !RealData().empty() && std::filesystem::exists(folder) ? folder.string() + "/" : "";
}

}  // namespace legacy
