// A temporary run directory for tests, and rows of a made-up run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/metric.h"
#include "tests/analysis/folder_fixture.h"

namespace legacy::analysis {

inline const Metric kAccuracy = {"accuracy", "accuracy", Metric::Better::kHigher, true};
inline const Metric kPerplexity = {"perplexity", "perplexity", Metric::Better::kLower, false};

// A manifest with d = 1000 and 4 workers.
inline nlohmann::json MakeManifest(const std::vector<std::string>& policies,
                                   const std::vector<uint64_t>& seeds,
                                   const std::vector<Metric>& metrics = {kAccuracy},
                                   const std::optional<Target>& target = Target{"accuracy", 0.8}) {
  nlohmann::json manifest = {{"program", "test"}, {"policies", policies}, {"seeds", seeds},
                             {"workers", 4},      {"parameters", 1000},   {"fidelity", "packet"}};
  SetMetrics(manifest, metrics, target);
  return manifest;
}

class RunDirectoryTest : public FolderTest {
 protected:
  // Returns the message of the error that reading the directory throws.
  std::string ReadError() const {
    try {
      ReadRunDirectory(directory_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

// Adds a training of one policy with one seed: an evaluation every 10 steps of `step_seconds` each,
// with these values of the run's first metric.
inline void AddTraining(RunDirectory& run, const std::string& policy, uint64_t seed,
                        double step_seconds, const std::vector<double>& values) {
  for (int64_t i = 0; i < 10 * static_cast<int64_t>(values.size()); ++i) {
    StepRow row;
    row.policy = policy;
    row.seed = seed;
    row.step = i;
    row.elements_sent = 10;
    row.message_bytes = 80;
    row.nic_bytes = 240;
    row.dense_nic_bytes = 6000;
    row.step_seconds = step_seconds;
    row.compute_seconds = step_seconds / 4;
    row.communication_seconds = step_seconds * 3 / 4;
    row.simulated_seconds = step_seconds * static_cast<double>(i + 1);
    run.steps.push_back(row);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    EvaluationRow row;
    row.policy = policy;
    row.seed = seed;
    row.step = 10 * static_cast<int64_t>(i + 1);
    row.simulated_seconds = step_seconds * static_cast<double>(row.step);
    row.message_bytes = 80 * static_cast<double>(row.step);
    row.nic_bytes = 240 * static_cast<double>(row.step);
    row.metrics = {values[i]};
    run.evaluations.push_back(row);
  }
  NetworkRow network;
  network.policy = policy;
  network.seed = seed;
  network.fidelity = "packet";
  network.events = 100;
  network.fresh_steps = 1;
  network.memoised_steps = 9;
  run.network.push_back(network);
}

// Adds a policy's decisions for `layers` layers at each of `steps`; the first are the parameters
// that the training starts with.
inline void AddDecisions(RunDirectory& run, const std::string& policy, uint64_t seed, int layers,
                         const std::vector<int64_t>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    for (int layer = 0; layer < layers; ++layer) {
      DecisionRow row;
      row.policy = policy;
      row.seed = seed;
      row.step = steps[i];
      row.decision = static_cast<int64_t>(i);
      row.layer = "layer" + std::to_string(layer);
      row.parameter = 0.01 * static_cast<double>(i + 1);
      row.reason = "why, \"so\"";
      run.decisions.push_back(row);
    }
  }
}

inline RunDirectory MakeRun(const std::vector<std::string>& policies,
                            const std::vector<uint64_t>& seeds,
                            const std::vector<Metric>& metrics = {kAccuracy},
                            const std::optional<Target>& target = Target{"accuracy", 0.8}) {
  RunDirectory run;
  nlohmann::json document = MakeManifest(policies, seeds, metrics, target);
  document["format"] = kFormatVersion;
  run.manifest = ParseManifest(document, "manifest.json");
  return run;
}

}  // namespace legacy::analysis
