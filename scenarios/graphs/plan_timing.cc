#include "scenarios/graphs/plan_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/table_text.h"
#include "base/error.h"
#include "base/programs/terminal.h"
#include "base/stopwatch.h"
#include "ns3-module/fabric/collective/tuning.h"
#include "ns3-module/fabric/step/step.h"

namespace legacy::graphs {
namespace {

using fabric::CollectiveSpec;
using fabric::SegmentLabel;
using fabric::StepParts;
using fabric::StepPlan;

constexpr double kMostFlows = 2e8;

// Sets what collectives leave to the network.
void SettleCollectives(ImportedPlan& imported, const GraphOptions& options,
                       const Network& network) {
  const std::optional<fabric::Protocol>& protocol = *options.protocol;
  fabric::ChannelOptions channels{ChannelsOf(options.channels, network, protocol), protocol, {}};
  for (size_t c = 0; c < imported.plan.collectives.size(); ++c) {
    if (imported.settled[c]) continue;
    CollectiveSpec& spec = imported.plan.collectives[c];
    spec.group = std::min<int>(network.placement.node, static_cast<int>(spec.bytes.size()));
    if (protocol != fabric::Protocol::None) {
      channels.links =
          fabric::NodeLinksOf(network.topology, network.placement, spec.group, spec.members);
    }
    SetChannels(spec, channels);
  }
}

void CheckFlows(const StepPlan& plan) {
  double flows = 0;
  for (const CollectiveSpec& spec : plan.collectives) flows += fabric::EstimatedFlows(spec);
  if (flows <= kMostFlows) return;
  throw Error("collectives", fmt::format("{:.3g} flows", flows),
              fmt::format("at most {:.3g}", kMostFlows));
}

PlanMeasurement Measure(const StepPlan& plan, const Network& network, Fidelity fidelity) {
  const Stopwatch watch;
  const fabric::EngineRequest& request = network.request;
  const auto engine = FactoryOf(fidelity, "--fidelity")(request);
  const auto background = request.background ? request.background(0) : nullptr;
  PlanMeasurement m;
  m.fidelity = fidelity;
  for (int left = request.transport.WarmsUp() && !engine->StartsWarm() ? 2 : 1; left > 0; --left) {
    const fabric::EngineCounters before = engine->Counters();
    const TimeNs now = engine->Now();
    engine->SetScheduleTime(0);
    if (background && m.timing.roles.empty()) engine->SubmitBackground(*background, now);
    fabric::PlanGraph graph(plan);
    engine->Submit(graph, now);
    if (!engine->RunUntil(kNever)) {
      throw Error(engine->Name() + " engine: stopped before the plan was done");
    }
    m.timing = graph.Times();
    m.counters = fabric::Difference(engine->Counters(), before);
  }
  m.parts = fabric::PartsOf(plan, m.timing);
  m.wall_seconds = watch.Seconds();
  return m;
}

// A NamedPart is a part of a step, for tables and rows.
struct NamedPart {
  std::string name;
  TimeNs time = 0;
  bool counts = true;  // false: it is hidden, and so no part of the step
};

std::vector<NamedPart> NamedParts(const StepPlan& plan, const StepParts& parts) {
  std::vector<NamedPart> named;
  for (int label = 0; label < fabric::kSegmentLabels; ++label) {
    named.push_back({fabric::ToString(static_cast<SegmentLabel>(label)), parts.segments[label]});
  }
  for (size_t s = 0; s < plan.streams.size(); ++s) {
    named.push_back({plan.streams[s].name + ", exposed", parts.exposed[s]});
  }
  named.push_back({"scheduled", parts.scheduled});
  named.push_back({"wait for slower ranks", parts.wait});
  for (size_t s = 0; s < plan.streams.size(); ++s) {
    named.push_back({plan.streams[s].name + ", hidden", parts.hidden[s], false});
  }
  return named;
}

std::string TimesTable(const std::vector<PlanMeasurement>& measurements, size_t columns) {
  analysis::Table table;
  table.header = {"fidelity", "total", "fastest", "rank", "mean",
                  "slowest",  "rank",  "events",  "wall"};
  for (const PlanMeasurement& m : measurements) {
    const std::vector<TimeNs>& finish = m.timing.finish;
    const auto [least, most] = std::ranges::minmax_element(finish);
    WideTime sum = 0;
    for (const TimeNs time : finish) sum += time;
    table.rows.push_back({NameOf(m.fidelity), FormatTime(m.timing.total), FormatTime(*least),
                          std::to_string(least - finish.begin()),
                          FormatTime(NarrowTime(sum / static_cast<WideTime>(finish.size()))),
                          FormatTime(*most), std::to_string(fabric::CriticalRank(m.timing)),
                          std::to_string(m.counters.events),
                          fmt::format("{:.2f} s", m.wall_seconds)});
  }
  return analysis::RenderText(std::move(table), columns);
}

std::string PartsTable(const StepPlan& plan, const PlanMeasurement& m, size_t columns) {
  const int rank = fabric::CriticalRank(m.timing);
  analysis::Table table;
  table.title = fmt::format("parts of rank {}, {} fidelity", rank, NameOf(m.fidelity));
  table.header = {"part", "time", "share"};
  for (const NamedPart& part : NamedParts(plan, m.parts[rank])) {
    if (part.time == 0) continue;
    const double share = m.timing.total > 0 ? 100 * static_cast<double>(part.time) /
                                                  static_cast<double>(m.timing.total)
                                            : 0;
    table.rows.push_back(
        {part.name, FormatTime(part.time), part.counts ? fmt::format("{:.1f} %", share) : "-"});
  }
  return table.rows.empty() ? "" : "\n" + analysis::RenderText(std::move(table), columns);
}

std::string Plural(int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::unique_ptr<Network> PrepareNetwork(ImportedPlan& imported, const GraphOptions& options) {
  NetworkRequest request = RequestOf(options);
  request.placement.workers = imported.plan.ranks;
  request.placement.node = options.group;
  request.seed = options.seed;
  for (const CollectiveSpec& spec : imported.plan.collectives) {
    const fabric::Aggregation aggregation = fabric::AggregationOf(spec.algorithm);
    if (aggregation != fabric::Aggregation::None) request.placement.aggregation = aggregation;
    if (!fabric::HasServers(spec)) continue;
    const int first = spec.members.empty() ? imported.plan.ranks : spec.root;
    request.placement.servers =
        std::max(request.placement.servers, first + spec.servers - imported.plan.ranks);
  }
  std::unique_ptr<Network> network = BuildNetwork(request);
  SettleCollectives(imported, options, *network);
  CheckFlows(imported.plan);
  for (const Fidelity fidelity : *options.fidelity) {
    TryEngine(FactoryOf(fidelity, "--fidelity"), *network);
  }
  return network;
}

std::vector<PlanMeasurement> MeasurePlan(const StepPlan& plan, const Network& network,
                                         const std::vector<Fidelity>& fidelities) {
  std::vector<PlanMeasurement> measurements;
  for (const Fidelity fidelity : fidelities) {
    measurements.push_back(Measure(plan, network, fidelity));
  }
  return measurements;
}

std::string PlanTable(const ImportedPlan& imported, const Network& network,
                      const std::vector<PlanMeasurement>& measurements, size_t columns) {
  const StepPlan& plan = imported.plan;
  const ImportCounts& counts = imported.counts;
  std::string text = fmt::format(
      "{} in {}: {}, {}, {}\n{} ({} hosts), {}; {} transport, {}\n", Plural(plan.ranks, "rank"),
      Plural(std::ssize(plan.roles), "role"), Plural(counts.operations, "operation"),
      Plural(counts.collectives, "collective"), Plural(counts.messages, "message"),
      network.topology.Name(), network.topology.Hosts().size(), network.placement.description,
      network.request.transport.preset, fabric::ToString(network.request.transport.connections));
  text += TimesTable(measurements, columns);
  if (!measurements.empty()) text += PartsTable(plan, measurements.front(), columns);
  if (counts.dropped > 0) {
    text += fmt::format("control dependencies that were not followed: {} (--strict follows them)\n",
                        counts.dropped);
  }
  if (counts.replayed > 0) {
    text += fmt::format("collectives without comm_type, which took their recorded time: {}\n",
                        counts.replayed);
  }
  if (counts.timeless > 0) {
    text += Plural(counts.timeless, "node") +
            " with arithmetic or tensors took no time, as no duration was recorded "
            "(--compute=roofline prices them)\n";
  }
  return Wrapped(text, columns, 2);
}

std::vector<Row> PlanRows(const StepPlan& plan, const std::vector<PlanMeasurement>& measurements) {
  std::vector<int> role_of(plan.ranks, 0);
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    for (const int rank : plan.roles[role].ranks) role_of[rank] = static_cast<int>(role);
  }
  std::vector<Row> rows;
  for (const PlanMeasurement& m : measurements) {
    for (int rank = 0; rank < plan.ranks; ++rank) {
      Row row;
      row["fidelity"] = NameOf(m.fidelity);
      row["rank"] = rank;
      row["role"] = role_of[rank];
      row["finish_seconds"] = InSeconds(m.timing.finish[rank]);
      for (const NamedPart& part : NamedParts(plan, m.parts[rank])) {
        row[part.name] = InSeconds(part.time);
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace legacy::graphs
