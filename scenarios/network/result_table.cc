// Results as tables for people: a headline, a line for each fidelity, and what RoCEv2 did.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/table_text.h"
#include "base/programs/terminal.h"
#include "ns3-module/fabric/roce/roce-settings.h"
#include "scenarios/network/compared_results.h"
#include "scenarios/network/endless_results.h"
#include "scenarios/network/results.h"
#include "scenarios/network/roce/figures.h"

namespace legacy {
namespace {

// Returns "10 Gbit/s, 1 us", or ranges if links differ.
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
                       e.options.pattern.empty() ? e.options.flows : e.options.pattern);
    if (e.duration > 0) what += " for " + FormatTime(e.duration);
  } else {
    const auto [least, most] = std::minmax_element(e.bytes.begin(), e.bytes.end());
    const fabric::Protocol protocol = ProtocolOf(prepared);
    what = fmt::format(
        "{}{}, {}{} at each of {} workers", fabric::ToString(prepared.algorithm),
        protocol == fabric::Protocol::None ? "" : std::string(" by ") + fabric::ToString(protocol),
        *least == *most ? "" : FormatBytes(*least) + " to ", FormatBytes(*most), e.Workers());
    if (e.options.buckets > 1) what += fmt::format(", {} buckets", e.options.buckets);
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
    const std::vector<const Measurement*> at = MeasurementsAt(measurements, fidelity);
    const Measurement& m = *at.front();
    const std::vector<TimeNs>& finish = m.timing.finish;
    const double mean = SumOf(finish) / static_cast<double>(finish.size());
    const RepeatedTimes times = TimesOf(at);
    const double rate = times.mean > 0 ? 8 * bytes / times.mean : 0;
    table.rows.push_back(
        {NameOf(fidelity), FormatTime(*std::min_element(finish.begin(), finish.end())),
         FormatTime(std::llround(mean)), FormatTime(m.timing.total),
         std::to_string(std::max_element(finish.begin(), finish.end()) - finish.begin()),
         RateText(rate), factor ? RateText(rate * *factor) : "-",
         DifferenceText(DifferenceOf(prepared, measurements, m)),
         std::to_string(m.timing.counters.events), std::to_string(m.timing.counters.packets),
         fmt::format("{:.2f} s", m.wall_seconds)});
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
         DifferenceText(DifferenceOf(prepared, measurements, m)),
         std::to_string(m.timing.counters.events), fmt::format("{:.2f} s", m.wall_seconds)});
  }
  return analysis::RenderText(std::move(table), columns) +
         "slow: completion time divided by that of the flow alone; mean, 99th percentile, most\n";
}

// Returns a fraction in percent, with two digits below 10 %.
std::string ShareText(double share) {
  return share < .1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

// Returns what NICs and switches of RoCEv2 did, with one line for each measurement at packet
// fidelity.
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

// Returns how many messages had no packets, and what their times are compared with those of
// packets.
std::string SkipLines(const std::vector<Measurement>& measurements) {
  std::string text;
  for (const Measurement& m : measurements) {
    const fabric::SkipCounters& skipped = m.timing.counters.skipped;
    if (skipped.bytes == 0) continue;
    text += fmt::format(
        "skipped: packets of {:.4g} % of the payload",
        100.0 * static_cast<double>(skipped.skippedBytes) / static_cast<double>(skipped.bytes));
    if (skipped.checked > 0) {
      text += fmt::format(
          "; {} checked times differ by {:.2g} % on average, {:.2g} % at most", skipped.checked,
          100 * skipped.difference / static_cast<double>(skipped.checked), 100 * skipped.largest);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string ResultTable(const PreparedExperiment& prepared,
                        const std::vector<Measurement>& measurements, size_t columns) {
  return Wrapped(
      Headline(prepared) +
          (prepared.experiment.duration > 0 ? ThroughputLines(measurements, columns)
           : prepared.experiment.HasFlows() ? FlowLines(prepared, measurements, columns)
                                            : CollectiveLines(prepared, measurements, columns)) +
          RoceLines(prepared, measurements) + SkipLines(measurements),
      columns, 2);
}

}  // namespace legacy
