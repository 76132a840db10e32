// A summary has the results of each policy in a run directory. It is a pure, deterministic function
// of the directory.
//
// Time-to-accuracy (TTA) is the first simulated second at which the mean of the last three
// evaluations reaches the target. A seed that never reaches it is censored and not dropped: there
// is no mean over the others alone.
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

// A Spread is the mean and the deviation over seeds. The deviation is the sample's (n - 1), and
// unknown below two values.
struct Spread {
  int count = 0;
  double mean = kUnknown;
  double deviation = kUnknown;
};
Spread SpreadOf(const std::vector<double>& values);

// Mean seconds of a step, and of its parts.
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
  bool finished = false;  // true where network.csv has its row
  int64_t steps = 0;
  int64_t evaluations = 0;
  double simulated_seconds = 0;
  double final_accuracy = kUnknown;
  double best_accuracy = kUnknown;
  std::optional<double> time_to_accuracy;
  double element_ratio = kUnknown;  // d * steps / elements sent
  double payload_ratio = kUnknown;  // 4 d * steps / message bytes
  double traffic_ratio = kUnknown;  // bytes out of a NIC: dense fp32 ring / this policy
  double step_bytes = kUnknown;     // bytes of one worker's messages in a step, mean over the steps
  std::optional<double> egress_usd;  // price of the whole training, where links have prices
  // Number of decisions, where the policy decides and the run says so.
  std::optional<int64_t> decisions;
  StepSplit step;
};

// A time that exists only where the target was reached: `spread` is empty unless every seed did.
struct CensoredSpread {
  int reached = 0;
  Spread spread;
};

// Sums over seeds.
struct NetworkSummary {
  std::string fidelity;  // "" where no seed has finished
  int64_t events = 0;
  int64_t packets = 0;
  int64_t fresh_steps = 0;
  int64_t memoised_steps = 0;
  int64_t retransmit_timeouts = 0;
  int64_t drops = 0;
  int64_t marks = 0;
  // Link with the highest mean utilisation with any seed, as "from -> to".
  std::string busiest_link;
  double busiest_utilisation = kUnknown;
  double busiest_peak = kUnknown;  // highest utilisation of that link, with that seed
};

// Spreads are over the finished seeds; where none has finished, over those that have begun.
struct PolicySummary {
  std::string name;
  std::vector<SeedSummary> seeds;  // all seeds of the manifest
  int finished = 0;
  bool complete = false;  // true where every seed has finished and has evaluations
  Spread final_accuracy;
  Spread best_accuracy;
  CensoredSpread time_to_accuracy;
  // TTA of the policy "dense" (or "fp16") divided by this policy's, by seed. `reached` counts the
  // seeds with which both reached the target. Empty where the run has no policy of that name.
  std::optional<CensoredSpread> speedup_dense;
  std::optional<CensoredSpread> speedup_fp16;
  Spread accuracy_difference;  // final accuracy less the baseline's, by seed, of finished pairs
  Spread element_ratio;
  Spread payload_ratio;
  Spread traffic_ratio;
  Spread step_bytes;
  std::optional<double> requested_bytes;  // requested value of step_bytes
  Spread egress_usd;                      // empty where no link has a price
  // Fewest decisions of any seed that counts; nothing where the policy decides nothing.
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
  std::string fidelity;  // fidelity that was asked for
  std::optional<double> target;
  std::string baseline;
  std::vector<PolicySummary> policies;
  std::vector<std::string> notes;  // incomplete trainings, time-outs, what the reader ignored
};

// Returns the policy of this name, or null.
const PolicySummary* FindPolicy(const Summary& summary, const std::string& name);

struct SummaryOptions {
  std::optional<double> target;  // fraction; default: the manifest's
  std::string baseline;          // default: "dense", else the first policy
};

// Returns the summary. Throws Error on a baseline that is not a policy of the run and on a target
// outside (0, 1].
Summary Summarise(const RunDirectory& run, const SummaryOptions& options = {});

// A policy that decided less often than this had hardly any effect. Its name is marked wherever its
// figures are shown.
inline constexpr int64_t kFewestDecisions = 3;
inline constexpr const char* kIdleMark = " †";
inline constexpr const char* kIdleLegend = "†: its policy decided less than three times";
bool IsIdle(const std::optional<int64_t>& decisions);
std::string MarkedName(const std::string& policy, const std::optional<int64_t>& decisions);
// Returns "never decided", "decided once" or "decided twice", for less than kFewestDecisions.
std::string IdleText(int64_t decisions);

// Returns the time to accuracy in seconds; nothing where the target is not reached. `evaluations`
// are those of one policy and seed, in order.
std::optional<double> TimeToAccuracy(const std::vector<EvaluationRow>& evaluations, double target);

nlohmann::json ToJson(const Summary& summary);

}  // namespace legacy::analysis
