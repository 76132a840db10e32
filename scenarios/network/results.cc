#include "scenarios/network/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/csv.h"
#include "analysis/table_text.h"
#include "base/error.h"
#include "base/programs/terminal.h"
#include "ns3-module/fabric/roce/roce-settings.h"
#include "scenarios/network/endless_results.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/network/roce/figures.h"

namespace legacy {
namespace {

constexpr size_t kLeastText = 8;  // characters that shortening leaves of a swept value

// Returns an option's name as a column: pull_bytes.
std::string ColumnName(std::string option) {
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

// Returns the sum in nanoseconds, which need not fit TimeNs.
double SumOf(const std::vector<TimeNs>& times) {
  return static_cast<double>(std::accumulate(times.begin(), times.end(), WideTime{0}));
}

// Times are those at one fidelity, over its repetitions.
struct Times {
  double least = 0;  // seconds
  double mean = 0;
  double most = 0;
};

Times TimesOf(const std::vector<const Measurement*>& measurements) {
  Times times{INFINITY, 0, 0};
  for (const Measurement* m : measurements) {
    const double seconds = InSeconds(m->Time());
    times.least = std::min(times.least, seconds);
    times.most = std::max(times.most, seconds);
    times.mean += seconds / static_cast<double>(measurements.size());
  }
  return times;
}

std::vector<const Measurement*> At(const std::vector<Measurement>& all, Fidelity fidelity) {
  std::vector<const Measurement*> at;
  for (const Measurement& m : all) {
    if (m.fidelity == fidelity) at.push_back(&m);
  }
  return at;
}

// Returns the fidelity with which others are compared.
Fidelity Reference(const std::vector<Fidelity>& fidelities) {
  const bool packet = std::ranges::find(fidelities, Fidelity::kPacket) != fidelities.end();
  return packet ? Fidelity::kPacket : fidelities.front();
}

// Returns the difference relative to the reference; nothing for the reference itself.
std::optional<double> Difference(const PreparedExperiment& prepared,
                                 const std::vector<Measurement>& measurements,
                                 const Measurement& m) {
  const Fidelity reference = Reference(prepared.experiment.fidelities);
  if (m.fidelity == reference) return std::nullopt;
  for (const Measurement& other : measurements) {
    if (other.fidelity == reference && other.repetition == m.repetition && other.Time() > 0) {
      return InSeconds(m.Time()) / InSeconds(other.Time()) - 1;
    }
  }
  return std::nullopt;
}

Row OrNull(const std::optional<double>& value) { return value ? Row(*value) : Row(nullptr); }

struct LinkStats {
  int64_t bytes = 0;
  int64_t drops = 0;
  int64_t marks = 0;
  int64_t max_queue_bytes = 0;
};

LinkStats StatsOf(const std::vector<fabric::LinkCounters>& links) {
  LinkStats stats;
  for (const fabric::LinkCounters& link : links) {
    stats.bytes += link.bytes;
    stats.drops += link.drops;
    stats.marks += link.marks;
    stats.max_queue_bytes = std::max(stats.max_queue_bytes, link.maxQueueBytes);
  }
  return stats;
}

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

// Adds what RoCEv2 counts, 0 where the fidelity has no packets.
void AddRoce(const Measurement& m, Row& row) {
  const analysis::RoceFigures figures =
      RoceFiguresOf(m.timing.counters, m.timing.links, m.timing.total);
  analysis::RoceFigures::Columns(
      figures, [&](const char* name, const char*, const auto& member) { row[name] = member; });
}

// Returns the protocol of the first bucket, which may have been chosen.
fabric::Protocol ProtocolOf(const PreparedExperiment& prepared) {
  return SpecOf(prepared.experiment, prepared.algorithm, *prepared.network, 0).protocol;
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

std::string Percent(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:+.2f} %", 100 * *ratio) : "reference";
}

// Returns a line without the spaces at its end.
std::string WithoutEnd(std::string line) { return line.erase(line.find_last_not_of(' ') + 1); }

std::string RateText(double bits_per_second) { return FormatRate(std::llround(bits_per_second)); }

std::string TimeText(double seconds) { return FormatTime(std::llround(1e9 * seconds)); }

// Returns "10 Gbit/s, 1 us", or ranges where links differ.
std::string LinksText(const fabric::Topology& topology) {
  int64_t least_rate = INT64_MAX, most_rate = 0;
  TimeNs least_delay = kNever, most_delay = 0;
  for (const fabric::Link& link : topology.Links()) {
    least_delay = std::min(least_delay, link.delay);
    most_delay = std::max(most_delay, link.delay);
    for (const fabric::Port& port : link.ports) {
      least_rate = std::min(least_rate, port.rateBps);
      most_rate = std::max(most_rate, port.rateBps);
    }
  }
  const auto range = [](const std::string& least, const std::string& most) {
    return least == most ? most : least + " to " + most;
  };
  return range(FormatRate(least_rate), FormatRate(most_rate)) + ", " +
         range(FormatTime(least_delay), FormatTime(most_delay));
}

std::string Headline(const PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  const Network& network = *prepared.network;
  const fabric::Transport& transport = network.request.transport;
  std::string what;
  if (e.HasFlows()) {
    what = fmt::format("{} flows ({})", prepared.flows.size(),
                       e.pattern.empty() ? e.flows_file : e.pattern);
    if (e.duration > 0) what += " for " + FormatTime(e.duration);
  } else {
    const auto [least, most] = std::minmax_element(e.bytes.begin(), e.bytes.end());
    const fabric::Protocol protocol = ProtocolOf(prepared);
    what = fmt::format(
        "{}{}, {}{} at each of {} workers", fabric::ToString(prepared.algorithm),
        protocol == fabric::Protocol::None ? "" : std::string(" by ") + fabric::ToString(protocol),
        *least == *most ? "" : FormatBytes(*least) + " to ", FormatBytes(*most), e.Workers());
    if (e.buckets > 1) what += fmt::format(", {} buckets", e.buckets);
  }
  return fmt::format(
      "{}\n{} ({} hosts), {}; links of {}; {} transport, {}\n", what, network.topology.Name(),
      network.topology.Hosts().size(), network.placement.description, LinksText(network.topology),
      transport.preset,
      transport.roce ? transport.roce->control : fabric::ToString(transport.connections));
}

std::string CollectiveLines(const PreparedExperiment& prepared,
                            const std::vector<Measurement>& measurements, size_t columns) {
  const Experiment& e = prepared.experiment;
  const auto bytes = static_cast<double>(CollectiveBytes(e, prepared.algorithm));
  const std::optional<double> factor = BusFactor(prepared.algorithm, e.Workers());
  analysis::Table table;
  table.header = {"fidelity", "first",      "mean",   "slowest", "worker", "algbw",
                  "busbw",    "difference", "events", "packets", "wall"};
  std::string notes;
  for (const Fidelity fidelity : e.fidelities) {
    const std::vector<const Measurement*> at = At(measurements, fidelity);
    const Measurement& m = *at.front();
    const std::vector<TimeNs>& finish = m.timing.finish;
    const double mean = SumOf(finish) / static_cast<double>(finish.size());
    const Times times = TimesOf(at);
    const double rate = times.mean > 0 ? 8 * bytes / times.mean : 0;
    table.rows.push_back(
        {NameOf(fidelity), FormatTime(*std::min_element(finish.begin(), finish.end())),
         FormatTime(std::llround(mean)), FormatTime(m.timing.total),
         std::to_string(std::max_element(finish.begin(), finish.end()) - finish.begin()),
         RateText(rate), factor ? RateText(rate * *factor) : "-",
         Percent(Difference(prepared, measurements, m)), std::to_string(m.timing.counters.events),
         std::to_string(m.timing.counters.packets), fmt::format("{:.2f} s", m.wall_seconds)});
    if (at.size() > 1) {
      notes += fmt::format("{}, {} repetitions: {} to {}, mean {}\n", NameOf(fidelity), at.size(),
                           TimeText(times.least), TimeText(times.most), TimeText(times.mean));
    }
  }
  if (const std::optional<TimeNs> formula = ClosedForm(prepared)) {
    notes += "closed form: " + FormatTime(*formula) + "\n";
  }
  if (!prepared.reason.empty()) notes += prepared.reason + "\n";
  if (!prepared.fidelity_reason.empty()) notes += prepared.fidelity_reason + "\n";
  return analysis::RenderText(std::move(table), columns) + notes;
}

std::string WhyNothing(const PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  if (!e.HasFlows() && e.Workers() == 1) return "one worker has nobody to send to (--workers)";
  const bool empty = std::all_of(e.bytes.begin(), e.bytes.end(), [](auto b) { return b == 0; });
  return empty ? "messages are empty (--bytes)" : "all flows are empty, or stay on their hosts";
}

std::string FlowLines(const PreparedExperiment& prepared,
                      const std::vector<Measurement>& measurements, size_t columns) {
  analysis::Table table;
  table.header = {"fidelity", "all done", "fct mean", "median",     "99 %",   "longest",
                  "slow",     "99 %",     "most",     "difference", "events", "wall"};
  for (const Measurement& m : measurements) {
    const FlowStatistics s = StatisticsOf(prepared, m);
    table.rows.push_back(
        {NameOf(m.fidelity), FormatTime(m.timing.total), TimeText(s.mean), TimeText(s.p50),
         TimeText(s.p99), TimeText(s.longest), fmt::format("{:.2f}", s.mean_slowdown),
         fmt::format("{:.2f}", s.p99_slowdown), fmt::format("{:.2f}", s.largest_slowdown),
         Percent(Difference(prepared, measurements, m)), std::to_string(m.timing.counters.events),
         fmt::format("{:.2f} s", m.wall_seconds)});
  }
  return analysis::RenderText(std::move(table), columns) +
         "slow: completion time divided by that of the flow alone; mean, 99th percentile, most\n";
}

// Returns a fraction in percent, with two digits below 10 %.
std::string ShareText(double share) {
  return share < .1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

// Returns what NICs and switches of RoCEv2 did, a line for each measurement with packets.
std::string RoceLines(const PreparedExperiment& prepared,
                      const std::vector<Measurement>& measurements) {
  const fabric::Topology& topology = prepared.network->topology;
  std::string text;
  for (const Measurement& m : measurements) {
    if (!prepared.network->request.transport.roce || m.fidelity != Fidelity::kPacket) continue;
    const std::vector<fabric::LinkCounters>& links = m.timing.links;
    const auto largest = [&](auto member) {
      const auto most =
          std::max_element(links.begin(), links.end(),
                           [&](const auto& a, const auto& b) { return a.*member < b.*member; });
      const auto link = static_cast<fabric::DirectedLink>(most - links.begin());
      return std::pair(*most, topology.LinkName(link));
    };
    const analysis::RoceFigures figures = RoceFiguresOf(m.timing.counters, links, m.timing.total);
    text += fmt::format("roce: {} pauses", figures.pauses);
    if (const auto [worst, name] = largest(&fabric::LinkCounters::paused); worst.paused > 0) {
      text += fmt::format(", {} of link time paused (worst {} {}, by the queue of {})",
                          ShareText(figures.paused_share), name,
                          ShareText(InSeconds(worst.paused) / InSeconds(m.timing.total)),
                          PauseFiguresOf(topology, worst).pause_root);
    }
    text += fmt::format(", CNPs {}, ECN marks {}, NAKs {}, resent {}", figures.cnps,
                        StatsOf(links).marks, figures.naks, figures.resent);
    for (const auto& [name, count] :
         {std::pair{"reordered", figures.reordered},
          std::pair{"time-outs", static_cast<int64_t>(m.timing.counters.retransmitTimeouts)}}) {
      if (count > 0) text += fmt::format(", {} {}", name, count);
    }
    const auto [queue, name] = largest(&fabric::LinkCounters::maxQueueBytes);
    text += fmt::format(
        ", largest queue {} ({}), buffer {} of {}, headroom {}\n", FormatBytes(queue.maxQueueBytes),
        name, FormatBytes(figures.max_buffer_bytes),
        FormatBytes(m.timing.counters.roce.bufferBytes), ShareText(figures.max_headroom_share));
  }
  return text;
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
    row["difference"] = OrNull(Difference(prepared, measurements, m));
    AddCounters(m, row);
    if (prepared.network->request.transport.roce) AddRoce(m, row);
    for (const TimeNs finish : m.timing.finish) row["finish_seconds"].push_back(InSeconds(finish));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ResultTable(const PreparedExperiment& prepared,
                        const std::vector<Measurement>& measurements, size_t columns) {
  return Wrapped(
      Headline(prepared) +
          (prepared.experiment.duration > 0 ? ThroughputLines(measurements, columns)
           : prepared.experiment.HasFlows() ? FlowLines(prepared, measurements, columns)
                                            : CollectiveLines(prepared, measurements, columns)) +
          RoceLines(prepared, measurements),
      columns, 2);
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

SweepTable::SweepTable(std::vector<std::string> swept, const std::vector<ExperimentOptions>& points,
                       std::vector<Fidelity> fidelities, size_t columns)
    : swept_(std::move(swept)), fidelities_(std::move(fidelities)) {
  for (const std::string& name : swept_) {
    size_t width = DisplayWidth(name);
    for (const ExperimentOptions& point : points) {
      width = std::max(
          width,
          DisplayWidth(
              OptionNamed(ExperimentRows(), name, OptionNames::kFlags, "--sweep").get(point)));
    }
    widths_.push_back(width);
  }
  const auto total = [this] {
    return DisplayWidth(Line(swept_, "", [](Fidelity) { return Cells{}; }));
  };
  beside_ = fidelities_.size() == 1 || total() <= columns;
  while (total() > columns) {
    const auto widest = std::ranges::max_element(widths_);
    if (*widest <= kLeastText) break;
    --*widest;
  }
}

std::string SweepTable::Line(const std::vector<std::string>& values, const std::string& fidelity,
                             const std::function<Cells(Fidelity)>& cells) const {
  std::string line;
  const auto add = [&](const std::string& cell, size_t width) {
    line += fmt::format("{}{:>{}}", line.empty() ? "" : "  ", cell, width);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    add(analysis::Shorten(values[i], widths_[i]), widths_[i]);
  }
  const bool compared = fidelities_.size() > 1;
  if (!beside_) add(fidelity, 8);
  const Fidelity reference = Reference(fidelities_);
  for (const Fidelity each : fidelities_) {
    const Cells of_one = cells(each);
    add(of_one.time, 9);
    add(of_one.rate, 12);
    if (compared && (!beside_ || each != reference)) add(of_one.difference, 10);
    if (!beside_) break;
  }
  return line;
}

std::string SweepTable::Header() const {
  const std::string line = Line(swept_, "fidelity", [this](Fidelity fidelity) {
    return Cells{beside_ ? NameOf(fidelity) : "time", "algbw", "difference"};
  });
  return line + "\n";
}

std::string SweepTable::Lines(const ExperimentOptions& options, const PreparedExperiment& prepared,
                              const std::vector<Measurement>& measurements) const {
  std::vector<std::string> values;
  for (const std::string& name : swept_) {
    values.push_back(
        OptionNamed(ExperimentRows(), name, OptionNames::kFlags, "--sweep").get(options));
  }
  const auto cells = [&](Fidelity fidelity) -> Cells {
    const std::vector<const Measurement*> at = At(measurements, fidelity);
    if (at.empty()) return {};
    const double time = TimesOf(at).mean;
    const int64_t bytes = prepared.experiment.HasFlows()
                              ? 0
                              : CollectiveBytes(prepared.experiment, prepared.algorithm);
    const std::optional<double> difference = Difference(prepared, measurements, *at.front());
    return {TimeText(time),
            bytes > 0 && time > 0 ? RateText(8 * static_cast<double>(bytes) / time) : "-",
            difference ? Percent(difference) : ""};
  };
  std::string text;
  if (beside_) return WithoutEnd(Line(values, "", cells)) + "\n";
  for (const Fidelity fidelity : prepared.experiment.fidelities) {
    const std::string line =
        Line(values, NameOf(fidelity), [&](Fidelity) { return cells(fidelity); });
    text += WithoutEnd(line) + "\n";
  }
  return text;
}

}  // namespace legacy
