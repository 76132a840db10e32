// A small study for tests of what-if: two policies, two seeds and two densities on two rates,
// trained within the test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "scenarios/study/plan.h"
#include "scenarios/study/work.h"

namespace legacy {

inline constexpr const char* kSmallStudy = R"(
study: {name: small, title: A small study, baseline: dense}
scenario:
  training: {workers: 4, batch: 4, steps: 4, evaluate_every: 1, warmup_steps: 2, train_limit: 200,
             test_limit: 40, target: 5%}
  compression: {policies: [dense, topk]}
  network: {topology: star, delay: 20us, stragglers: "fixed:count=1,factor=2", fidelity: analytic}
  run: {seeds: 2}
grid:
  density: [1%, 10%]
  bandwidth: [1Gbps, 10Gbps]
)";

class SmallStudy {
 public:
  explicit SmallStudy(const std::string& name, const std::string& definition = kSmallStudy)
      : folder(std::filesystem::temp_directory_path() / (name + "-" + std::to_string(getpid()))),
        plan(PlanStudy(ParseStudy(definition, "small"))) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    for (const PlannedTraining& training : plan.trainings) Train(folder, training);
  }
  ~SmallStudy() { std::filesystem::remove_all(folder); }
  SmallStudy(const SmallStudy&) = delete;
  SmallStudy& operator=(const SmallStudy&) = delete;

  const std::filesystem::path folder;
  const StudyPlan plan;
};

}  // namespace legacy
