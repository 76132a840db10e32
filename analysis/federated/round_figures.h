// These figures sum up the rows of rounds and clients, of federated runs and of plans.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/federated/federated_rows.h"

namespace legacy::analysis {

// Returns a number with four significant digits.
std::string Figure(double value);

// Return a share as "12.3 %", and "-" for nothing.
std::string Percent(double share);
std::string Percent(std::optional<double> share);

// Returns the value below which `share` of the values lie, interpolated linearly between
// neighbours. There must be one or more.
double Quantile(std::vector<double> values, double share);

// RoundFigures are the values of each round, or of those that have one. Seconds, USD and wire MB.
struct RoundFigures {
  std::vector<double> seconds;
  std::vector<double> down;  // parts of the critical task
  std::vector<double> work;
  std::vector<double> up;
  // Time of a round that is not its critical task's. None where tasks begin before their round, as
  // those of an asynchronous server do.
  std::vector<double> wait;
  std::vector<double> started;  // numbers of tasks
  std::vector<double> counted;
  std::vector<double> lost;
  std::vector<double> late;
  std::vector<double> interrupted;
  std::vector<double> cancelled;
  std::vector<double> stale;
  std::vector<double> staleness;
  std::vector<double> residual_age;  // of rounds after which clients hold residuals
  std::vector<double> residual_norm;
  std::vector<double> mb_down;
  std::vector<double> mb_up;
  std::vector<double> usd;
  std::vector<double> usd_hours;
  std::vector<double> hours;  // of clients
};
RoundFigures FiguresOf(std::span<const RoundRow> rounds);

// RoundTotals are what a training took from its beginning on.
struct RoundTotals {
  double rounds = 0;
  double usd = 0;  // of transfers and of hours of clients
  double client_hours = 0;
};
// Returns what it took to make `version`, by the rows of one training. Rounds before it that made
// none count.
RoundTotals TotalsTo(std::span<const RoundRow* const> rounds, int64_t version);

// A Measure has a value of each round. It is shown by its median and 95th percentile, and, where it
// is summed, by the sum.
struct Measure {
  std::string name;
  std::vector<double> values;
  bool summed = false;
};
std::vector<Measure> MeasuresOf(const RoundFigures& figures);

// TaskSeconds is the duration of a counted task.
struct TaskSeconds {
  int64_t client = 0;
  double seconds = 0;
};

// ClientShare is what a part of the clients has of all tasks.
struct ClientShare {
  std::string name;  // of the group, or number of the decile
  int64_t clients = 0;
  double tasks = 0;  // sums
  double counted = 0;
  int64_t never = 0;                      // clients without a counted task
  std::optional<double> task_share = {};  // nothing where no part has any
  std::optional<double> counted_share = {};
  double predicted = 0;         // median of predicted seconds
  std::vector<double> seconds;  // of counted tasks
  double down_bytes = 0;
  double up_bytes = 0;
  double usd = 0;
};

// Return the clients' shares by group, in the order of their first clients, and by decile of
// predicted seconds, fast first; nothing for less than ten clients or without predictions. The rows
// are of one or more trainings, each of them of clients 0 to N - 1 in order; deciles are of each
// training alone. tasks[i] are of the i-th training.
std::vector<ClientShare> SharesByGroup(std::span<const ClientRow> clients,
                                       std::span<const std::vector<TaskSeconds>> tasks);
std::vector<ClientShare> SharesByDecile(std::span<const ClientRow> clients,
                                        std::span<const std::vector<TaskSeconds>> tasks);

// Returns sentences about what the rounds wait for: which part of the critical task, whether lines
// that it shares with others, which group, and the slowest tenth of the clients. The rows are of
// one training.
std::string WaitsFor(std::span<const RoundRow> rounds, std::span<const ClientRow> clients);

}  // namespace legacy::analysis
