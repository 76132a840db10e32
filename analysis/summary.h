// Summary: what a run directory says about each policy. Pure function of the directory;
// deterministic.
//
// Time-to-accuracy (TTA) is the first simulated second at which the mean of the last three
// evaluations reaches the target. A seed that never does is censored, not dropped: no mean is given
// over the others.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_directory.h"

namespace legacy::analysis {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Over seeds; the deviation is the sample's (n - 1) and unknown below two values.
struct Spread {
  int count = 0;
  double mean = kUnknown;
  double deviation = kUnknown;
};
Spread SpreadOf(const std::vector<double>& values);

// Mean seconds of a step and what they went to.
struct StepSplit {
  double total = 0;
  double compute = 0;
  double encode = 0;
  double communication = 0;
  double decode = 0;
  double wait = 0;
};

// One policy with one seed.
struct SeedSummary {
  uint64_t seed = 0;
  bool finished = false;  // has its row in network.csv
  int64_t steps = 0;
  int64_t evaluations = 0;
  double simulated_seconds = 0;
  double final_accuracy = kUnknown;
  double best_accuracy = kUnknown;
  std::optional<double> time_to_accuracy;
  double element_ratio = kUnknown;   // d * steps / elements sent
  double payload_ratio = kUnknown;   // 4 d * steps / message bytes
  double traffic_ratio = kUnknown;   // bytes out of a network card: dense fp32 ring / this policy
  double step_bytes = kUnknown;      // of one worker's messages in a step, mean over the steps
  std::optional<double> egress_usd;  // of the whole training, where links have prices
  // That the policy made, where it is one that decides and the run says so.
  std::optional<int64_t> decisions;
  StepSplit step;
};

// A time that exists only where the target was reached: `spread` is empty unless every seed did.
struct CensoredSpread {
  int reached = 0;
  Spread spread;
};

struct NetworkSummary {  // sums over seeds
  std::string fidelity;  // "" where no seed has finished
  int64_t events = 0;
  int64_t packets = 0;
  int64_t fresh_steps = 0;
  int64_t memoised_steps = 0;
  int64_t retransmit_timeouts = 0;
  int64_t drops = 0;
  int64_t marks = 0;
  std::string busiest_link;  // "from -> to", by mean utilisation in any seed
  double busiest_utilisation = kUnknown;
  double busiest_peak = kUnknown;  // its highest utilisation, in that seed
};

// Spreads are over the finished seeds; where none has finished, over those that have begun.
struct PolicySummary {
  std::string name;
  std::vector<SeedSummary> seeds;  // all of the manifest's
  int finished = 0;
  bool complete = false;  // every seed has finished and has evaluations
  Spread final_accuracy;
  Spread best_accuracy;
  CensoredSpread time_to_accuracy;
  // TTA of the policy "dense" (or "fp16") / this policy's, by seed; `reached` counts pairs that
  // both did. Empty where the run has no policy of that name.
  std::optional<CensoredSpread> speedup_dense;
  std::optional<CensoredSpread> speedup_fp16;
  Spread accuracy_difference;  // final accuracy less the baseline's, by seed, of finished pairs
  Spread element_ratio;
  Spread payload_ratio;
  Spread traffic_ratio;
  Spread step_bytes;
  std::optional<double> requested_bytes;  // what step_bytes was to be
  Spread egress_usd;                      // empty where no link has a price
  // The fewest of any seed that counts; nothing where the policy has nothing to decide.
  std::optional<int64_t> decisions;
  Spread step_seconds;
  StepSplit step;  // means over seeds
  NetworkSummary network;
};

struct Summary {
  std::string program;
  int workers = 0;
  int64_t parameters = 0;
  std::vector<uint64_t> seeds;
  std::string fidelity;  // as asked for
  std::optional<double> target;
  std::string baseline;
  std::vector<PolicySummary> policies;
  std::vector<std::string> notes;  // incomplete trainings, time-outs, what the reader ignored
};

// The policy of this name, or null.
const PolicySummary* FindPolicy(const Summary& summary, const std::string& name);

struct SummaryOptions {
  std::optional<double> target;  // fraction; default: the manifest's
  std::string baseline;          // default: "dense", else the first policy
};

// Throws Error on a baseline that is not a policy of the run and on a target outside (0, 1].
Summary Summarise(const RunDirectory& run, const SummaryOptions& options = {});

// A policy that decided less often was hardly there: its name is marked wherever its figures stand.
inline constexpr int64_t kFewestDecisions = 3;
inline constexpr const char* kIdleMark = " †";
inline constexpr const char* kIdleLegend = "†: its policy decided less than three times";
bool IsIdle(const std::optional<int64_t>& decisions);
std::string MarkedName(const std::string& policy, const std::optional<int64_t>& decisions);
// "never decided", "decided once", "decided twice". Of idle ones.
std::string IdleText(int64_t decisions);

// Empty where the target is not reached; `evaluations` of one policy and seed, in order.
std::optional<double> TimeToAccuracy(const std::vector<EvaluationRow>& evaluations, double target);

nlohmann::json ToJson(const Summary& summary);

}  // namespace legacy::analysis
