// A summary has the results of each policy in a run directory. It is a pure, deterministic function
// of the directory.
//
// All values of a metric are those of one: the target's, else the run's first. Time to target (TTA)
// is the first simulated second at which the mean of the last three evaluations reaches the target,
// in the direction in which the metric is better. A seed that never reaches it is censored and not
// dropped: there is no mean over the others alone.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
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
  double hidden = 0;  // transfers while the device ran, no part of the total; NaN: not known
  // Parts of `communication` in a step of a divided model (rows.h); NaN: not known.
  double gather = 0, reduce = 0, replica = 0, tensor = 0, pipe = 0, context = 0, expert = 0;
};

// One policy with one seed.
struct SeedSummary {
  uint64_t seed = 0;
  bool finished = false;  // true where network.csv has its row
  int64_t steps = 0;
  int64_t evaluations = 0;
  double simulated_seconds = 0;
  double final_metric = kUnknown;  // value of the metric at the last evaluation
  double best_metric = kUnknown;   // best value of the metric at any evaluation
  std::optional<double> time_to_target;
  // Time of the evaluation before the one that reached the target, 0 where it was the first. The
  // target was reached between the two.
  std::optional<double> time_before_target;
  // Only federated runs that reach the target have these. USD pay for transfers and hours of
  // clients.
  std::optional<double> rounds_to_target;
  std::optional<double> usd_to_target;
  std::optional<double> client_hours_to_target;
  double element_ratio = kUnknown;  // d * steps / elements sent
  double payload_ratio = kUnknown;  // 4 d * steps / message bytes
  double traffic_ratio = kUnknown;  // bytes out of a NIC: dense fp32 ring / this policy
  double step_bytes = kUnknown;     // bytes of one worker's messages in a step, mean over the steps
  std::optional<double> egress_usd;  // price of the whole training, where links have prices
  // Number of decisions, where the policy decides and the run says so.
  std::optional<int64_t> decisions;
  StepSplit step;
};

// A cost that exists only where the target was reached: `spread` is empty unless every seed did.
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
  // Sums too, but paused_share, the mean over the seeds, and the largest buffer and headroom.
  RoceFigures roce;
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
  Spread final_metric;
  Spread best_metric;
  CensoredSpread time_to_target;
  CensoredSpread rounds_to_target;  // of federated runs, as usd_ and client_hours_to_target
  CensoredSpread usd_to_target;
  CensoredSpread client_hours_to_target;
  // TTA of the policy "dense" (or "fp16") divided by this policy's, by seed. `reached` counts the
  // seeds with which both reached the target. Empty where the run has no policy of that name.
  std::optional<CensoredSpread> speedup_dense;
  std::optional<CensoredSpread> speedup_fp16;
  Spread metric_difference;  // final metric less the baseline's, by seed, of finished pairs
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

// StepFlops are the FLOPs of a step of a shape at all workers, and what their devices can make.
struct StepFlops {
  double model = 0;     // products of forward and backward pass
  double hardware = 0;  // with what is computed again
  double six_n = 0;     // 6 N + 12 L h s for each token; 0: not known
  double peak = 0;      // FLOP/s

  // Returns the part of the peak that these FLOPs are of steps of so many seconds.
  double Utilisation(double flops, double seconds) const { return flops / (peak * seconds); }
};

struct Summary {
  std::string program;
  int workers = 0;
  int64_t parameters = 0;
  std::vector<uint64_t> seeds;
  std::string fidelity;  // fidelity that was asked for
  // Metric of all values; its name is "" where nothing was trained.
  Metric metric = {};
  std::optional<double> target;  // value of the metric
  std::string baseline;
  bool federated = false;               // true where the run has rounds
  bool priced = false;                  // true where its rounds cost USD
  std::optional<StepFlops> flops = {};  // where the device's peak is known
  std::vector<PolicySummary> policies;
  std::vector<std::string> notes;  // incomplete trainings, time-outs, what the reader ignored
};

// Returns the policy of this name, or null.
const PolicySummary* FindPolicy(const Summary& summary, const std::string& name);

struct SummaryOptions {
  std::optional<Target> target;  // default: the manifest's
  std::string baseline;          // default: "dense", else the first policy
};

// Returns the summary. Throws Error on a baseline that is not a policy of the run, and on a target
// of a metric that the run does not have, or of a value that the metric cannot have.
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

// Returns the position of the first evaluation that reaches the target: with the two before it, its
// mean does. `values` of the metric are those of one training, in order. Nothing: none does.
std::optional<size_t> TargetReached(const Metric& metric, double target,
                                    std::span<const double> values);

// Returns whether a curve of values crosses the target before TargetReached says that it is
// reached. Pictures with such a curve say kTargetNote.
bool CrossesEarlier(const Metric& metric, double target, std::span<const double> values);
inline constexpr const char* kTargetNote = "target: mean of 3 evaluations";

nlohmann::json ToJson(const Summary& summary);

}  // namespace legacy::analysis
