#include "scenarios/network/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scenarios/network/compared_results.h"
#include "scenarios/network/endless_results.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/network/roce/figures.h"

namespace legacy {
namespace {

// Returns an option's name as the name of a column: pull_bytes.
std::string ColumnName(std::string option) {
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

Row OrNull(const std::optional<double>& value) { return value ? Row(*value) : Row(nullptr); }

void AddCounters(const Measurement& m, Row& row) {
  const LinkStats stats = StatsOf(m.timing.links);
  row["delivered_flows"] = m.timing.counters.flows;
  row["events"] = m.timing.counters.events;
  row["packets"] = m.timing.counters.packets;
  row["drops"] = stats.drops;
  row["marks"] = stats.marks;
  row["max_queue_bytes"] = stats.max_queue_bytes;
  row["retransmit_timeouts"] = m.timing.counters.retransmitTimeouts;
}

// Adds the counts of RoCEv2, which are 0 if the fidelity has no packets.
void AddRoce(const Measurement& m, Row& row) {
  const analysis::RoceFigures figures =
      RoceFiguresOf(m.timing.counters, m.timing.links, m.timing.total);
  analysis::RoceFigures::Columns(
      figures, [&](const char* name, const char*, const auto& member) { row[name] = member; });
}

void AddCollective(const PreparedExperiment& prepared, const Measurement& m, Row& row) {
  const Experiment& e = prepared.experiment;
  const std::vector<TimeNs>& ready = m.traffic.buckets.front().ready;
  const std::vector<TimeNs>& finish = m.timing.finish;
  const double time = InSeconds(m.Time());
  const int64_t bytes = CollectiveBytes(e, prepared.algorithm);
  const std::optional<double> factor = BusFactor(prepared.algorithm, e.Workers());
  const double rate = time > 0 ? 8 * static_cast<double>(bytes) / time : 0;
  row["kind"] = fabric::ToString(prepared.algorithm);
  row["protocol"] = fabric::ToString(ProtocolOf(prepared));
  row["collective_bytes"] = bytes;
  row["ready_first_seconds"] = InSeconds(*std::min_element(ready.begin(), ready.end()));
  row["ready_last_seconds"] = InSeconds(*std::max_element(ready.begin(), ready.end()));
  row["finish_min_seconds"] = InSeconds(*std::min_element(finish.begin(), finish.end()));
  row["finish_mean_seconds"] = SumOf(finish) / 1e9 / static_cast<double>(finish.size());
  row["finish_max_seconds"] = InSeconds(m.timing.total);
  row["slowest_worker"] = std::max_element(finish.begin(), finish.end()) - finish.begin();
  row["time_seconds"] = time;
  row["algorithm_bits_per_second"] = rate;
  row["bus_bits_per_second"] = factor ? Row(rate * *factor) : Row(nullptr);
  const std::optional<TimeNs> formula = ClosedForm(prepared);
  row["closed_form_seconds"] = formula ? Row(InSeconds(*formula)) : Row(nullptr);
}

void AddFlows(const PreparedExperiment& prepared, const Measurement& m, Row& row) {
  const FlowStatistics s = StatisticsOf(prepared, m);
  row["time_seconds"] = InSeconds(m.timing.total);
  row["fct_mean_seconds"] = s.mean;
  row["fct_p50_seconds"] = s.p50;
  row["fct_p99_seconds"] = s.p99;
  row["fct_max_seconds"] = s.longest;
  row["slowdown_mean"] = s.mean_slowdown;
  row["slowdown_p50"] = s.p50_slowdown;
  row["slowdown_p99"] = s.p99_slowdown;
  row["slowdown_max"] = s.largest_slowdown;
}

std::string WhyNothing(const PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  if (!e.HasFlows() && e.Workers() == 1) return "one worker has nobody to send to (--workers)";
  const bool empty = std::all_of(e.bytes.begin(), e.bytes.end(), [](auto b) { return b == 0; });
  return empty ? "messages are empty (--bytes)" : "all flows are empty, or stay on their hosts";
}

}  // namespace

double Percentile(const std::vector<double>& sorted, double q) {
  const double rank = std::ceil(q * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(1.0, rank)) - 1];
}

FlowStatistics StatisticsOf(const PreparedExperiment& prepared, const Measurement& measurement) {
  std::vector<double> times;
  std::vector<double> slowdowns;
  for (const RecordedFlow& flow : measurement.flows) {
    const TimeNs time = flow.end - flow.start;
    const TimeNs ideal = IdealTime(prepared.flows[flow.flow.tag], *prepared.network);
    times.push_back(InSeconds(time));
    slowdowns.push_back(ideal > 0 ? static_cast<double>(time) / static_cast<double>(ideal) : 1);
  }
  std::sort(times.begin(), times.end());
  std::sort(slowdowns.begin(), slowdowns.end());
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  return {mean(times),     Percentile(times, .5),     Percentile(times, .99),     times.back(),
          mean(slowdowns), Percentile(slowdowns, .5), Percentile(slowdowns, .99), slowdowns.back()};
}

std::vector<Row> ResultRows(const ExperimentOptions& options, const PreparedExperiment& prepared,
                            const std::vector<Measurement>& measurements,
                            const std::vector<std::string>& swept) {
  if (prepared.experiment.duration > 0) return ThroughputRows(prepared, measurements);
  std::vector<Row> rows;
  const ExperimentOptions defaults;
  for (const Measurement& m : measurements) {
    Row row;
    for (const Option<ExperimentOptions>& option : ExperimentRows()) {
      const std::string name = option.Name(), value = option.get(options);
      const bool recorded = !option.Has(kUnrecorded) || value != option.get(defaults) ||
                            std::count(swept.begin(), swept.end(), name) > 0;
      if (recorded && name != "fidelity") row[ColumnName(name)] = value;
    }
    row["hosts"] = prepared.network->topology.Hosts().size();
    row["fidelity"] = NameOf(m.fidelity);
    row["repetition"] = m.repetition;
    if (prepared.experiment.HasFlows()) {
      AddFlows(prepared, m, row);
    } else {
      AddCollective(prepared, m, row);
    }
    row["difference"] = OrNull(DifferenceOf(prepared, measurements, m));
    AddCounters(m, row);
    if (prepared.network->request.transport.roce) AddRoce(m, row);
    for (const TimeNs finish : m.timing.finish) row["finish_seconds"].push_back(InSeconds(finish));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> Warnings(const PreparedExperiment& prepared,
                                  const std::vector<Measurement>& measurements) {
  std::vector<std::string> warnings;
  uint64_t timeouts = 0;
  uint64_t floors = 0;
  int64_t drops = 0;
  int64_t bytes = 0;
  for (const Measurement& m : measurements) {
    timeouts += m.timing.counters.retransmitTimeouts;
    floors += m.timing.counters.rateFloors;
    drops += StatsOf(m.timing.links).drops;
    bytes += StatsOf(m.timing.links).bytes;
    const std::string clock = ClockWarning(m.fidelity, *prepared.network);
    if (m.repetition == 0 && !clock.empty()) warnings.push_back(clock);
  }
  if (bytes == 0) warnings.push_back("nothing crossed the network: " + WhyNothing(prepared));
  if (floors > 0) {
    warnings.push_back(
        fmt::format("{} times a link carried less than a frame in 100 ms, and packets passed it at "
                    "that rate all the same (flow and analytic fidelity have any rate)",
                    floors));
  }
  if (timeouts > 0) {
    warnings.push_back(fmt::format(
        "{} retransmission time-outs and {} dropped packets: times are those of {} "
        "recovering from loss ({}; senders at once, --pattern)",
        timeouts, drops, prepared.network->request.transport.roce ? "NICs" : "TCP",
        prepared.network->request.transport.roce ? "roce:pfc, roce:buffer" : "queues, --queue"));
  }
  return warnings;
}

}  // namespace legacy
