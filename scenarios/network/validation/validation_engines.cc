// Validation sections that compare our engines with closed forms and with each other.
#include <algorithm>
#include <cmath>

#include "base/files/csv_file.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "scenarios/network/contention.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/results.h"
#include "scenarios/network/validation/fork_map.h"
#include "scenarios/network/validation/validation_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

constexpr double kUncongestedPercent = 5;
constexpr double kCongestedPercent = 15;

std::string FixedSeconds(TimeNs time) { return FormatFixed(InSeconds(time), 9); }

// Returns how much `measured` exceeds `expected`, in percent.
double Percent(TimeNs measured, TimeNs expected) {
  return 100 * (static_cast<double>(measured) / static_cast<double>(expected) - 1);
}

// Returns the time of the experiment at its only fidelity.
TimeNs TimeOf(const Experiment& experiment) {
  return Measure(Prepare(experiment), {}).front().Time();
}

std::vector<ValidationCase> Select(std::vector<ValidationCase> cases, bool sample) {
  if (sample) std::erase_if(cases, [](const ValidationCase& one) { return !one.quick; });
  return cases;
}

std::vector<std::string> NamesOf(const std::vector<ValidationCase>& cases) {
  std::vector<std::string> names;
  for (const ValidationCase& one : cases) names.push_back(one.options);
  return names;
}

}  // namespace

double AbsolutePercentile(const std::vector<ValidationRow>& rows, int column, double part) {
  std::vector<double> values;
  for (const ValidationRow& row : rows) values.push_back(std::abs(std::stod(row[column])));
  std::ranges::sort(values);
  return Percentile(values, part);
}

std::vector<ValidationRow> ForkRows(const SectionRun& run, const std::vector<std::string>& names,
                                    const std::function<ValidationRow(int)>& work) {
  const auto count = static_cast<int>(names.size());
  int ended = 0;
  const auto lines = ForkMap(
      names, run.processes,
      [&](int i) {
        return ToCsv({"", work(i), {}});
      },
      [&](int i) {
        run.progress(std::to_string(++ended) + "/" + std::to_string(count) + " " + names[i]);
      });
  std::vector<ValidationRow> rows;
  for (const std::string& line : lines) rows.push_back(CsvCells("result", line).front());
  return rows;
}

// --- Bus bandwidth -------------------------------------------------------------------------------

namespace {

std::vector<ValidationCase> BusCases() {
  const std::string ring = "topo=star bandwidth=400Gbps delay=100ns workers=8 ";
  return {{ring + "bytes=8MB", true, 8900},
          {ring + "bytes=40MB", false, 1448},
          {ring + "bytes=40MB", false, 4000},
          {ring + "bytes=80MB", false, 8900}};
}

// Returns the share of a link that headers and ACKs leave, if the link carries as much data in one
// direction as in the other.
double Efficiency(const fabric::Transport& transport, int64_t bytes) {
  const int64_t wire = transport.WireBytes(bytes) + transport.AckWireBytes(bytes);
  return static_cast<double>(bytes) / static_cast<double>(wire);
}

ValidationRow BusRow(const ValidationCase& one, const std::string& fidelity) {
  const Experiment experiment = ExperimentOf(one, {fidelity});
  const double seconds = InSeconds(TimeOf(experiment));
  const int64_t bytes = experiment.bytes.front();
  const int workers = experiment.Workers();
  const double bus = static_cast<double>(bytes) * 8 / seconds *
                     BusFactor(fabric::CollectiveAlgorithm::RingAllReduce, workers).value();
  const double line = static_cast<double>(experiment.network.topology.rateBps);
  const double expected = 100 * Efficiency(experiment.network.transport, bytes / workers);
  const std::string name =
      FormatBytes(bytes) + ", MSS " + std::to_string(one.segment_bytes) + ", " + fidelity;
  return {name, FormatFixed(bus * 1e-9, 2), FormatFixed(100 * bus / line, 2),
          FormatFixed(expected, 2)};
}

}  // namespace

SectionResult ValidateBusBandwidth(const SectionRun& run) {
  const std::vector<ValidationCase> cases = Select(BusCases(), run.sample);
  std::vector<std::string> names;
  for (const ValidationCase& one : cases) {
    for (const char* fidelity : {"flow", "packet"}) {
      names.push_back(one.options + ", MSS " + std::to_string(one.segment_bytes) + ", " + fidelity);
    }
  }
  SectionResult result;
  result.csv = {"bus-bandwidth",
                {"ring all-reduce", "bus bandwidth (Gbit/s)", "of the line (%)",
                 "left by headers and ACKs (%)"},
                {}};
  result.csv.rows = ForkRows(
      run, names, [&](int i) { return BusRow(cases[i / 2], i % 2 == 0 ? "flow" : "packet"); });
  for (const ValidationRow& row : result.csv.rows) {
    const bool quick = row[0].starts_with("8 MB");  // too short for the line's rate
    if (quick) continue;
    result.Expect(std::abs(std::stod(row[2]) / std::stod(row[3]) - 1) <= 0.01,
                  "bus-bandwidth: " + row[0] + ": " + row[2] + " % of the line, not " + row[3]);
  }
  result.document = {result.csv};
  return result;
}

// --- Collectives against closed forms ------------------------------------------------------------

namespace {

std::vector<ValidationCase> CollectiveCases() {
  std::vector<ValidationCase> cases;
  for (const fabric::CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    for (const char* size : {"80KB", "1600KB"}) {
      cases.push_back({std::string("topo=star workers=8 collective=") +
                           fabric::ToString(algorithm) + " bytes=" + size,
                       std::string(size) == "80KB"});
    }
  }
  return cases;
}

ValidationRow CollectiveRow(const ValidationCase& one) {
  const Experiment experiment = ExperimentOf(one, {"analytic"});
  const PreparedExperiment prepared = Prepare(experiment);
  const fabric::UniformPath path{2, experiment.network.topology.rateBps,
                                 experiment.network.topology.delay};
  const TimeNs form =
      fabric::ClosedFormTime(SpecOf(experiment, prepared.algorithm, *prepared.network, 0), path,
                             experiment.network.transport);
  ValidationRow row{std::string(fabric::ToString(prepared.algorithm)) + ", " +
                        FormatBytes(experiment.bytes.front()),
                    FixedSeconds(form)};
  for (const char* fidelity : {"analytic", "flow", "packet"}) {
    row.push_back(FormatFixed(Percent(TimeOf(ExperimentOf(one, {fidelity})), form), 2));
  }
  return row;
}

}  // namespace

SectionResult ValidateCollectives(const SectionRun& run) {
  const std::vector<ValidationCase> cases = Select(CollectiveCases(), run.sample);
  SectionResult result;
  result.csv = {"collectives",
                {"collective", "closed form (s)", "analytic - form (%)", "flow - form (%)",
                 "packet - form (%)"},
                {}};
  result.csv.rows = ForkRows(run, NamesOf(cases), [&](int i) { return CollectiveRow(cases[i]); });
  for (const ValidationRow& row : result.csv.rows) {
    // The closed forms of these algorithms are estimates.
    if (row[0].starts_with("double-tree") || row[0].starts_with("nvls") ||
        row[0].starts_with("block-sparse")) {
      continue;
    }
    result.Expect(std::abs(std::stod(row[2])) <= 0.1,
                  "collectives: " + row[0] + ": analytic is off by " + row[2] + " %");
    for (const int column : {3, 4}) {
      result.Expect(
          std::abs(std::stod(row[column])) <= kUncongestedPercent,
          "collectives: " + row[0] + ": " + result.csv.columns[column] + " is " + row[column]);
    }
  }
  result.document = {result.csv};
  return result;
}

// --- Flow against packet -------------------------------------------------------------------------

namespace {

// A case counts as congested if a link is shared for more than this part of its time.
constexpr double kContended = 0.01;

enum Column {
  kCase,
  kClass,
  kShared,
  kPacket,
  kFlow,
  kAnalytic,
  kError,
  kAnalyticError,
  kTimeouts
};

ValidationRow FidelityRow(const ValidationCase& one) {
  const PreparedExperiment prepared = Prepare(ExperimentOf(one, {"flow"}));
  MeasureOptions record;
  record.record_flows = true;
  const Measurement flow = Measure(prepared, record).front();
  const double shared = ContendedFraction(flow.flows, *prepared.network);
  const TimeNs analytic = TimeOf(ExperimentOf(one, {"analytic"}));
  const Measurement packet = Measure(Prepare(ExperimentOf(one, {"packet"})), {}).front();
  return {one.options,
          shared > kContended ? "congested" : "uncongested",
          FormatFixed(100 * shared, 1),
          FixedSeconds(packet.Time()),
          FixedSeconds(flow.Time()),
          FixedSeconds(analytic),
          FormatFixed(Percent(flow.Time(), packet.Time()), 2),
          FormatFixed(Percent(analytic, packet.Time()), 2),
          std::to_string(packet.timing.counters.retransmitTimeouts)};
}

std::vector<ValidationRow> OfClass(const ValidationTable& table, const std::string& name) {
  std::vector<ValidationRow> rows;
  for (const ValidationRow& row : table.rows) {
    if (row[kClass] == name) rows.push_back(row);
  }
  return rows;
}

double Absolute(const ValidationRow& row, int column) { return std::abs(std::stod(row[column])); }

// Sorts rows by their absolute error, the largest first.
void SortByError(std::vector<ValidationRow>& rows, int column) {
  std::stable_sort(rows.begin(), rows.end(), [&](const ValidationRow& a, const ValidationRow& b) {
    return Absolute(a, column) > Absolute(b, column);
  });
}

// Returns one row of the summary. `median` becomes the median error of flow.
ValidationRow Summary(const std::string& name, std::vector<ValidationRow> rows, double* median) {
  SortByError(rows, kError);
  *median = AbsolutePercentile(rows, kError, 0.5);
  return {name,
          std::to_string(rows.size()),
          FormatFixed(*median, 1),
          FormatFixed(AbsolutePercentile(rows, kError, 0.9), 1),
          FormatFixed(Absolute(rows.front(), kError), 1),
          rows.front()[kCase],
          FormatFixed(AbsolutePercentile(rows, kAnalyticError, 0.5), 1)};
}

void Summarise(SectionResult& result) {
  ValidationTable summary{"fidelity-summary",
                          {"class", "cases", "median (%)", "90th percentile (%)", "worst (%)",
                           "worst case", "analytic, median (%)"},
                          {}};
  for (const auto& [name, target] :
       {std::pair("uncongested", kUncongestedPercent), std::pair("congested", kCongestedPercent)}) {
    const std::vector<ValidationRow> rows = OfClass(result.csv, name);
    if (rows.empty()) continue;
    double median = 0;
    summary.rows.push_back(Summary(name, rows, &median));
    result.Expect(median <= target, "fidelity: median error of the " + std::string(name) +
                                        " cases is " + FormatFixed(median, 1) + " %, above " +
                                        FormatFixed(target, 0));
  }
  constexpr size_t kWorst = 12;
  ValidationTable worst{"fidelity-worst",
                        {"case", "class", "link shared (%)", "packet (s)", "flow (s)",
                         "flow - packet (%)", "time-outs"},
                        {}};
  std::vector<ValidationRow> rows = result.csv.rows;
  SortByError(rows, kError);
  rows.resize(std::min(rows.size(), kWorst));
  for (const ValidationRow& row : rows) {
    worst.rows.push_back({row[kCase], row[kClass], row[kShared], row[kPacket], row[kFlow],
                          row[kError], row[kTimeouts]});
  }
  result.document = {summary, worst};
}

}  // namespace

SectionResult ValidateFidelity(const SectionRun& run) {
  const std::vector<ValidationCase> cases = Select(FidelityCases(), run.sample);
  SectionResult result;
  result.csv = {"fidelity",
                {"case", "class", "link shared (%)", "packet (s)", "flow (s)", "analytic (s)",
                 "flow - packet (%)", "analytic - packet (%)", "time-outs"},
                {}};
  result.csv.rows = ForkRows(run, NamesOf(cases), [&](int i) { return FidelityRow(cases[i]); });
  if (!run.sample) Summarise(result);
  return result;
}

}  // namespace legacy
