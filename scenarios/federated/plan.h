// A plan simulates rounds, or an asynchronous server: which tasks start, when they end, and what
// they cost. Its tasks are those of a workload: numbers, or a training.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "base/programs/program.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "scenarios/federated/plan_request.h"
#include "scenarios/federated/workload.h"

namespace legacy {

// A PlanRemedy changes a plan, to show what it would save.
struct PlanRemedy {
  double down_rates = 1;  // factors on rates of access lines
  double up_rates = 1;
  double server_rate = 1;
  double core_rates = 1;  // of the links that --topology has
  double work = 1;        // factor on the time of work
  double bytes = 1;       // factor on both transfers
  // True: the tenth with the longest predicted tasks gets none. Without a server, where all clients
  // take part, the tenth with the longest work takes as long for it as the median client.
  bool no_slow_tenth = false;
  std::string at = {};   // place of the server; "": as it is
  int64_t versions = 0;  // 0: those of the plan

  bool operator==(const PlanRemedy&) const = default;
  // Returns true where versions are all that it changes.
  bool AsItIs() const {
    PlanRemedy none;
    none.versions = versions;
    return *this == none;
  }
};

// TaskCost has the wire bytes, ACKs left out, and the prices of a task's transfers.
struct TaskCost {
  double usd_down = 0;  // of the download and its ACKs
  double usd_up = 0;
  double usd_hours = 0;  // price_hour, from dispatch to end
};

// An ExchangeSplit has the parts of an exchanging round's seconds, as means over the clients, and
// the payload that leaves a client's NIC.
struct ExchangeSplit {
  double compute = 0;
  double encode = 0;
  double decode = 0;
  double communication = 0;
  double wait = 0;
  double nic_bytes = 0;
};

// A PlannedRound is a version, or a round without one, with what it cost.
struct PlannedRound {
  fabric::RoundRow row;
  int64_t first_task = 0;  // its tasks' positions in Plan::tasks
  int64_t tasks = 0;
  int64_t wire_down = 0;  // bytes on the wire, without ACKs
  int64_t wire_up = 0;
  TaskCost cost;
  double client_seconds = 0;  // of its tasks, from dispatch to end
  double work_seconds = 0;    // of its counted tasks
  double counted_seconds =
      0;  // of counted tasks: the round's duration for each (async: the task's)
  std::optional<ExchangeSplit> split = std::nullopt;  // of trainings without a server
};

// ClientTotals are a client's sums over the plan.
struct ClientTotals {
  int64_t tasks = 0;
  int64_t counted = 0;
  double busy_seconds = 0;  // from dispatch to end
  int64_t wire_down = 0;
  int64_t wire_up = 0;
  double usd = 0;
  int64_t last_staleness = -1;  // -1: no update was counted
};

// A ShortTask is what tables need of each task.
struct ShortTask {
  int32_t client = 0;
  fabric::TaskFate fate = fabric::TaskFate::Counted;
  float seconds = 0;
};

// An ExchangeHop is what one client sends to another in a round.
struct ExchangeHop {
  std::string from;  // nodes of the network
  std::string to;
  double bits_per_second = 0;  // of the slowest link between them, or its mean
  double round_trip = 0;       // seconds of propagation, there and back
  int64_t payload_bytes = 0;
  int64_t wire_bytes = 0;  // without ACKs
};

inline constexpr size_t kMostHops = 100;

// ExchangeFigures are what a plan without a server has besides its rounds.
struct ExchangeFigures {
  std::vector<ExchangeHop> hops;        // the kMostHops that take longest at their rates, first
  int64_t all_hops = 0;                 // how many there are
  std::vector<int64_t> sent_bytes;      // payload of a round by client, what it forwards included
  std::vector<double> work_seconds;     // of a round, by client
  std::vector<double> synchronisation;  // by round: seconds from the end of the last work on
  std::string fullest_link;             // the link that takes longest for what it carries
  bool rates_change = false;            // true: times at rates are those at mean rates
  double bound_seconds = 0;  // its wire bytes, without ACKs, at its rate: no less is possible
  // The collective's closed form, were all clients as far apart as the farthest two that exchange
  // anything and all lines as slow as the slowest hop; 0 of trainings, which may make several
  // calls.
  double closed_form_seconds = 0;
  fabric::UniformPath worst;  // the path of that closed form; a rate of 0: nothing is exchanged
};

// A Plan is the result. With a remedy it has rounds and prices only: figures of each client and
// each link (`predicted`, `opening`, `links`, those of an exchange) belong to the plan as it is.
struct Plan {
  std::vector<PlannedRound> rounds;
  std::vector<ShortTask> short_tasks;
  std::vector<fabric::TaskRow> tasks;  // the first kMostTaskRows
  std::vector<ClientTotals> clients;
  std::vector<float> predicted;  // seconds of a task that shares no line, by client
  std::vector<float> opening;    // their parts of handshakes and slow start
  std::string stop;              // why it ended before all versions were made; "": it did not
  bool interrupted = false;
  int64_t versions = 0;
  fabric::EngineCounters counters;
  double link_usd = 0;  // price of all bytes on all links
  // Links of the core and the server's line singly, and access lines summed by group and direction.
  std::vector<analysis::LinkRow> links;
  std::optional<ExchangeFigures> exchange;  // of plans without a server
  double wall_seconds = 0;
  size_t most_live = 0;
};

inline constexpr size_t kMostTaskRows = 1'000'000;

// An EndedTask is the record of a task.
struct EndedTask {
  fabric::TaskRow row;
  TaskFigures figures;
};

// A PlanRun simulates a plan round by round:
//
//   while (const PlannedRound* round = run->Next()) { ... }
//   const Plan plan = run->Finish();
class PlanRun {
 public:
  virtual ~PlanRun() = default;
  // Simulates up to the end of the next round, before anything of the one after it begins. Returns
  // the round, valid until the next call; null: there is none. Throws Error.
  virtual const PlannedRound* Next() = 0;
  // Returns the tasks that ended in the last call of Next(), if the plan keeps them.
  virtual std::span<const EndedTask> Tasks() const = 0;
  // Returns what is known up to now. It is called once, as the last.
  virtual Plan Finish() = 0;
};

// A PlanControl says how a plan is run.
struct PlanControl {
  PlanRemedy remedy = {};
  const StopFlag* stop = nullptr;  // other than 0: the plan ends with the version in work
  bool keeps_tasks = false;        // for PlanRun::Tasks
  // Is called as each transfer with a server begins and ends. What it throws ends the plan.
  std::function<void()> on_transfer = {};
};

// Throws the Error of a plan whose parts do not fit together, as StartPlan would.
void CheckPlan(const PlanRequest& request);

class PlanNetworks;  // plan_parts.h

// Starts the plan of a request, whose networks several plans may share. `workload`, unless it is
// null, takes the place of the request's bytes and seconds; a request with an exchange has none.
// What is given outlives the run. Throws Error.
std::unique_ptr<PlanRun> StartPlan(PlanNetworks& networks, const PlanControl& control,
                                   Workload* workload = nullptr);

// Simulates all rounds of a plan. `progress` is called after each version with their number; it may
// be empty. Throws Error.
Plan RunPlan(PlanNetworks& networks, const PlanRemedy& remedy = {},
             const std::function<void(int64_t versions)>& progress = {},
             const StopFlag* stop = nullptr);
// Does so for a request alone.
Plan RunPlan(const PlanRequest& request, const PlanRemedy& remedy = {});
// Simulates the rounds that are left.
Plan RunToEnd(PlanRun& run, const std::function<void(int64_t versions)>& progress = {});

}  // namespace legacy
