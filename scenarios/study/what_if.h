// What-if answers how long a study's recorded trainings would take on another network, with other
// stragglers or faster devices. A question changes options of the network and the clock. For its
// answer each training is replayed in memory, with the same bits that legacy-replay writes with
// those options. Nothing here reads a file or prints.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "analysis/summary.h"
#include "scenarios/options/scenario.h"
#include "trainer/worker_pool.h"

namespace legacy {

struct Recording;  // recording.h, which brings LibTorch's headers with it

// A WhatIfTraining is a recorded training with one policy and one seed.
struct WhatIfTraining {
  size_t recording = 0;  // position in WhatIfStudy::recordings
  // Scenario from which a question starts; network and clock are the same in the whole group.
  Scenario scenario;
};

// A WhatIfGroup has trainings that share everything but policy and seed, ordered by policy, then
// seed. A training is in several groups where these differ only in options that it never reads.
struct WhatIfGroup {
  std::string label;  // label: "16 workers, density 1%"
  std::vector<WhatIfTraining> trainings;
};

// A WhatIfStudy has everything that questions may name.
struct WhatIfStudy {
  std::vector<std::shared_ptr<const Recording>> recordings;
  std::vector<WhatIfGroup> groups;
  std::vector<std::string> policies;  // policies in the study's order
  std::vector<uint64_t> seeds;
  std::set<std::string> topologies;  // topologies of the study; only these may be files
};

// A WhatIfQuestion says what to change; the rest is as in the group. Texts are those of the
// options.
struct WhatIfQuestion {
  size_t group = 0;
  std::optional<std::string> bandwidth;  // network.bandwidth
  std::optional<std::string> delay;
  // A type and its parameters, or one of WhatIfStudy::topologies.
  std::optional<std::string> topology;
  std::optional<std::string> fidelity;  // flow | analytic
  std::optional<double> slowdown;       // slow-down of the last `slow_workers` workers
  std::optional<int64_t> slow_workers;
  std::optional<double> device_speed;
  std::optional<double> codec_speed;
  std::vector<std::string> policies;  // empty: all
  std::vector<uint64_t> seeds;

  bool operator==(const WhatIfQuestion&) const = default;
};

// A WhatIfSeed is the answer for one training.
struct WhatIfSeed {
  uint64_t seed = 0;
  // nullopt: the target was not reached in simulated_seconds (censored).
  std::optional<double> time_to_target;
  double simulated_seconds = 0;
  analysis::StepSplit step;                      // means in seconds
  std::vector<std::pair<double, double>> curve;  // simulated seconds, value of the metric
};

// A WhatIfPolicy is the answer for one policy.
struct WhatIfPolicy {
  std::string policy;
  std::vector<WhatIfSeed> seeds;
};

using WhatIfAnswer = std::vector<WhatIfPolicy>;

// A WhatIfStopped is thrown where an answer was stopped, reached its time limit, or could not begin
// within it. The question may be valid.
class WhatIfStopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A WhatIf answers questions about one study.
class WhatIf {
 public:
  // `threads` 0: one per core, 2 at most. Throws Error where there is no group.
  explicit WhatIf(WhatIfStudy study, int threads = 0);

  const WhatIfStudy& study() const { return study_; }

  // Returns a question with everything given, whose answer is the group on the study's own network
  // (with the fidelity flow where the study has packets, and no stragglers where they are not
  // fixed). Throws Error on a group that does not exist.
  WhatIfQuestion Defaults(size_t group) const;

  // Returns the scenario that answers a question for one training. Throws Error on invalid options.
  Scenario ScenarioOf(const WhatIfTraining& training, const WhatIfQuestion& question) const;

  // Returns those of "bandwidth" and "delay" that the network of a question does not read, as its
  // topology file has rates or delays of its own.
  std::vector<std::string> Unread(const WhatIfQuestion& question) const;

  // Returns the answer. Any thread may ask; questions are answered one after the other, and the
  // last ones are memoised. `stopped` is called between steps. Throws Error or fabric::Error on
  // invalid questions, and WhatIfStopped after `limit_seconds` of work or waiting.
  std::shared_ptr<const WhatIfAnswer> Answer(const WhatIfQuestion& question, double limit_seconds,
                                             const std::function<bool()>& stopped);

 private:
  const WhatIfGroup& GroupOf(size_t group) const;
  std::vector<const WhatIfTraining*> Chosen(const WhatIfQuestion& question) const;
  void SetNetwork(const WhatIfQuestion& question, Scenario& scenario) const;

  using Memoised = std::pair<WhatIfQuestion, std::shared_ptr<const WhatIfAnswer>>;
  const WhatIfStudy study_;
  WorkerPool pool_;
  std::timed_mutex turn_;
  std::deque<Memoised> memoised_;  // the latest first
};

}  // namespace legacy
