// Made-up studies with results that follow simple formulas, so that tests can know the answers:
//   seconds of a step = compute + codec + 8 bytes / bandwidth, everything but compute of the policy
//   bytes of a step = part of 1 MB: a ring's 2 (N - 1) / N of it, or N - 1 times it where gathered
//   TTA = steps to the target x seconds of a step; the seeds' steps are 0.97, 1, 1.03, ... of it
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

struct MadeUpPolicy {
  std::string name;
  double part = 1;               // fraction of the dense bytes
  bool gathered = false;         // all-gather instead of ring all-reduce
  double codec_seconds = 0;      // time of encoding and decoding, half each
  double steps_to_target = 200;  // beyond 400: never reached
};

inline std::vector<MadeUpPolicy> EightPolicies() {
  return {{"dense", 1, false, 0, 200},
          {"fp16", 0.5, false, 2e-4, 200},
          {"topk-layer-1%", 0.02, true, 2e-3, 230},
          {"topk-global-1%", 0.02, true, 3e-3, 215},
          {"randomk-1%", 0.01, true, 5e-4, 700},
          {"artopk-1%", 0.02, false, 4e-3, 220},
          {"legacy-uniform", 0.03, true, 2.5e-3, 225},
          {"legacy", 0.025, true, 2.5e-3, 205}};
}

struct MadeUpStudy {
  std::vector<MadeUpPolicy> policies = EightPolicies();
  std::vector<uint64_t> seeds = {1, 2, 3};
  std::vector<double> bandwidths;  // bit/s; default: 10 Mbit/s to 100 Gbit/s in 13 equal factors
  std::vector<int> workers = {8, 16};
  double compute_seconds = 0.01;
};

inline std::string BandwidthText(double bits_per_second) {
  return std::to_string(std::llround(bits_per_second / 1e3)) + "kbps";
}

// Fills in the results of one policy with one seed; `fast` is a rate in bit/s.
inline void FillFigures(StudyPoint& point, const MadeUpPolicy& policy, double compute, double fast,
                        int workers, double seed_factor) {
  const int64_t steps = 400;
  const double ring = 2.0 * (workers - 1) / workers;
  const double dense_bytes = 1e6 * ring;
  const double nic_bytes = 1e6 * policy.part * (policy.gathered ? workers - 1 : ring);
  PointFigures& figures = point.figures;
  figures.workers = workers;
  figures.steps = steps;
  figures.compute_seconds = compute;
  figures.encode_seconds = figures.decode_seconds = policy.codec_seconds / 2;
  figures.communication_seconds = 8 * nic_bytes / fast;
  figures.step_seconds = compute + policy.codec_seconds + figures.communication_seconds;
  figures.alpha_beta_step_seconds = figures.step_seconds + 0.1 * figures.communication_seconds;
  figures.simulated_seconds = static_cast<double>(steps) * figures.step_seconds;
  const double reached = std::round(policy.steps_to_target * seed_factor);
  if (reached <= static_cast<double>(steps)) {
    figures.steps_to_target = static_cast<int64_t>(reached);
    figures.time_to_target = reached * figures.step_seconds;
  }
  figures.message_bytes = 1e6 * policy.part * static_cast<double>(steps);
  figures.nic_bytes = nic_bytes * static_cast<double>(steps);
  figures.element_ratio = figures.payload_ratio = 1 / policy.part;
  figures.traffic_ratio = dense_bytes / nic_bytes;
  figures.fidelity = "flow";
  figures.events = 1000;
  figures.fresh_steps = 1;
  figures.memoised_steps = steps - 1;
  figures.busiest_link = "s0>h1";
  figures.busiest_utilisation = 0.5;
  // The accuracy reaches 80 % at the target's steps.
  for (int64_t step = 20; step <= steps; step += 20) {
    const double progress = static_cast<double>(step) / (policy.steps_to_target * seed_factor);
    const double accuracy = 0.1 + 0.75 * (1 - std::exp(-std::log(15.0) * progress));
    const auto count = static_cast<double>(step);
    point.curve.push_back({step,
                           count * figures.step_seconds,
                           1e6 * policy.part * count,
                           nic_bytes * count,
                           2 * (1 - accuracy),
                           {accuracy}});
  }
  figures.final_metric = figures.best_metric = point.curve.back().metrics[0];
}

inline Study MakeStudy(MadeUpStudy made = {}) {
  if (made.bandwidths.empty()) {
    for (int i = 0; i < 13; ++i) made.bandwidths.push_back(1e7 * std::pow(10, i / 3.0));
  }
  Study study;
  study.name = "made-up";
  study.title = "A made-up study";
  study.definition = "study: {name: made-up}\n";
  study.baseline = made.policies.front().name;
  study.metrics = {{"accuracy", "accuracy", Metric::Better::kHigher, true}};
  study.target = Target{"accuracy", 0.8};
  study.seeds = made.seeds;
  study.axes = {{"bandwidth", "bit/s", {}, made.bandwidths}, {"workers", "", {}, {}}};
  for (const double value : made.bandwidths) study.axes[0].values.push_back(BandwidthText(value));
  for (const int workers : made.workers) {
    study.axes[1].values.push_back(std::to_string(workers));
    study.axes[1].numbers.push_back(workers);
  }
  for (const MadeUpPolicy& policy : made.policies) study.policies.push_back(policy.name);
  for (size_t w = 0; w < made.workers.size(); ++w) {
    for (const MadeUpPolicy& policy : made.policies) {
      for (size_t s = 0; s < made.seeds.size(); ++s) {
        StudyTraining training;
        training.id = policy.name + "-" + study.axes[1].values[w] + "-" + std::to_string(s);
        training.policy = policy.name;
        training.seed = made.seeds[s];
        training.state = StudyState::kDone;
        training.configuration = "{}";
        study.trainings.push_back(std::move(training));
      }
    }
  }
  for (size_t b = 0; b < made.bandwidths.size(); ++b) {
    for (size_t w = 0; w < made.workers.size(); ++w) {
      for (const MadeUpPolicy& policy : made.policies) {
        for (size_t s = 0; s < made.seeds.size(); ++s) {
          StudyPoint point;
          point.id = static_cast<int64_t>(study.points.size());
          point.policy = policy.name;
          point.seed = made.seeds[s];
          point.values = {study.axes[0].values[b], study.axes[1].values[w]};
          point.training = policy.name + "-" + point.values[1] + "-" + std::to_string(s);
          point.state = StudyState::kDone;
          FillFigures(point, policy, made.compute_seconds, made.bandwidths[b], made.workers[w],
                      0.97 + 0.03 * static_cast<double>(s));
          study.points.push_back(std::move(point));
        }
      }
    }
  }
  return study;
}

// Returns the study with a perplexity in place of the accuracy: exp(6 - 5 accuracy), 245 at an
// accuracy of 0.1 and 7.39 at that of the target, 0.8. Its times are those of the study.
inline Study InPerplexity(Study study) {
  study.metrics = {{"perplexity", "perplexity", Metric::Better::kLower, false}};
  study.target = Target{"perplexity", 7.39};
  for (StudyPoint& point : study.points) {
    for (CurveRow& row : point.curve) row.metrics[0] = std::exp(6 - 5 * row.metrics[0]);
    if (point.curve.empty()) continue;
    point.figures.final_metric = point.figures.best_metric = point.curve.back().metrics[0];
  }
  return study;
}

// Returns the study as one of shapes, which trains nothing and has the same steps.
inline Study InShapes(Study study) {
  study.metrics.clear();
  study.target.reset();
  for (StudyPoint& point : study.points) {
    point.figures.time_to_target.reset();
    point.figures.steps_to_target.reset();
    point.figures.final_metric = point.figures.best_metric = NAN;
    point.curve.clear();
  }
  return study;
}

// Makes the point pending again, or failed with a message.
inline void Forget(StudyPoint& point, const std::string& failure = "") {
  point.state = failure.empty() ? StudyState::kPending : StudyState::kFailed;
  point.message = failure;
  point.figures = {};
  point.curve.clear();
}

}  // namespace legacy::analysis
