// What-if answers how long a study's recorded trainings would take on another network, with other
// stragglers or faster devices; for federated trainings, on other lines, at another server, and at
// other prices. A question changes options of the network and the clock. For its answer each
// training is replayed in memory, with the same bits that legacy-replay, or legacy-federated
// replay, writes with those options. Federated trainings whose learning depends on the times of
// their network cannot be replayed; their rounds are planned instead, without learning, as
// legacy-federated plan does. Nothing here reads a recording or prints.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "analysis/summary.h"
#include "analysis/table_text.h"
#include "scenarios/options/scenario.h"
#include "scenarios/study/what_if/question.h"
#include "trainer/worker_pool.h"

namespace legacy {

class RecordedRun;

// A MeanTask is what the tasks of a federated training move and work on average; every task of a
// plan is one. Work is seconds on a client with a slowdown of 1.
struct MeanTask {
  int64_t down_bytes = 0;
  int64_t up_bytes = 0;
  double work_seconds = 0;
};

// A WhatIfTraining is a training with one policy and one seed, which is replayed or planned.
struct WhatIfTraining {
  size_t recording = 0;  // position in WhatIfStudy::recordings, where it is replayed
  // Scenario from which a question starts; network and clock are the same in the whole group.
  Scenario scenario;
  std::optional<MeanTask> planned = {};  // its tasks, where it is planned
};

// A WhatIfGroup has trainings that share everything but policy and seed, ordered by policy, then
// seed. A training is in several groups where these differ only in options that it never reads.
struct WhatIfGroup {
  std::string label;  // label: "16 workers, density 1%"
  std::vector<WhatIfTraining> trainings;

  // Returns whether these are federated trainings.
  bool OfClients() const { return trainings.front().scenario.federated.has_value(); }
  // Returns whether answers are plans, without learning.
  bool Planned() const { return trainings.front().planned.has_value(); }
};

// WhatIfRefused are trainings that share everything but policy and seed, and whose learning on
// another network cannot be known without training.
struct WhatIfRefused {
  std::string label;
  std::vector<std::string> policies;
  std::string reason;
  // Command lines, or "": one that gives their times on other lines, and one that plans what their
  // rounds would take, without accuracy.
  std::string command;
  std::string plan;
  std::optional<size_t> planned_by = {};  // group that plans them
};

// A WhatIfStudy has everything that questions may name.
struct WhatIfStudy {
  std::vector<std::shared_ptr<const RecordedRun>> recordings;
  std::vector<WhatIfGroup> groups;
  std::vector<WhatIfRefused> refused;
  std::vector<std::string> policies;  // policies in the study's order
  std::vector<uint64_t> seeds;
  std::set<std::string> topologies;  // topologies of the study; only these may be files
};

// A WhatIfRound has what federated trainings report of a version: mean seconds from one to the
// next, in which the critical task downloads, works and uploads, and the rest is waiting.
struct WhatIfRound {
  double download = 0;
  double work = 0;
  double upload = 0;
  double wait = 0;
  std::optional<double> usd_to_target;  // of transfers and hours of clients
};

// A WhatIfPlan has what a plan reports besides the times of its rounds. Seconds, wire MB, USD of
// transfers and hours of clients; sums are over all rounds.
struct WhatIfPlan {
  std::string command;  // the command line that plans the same
  std::string stopped;  // why it ended before all versions were made; "": it did not
  int64_t versions = 0;
  int64_t wanted = 0;  // versions
  double round_median = 0;
  double round_95 = 0;  // 95th percentile
  double mb_down = 0;
  double mb_up = 0;
  double usd = 0;
  int64_t started = 0;                       // tasks
  int64_t counted = 0;                       // updates in versions
  int64_t never_counted = 0;                 // clients
  std::vector<analysis::Table> tables = {};  // those that the command prints
};

// A WhatIfSeed is the answer for one training.
struct WhatIfSeed {
  uint64_t seed = 0;
  // nullopt: the target was not reached in simulated_seconds (censored), or nothing was learnt.
  std::optional<double> time_to_target;
  double simulated_seconds = 0;
  analysis::StepSplit step;          // means in seconds
  std::optional<WhatIfRound> round;  // of federated trainings
  // Simulated seconds, and the value of the metric; in plans the number of the version, of at most
  // kMostPlannedPoints of them, evenly chosen, the last one included.
  std::vector<std::pair<double, double>> curve;
  std::optional<WhatIfPlan> plan = {};
};
inline constexpr size_t kMostPlannedPoints = 500;

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
  // `threads` 0: one per core, 2 at most.
  explicit WhatIf(WhatIfStudy study, int threads = 0);

  const WhatIfStudy& study() const { return study_; }

  // Returns a question with everything given, whose answer is the group on the study's own network
  // (with the fidelity flow where the study has packets, and no stragglers where they are not
  // fixed). Throws Error on a group that does not exist.
  WhatIfQuestion Defaults(size_t group) const;

  // Returns the scenario that answers a question for one training. Throws Error on invalid options.
  Scenario ScenarioOf(const WhatIfTraining& training, const WhatIfQuestion& question) const;

  // Returns the keys that the network of a question does not read, with the reason.
  std::map<std::string, std::string> Unread(const WhatIfQuestion& question) const;

  // Returns the places at which the server of a group of clients may be; empty: there are none.
  std::vector<std::string> Places(size_t group) const;

  // Returns the answer. Any thread may ask; questions are answered one after the other, and the
  // last ones are memoised. `stopped` is called between steps, or transfers of clients. Throws
  // Error on invalid questions, and WhatIfStopped after `limit_seconds` of work or waiting.
  std::shared_ptr<const WhatIfAnswer> Answer(const WhatIfQuestion& question, double limit_seconds,
                                             const std::function<bool()>& stopped);

 private:
  const WhatIfGroup& GroupOf(size_t group) const;
  std::vector<const WhatIfTraining*> Chosen(const WhatIfQuestion& question) const;
  using Memoised = std::pair<WhatIfQuestion, std::shared_ptr<const WhatIfAnswer>>;
  const WhatIfStudy study_;
  WorkerPool pool_;
  std::timed_mutex turn_;
  std::deque<Memoised> memoised_;  // the latest first
};

}  // namespace legacy
