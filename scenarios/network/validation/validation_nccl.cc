// The validation section that compares all-reduces with bus bandwidths and times which others have
// published for NCCL. docs/results/validation.md names the sources.
#include <algorithm>
#include <cmath>

#include "ns3-module/fabric/collective/tuning.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/results.h"
#include "scenarios/network/validation/nccl_points.h"
#include "scenarios/network/validation/validation_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

constexpr double kTargetPercent = 10;
// Targets of times by size: the median of errors, and the largest factor either way.
constexpr double kTimesMedianPercent = 15;
constexpr double kTimesMostFactor = 2;

constexpr int kChannels = 8;         // in nodes with 8 NICs; NCCL runs each twice
constexpr int kChannelsInside = 12;  // inside one node
// With more workers, one ring takes longer than all channels together, because it has more turns of
// its own.
constexpr int kMostInOneRing = 256;

// The NVLink of an H100 according to NCCL's source: 18 links of 20.6 GB/s.
constexpr const char* kNvLink = "2966.4Gbps";
constexpr int kNicGbps = 400;

// The rates that NCCL's search finds on such nodes: NVLink, and 48 GB/s for each of 8 NICs of 400
// Gbit/s (sm90SpeedArrayInter in src/graph/search.cc).
constexpr fabric::NodeLinks kFound = {370.8, 48, 8};

// A PublishedCase is an all-reduce on nodes of H100s, each with a NIC of 400 Gbit/s.
struct PublishedCase {
  int nodes;
  int gpus;  // in each node
  const char* bytes;
  const char* collective;  // auto: NCCL chooses it and the protocol
  const char* protocol;
  const char* as;    // how the value was published
  double published;  // GB/s; 0: the value is that of NCCL's own cost model
  bool target;       // whether the target holds for it
  bool quick;

  int Workers() const { return nodes * gpus; }
};

constexpr const char* kRing = "ring-allreduce";
constexpr const char* kNvls = "nvls-allreduce";

constexpr PublishedCase kCases[] = {
    {1, 8, "8GiB", kRing, "simple", "expected", 370, true, false},
    {4, 8, "8GiB", kRing, "simple", "measured", 320, false, true},
    {32, 8, "8GiB", kRing, "simple", "expected", 368, true, true},
    {1, 2, "2GiB", "auto", "auto", "measured", 370, true, true},
    {1, 3, "2GiB", "auto", "auto", "measured", 370, true, true},
    {1, 4, "2GiB", kNvls, "simple", "measured", 370, true, true},
    {1, 5, "2GiB", kNvls, "simple", "measured", 420, true, true},
    {1, 6, "2GiB", kNvls, "simple", "measured", 440, true, true},
    {1, 7, "2GiB", kNvls, "simple", "measured", 460, true, true},
    {1, 8, "2GiB", kNvls, "simple", "measured", 480, true, true},
    {1, 8, "16GiB", "auto", "auto", "measured", 480, true, false},
    {2, 8, "16GiB", "auto", "auto", "measured", 470, true, false},
    {4, 8, "16GiB", "auto", "auto", "measured", 365.84, true, false},
    {32, 8, "16MiB", kRing, "ll128", "cost model", 0, true, true},
    {32, 8, "16MiB", kRing, "simple", "cost model", 0, true, true},
    {32, 8, "16MiB", "double-tree-allreduce", "ll128", "cost model", 0, false, true},
    {32, 8, "16MiB", kNvls, "simple", "cost model", 0, false, true},
};

// Links have no delay, because the protocols' times include that of the wire.
std::string NetworkOf(int nodes, int gpus, const std::string& inside, int nic_gbps) {
  const std::string network = nodes == 1
                                  ? "topo=star bandwidth=" + inside
                                  : "topo=rail-optimised:nodes=" + std::to_string(nodes) +
                                        ",gpus=" + std::to_string(gpus) + ",node.rate=" + inside +
                                        " bandwidth=" + std::to_string(nic_gbps) + "Gbps";
  return network + " delay=0ns mtu=4096 workers=" + std::to_string(nodes * gpus) +
         " group=" + std::to_string(gpus);
}

std::string ChannelsText(std::string_view collective, int channels) {
  return collective == kNvls ? "" : " channels=" + std::to_string(channels);
}

std::string OptionsOf(const PublishedCase& one, int channels) {
  return NetworkOf(one.nodes, one.gpus, kNvLink, kNicGbps) + " bytes=" + one.bytes +
         " collective=" + one.collective + ChannelsText(one.collective, channels) +
         " protocol=" + one.protocol;
}

std::string OptionsOf(const PublishedCase& one) {
  return OptionsOf(one, one.nodes == 1 ? kChannelsInside : kChannels);
}

// Returns the bus bandwidth in GB/s as nccl-tests defines it.
double BusBandwidth(const Experiment& experiment, double nanoseconds) {
  const double factor =
      BusFactor(fabric::CollectiveAlgorithm::RingAllReduce, experiment.Workers()).value();
  return static_cast<double>(experiment.bytes.front()) / nanoseconds * factor;
}

// A Simulated has the results at both fidelities, and that of NCCL's cost model; 0: none.
struct Simulated {
  std::string what;
  double bus;       // GB/s at flow fidelity
  double model;     // GB/s
  double flow;      // us
  double analytic;  // us
};

Simulated Simulate(const std::string& options, const std::vector<std::string>& fidelities) {
  const PreparedExperiment prepared = Prepare(ExperimentOf({options}, fidelities));
  std::vector<double> times;
  for (const auto& measured : Measure(prepared, {})) {
    times.push_back(static_cast<double>(measured.Time()));
  }
  const fabric::CollectiveSpec spec =
      SpecOf(prepared.experiment, prepared.algorithm, *prepared.network, 0);
  const std::optional<double> model = fabric::NcclMicroseconds(spec, kFound);
  return {std::string(fabric::ToString(spec.algorithm)) + " " + fabric::ToString(spec.protocol),
          BusBandwidth(prepared.experiment, times.front()),
          model ? BusBandwidth(prepared.experiment, 1000 * *model) : 0, 1e-3 * times.front(),
          times.size() > 1 ? 1e-3 * times.back() : 0};
}

std::string Percent(double ours, double published) {
  return FormatFixed(100 * (ours / published - 1), 1);
}

ValidationRow NcclRow(const PublishedCase& one) {
  const Simulated ours = Simulate(OptionsOf(one), {"flow"});
  const double published = one.published > 0 ? one.published : ours.model;
  std::string one_ring = "-";
  if (one.collective == std::string_view(kRing) && one.Workers() <= kMostInOneRing) {
    one_ring = FormatFixed(Simulate(OptionsOf(one, 1), {"flow"}).bus, 1);
  }
  const bool chosen = one.collective == std::string_view("auto");
  return {std::to_string(one.Workers()) + " GPUs, " + one.bytes + ", " + (chosen ? "auto: " : "") +
              ours.what,
          one.as,
          FormatFixed(published, 1),
          one_ring,
          FormatFixed(ours.bus, 1),
          Percent(ours.bus, published),
          "-",
          "-",
          "-",
          "-"};
}

// A SizedCase is a line of a machine's table.
struct SizedCase {
  const NcclMachine* machine;
  int64_t bytes;
  double microseconds;

  // The quick ones are those of one node, and every second size of others.
  bool Quick() const {
    int doublings = 0;
    for (int64_t left = bytes; left > 1; left /= 2) ++doublings;
    return doublings % 2 == 0 && bytes <= int64_t{64} << 20;
  }
};

std::string OptionsOf(const SizedCase& one) {
  constexpr int64_t kNvlsAnyway = int64_t{16} << 20;
  const NcclMachine& machine = *one.machine;
  const bool nvls =
      machine.nvls_from > 0 && one.bytes >= machine.nvls_from && one.bytes < kNvlsAnyway;
  const std::string collective = nvls ? kNvls : "auto";
  return NetworkOf(machine.nodes, machine.gpus, FormatFixed(8 * machine.inside, 1) + "Gbps",
                   machine.nic_gbps) +
         " bytes=" + std::to_string(one.bytes) + " collective=" + collective +
         ChannelsText(collective, machine.channels) + " protocol=auto";
}

std::string SizeText(int64_t bytes) {
  constexpr int64_t kMiB = 1 << 20;
  return bytes < kMiB ? std::to_string(bytes >> 10) + "KiB" : std::to_string(bytes >> 20) + "MiB";
}

ValidationRow SizedRow(const SizedCase& one) {
  const Simulated ours = Simulate(OptionsOf(one), {"flow", "analytic"});
  const double published = one.microseconds;
  const double factor = ours.bus * ours.flow / published;
  return {std::string(one.machine->name) + ", " + SizeText(one.bytes) + ", " + ours.what,
          "measured",
          FormatFixed(factor, 2),
          "-",
          FormatFixed(ours.bus, 2),
          Percent(ours.bus, factor),
          FormatFixed(published, 1),
          FormatFixed(ours.flow, 1),
          FormatFixed(ours.analytic, 1),
          Percent(ours.flow, published)};
}

// Columns of a row of SizedRow.
constexpr int kPublishedUs = 6;
constexpr int kSimulatedUs = 7;
constexpr int kAnalyticUs = 8;
constexpr int kErrorOfTime = 9;
constexpr int kColumnsOfBandwidth = 6;

// A Band is a range of sizes whose errors are summed up.
struct Band {
  const char* name;
  int64_t least;  // bytes
  int64_t most;
  bool target;
};

constexpr Band kBands[] = {
    {"64 to 512 KiB", 64 << 10, 512 << 10, false},
    {"1 to 64 MiB", 1 << 20, 64 << 20, true},
    {"128 MiB to 1 GiB", 128 << 20, int64_t{1} << 30, false},
};

// Returns the rows of a band, of the machines that are targets or of the others.
std::vector<ValidationRow> RowsOf(const Band& band, bool targets, const std::vector<SizedCase>& all,
                                  const std::vector<ValidationRow>& rows) {
  std::vector<ValidationRow> chosen;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t bytes = all[i].bytes;
    if (all[i].machine->target == targets && bytes >= band.least && bytes <= band.most) {
      chosen.push_back(rows[i]);
    }
  }
  return chosen;
}

// Expects the targets: the median of the errors, and that none is beyond the factor.
void ExpectTimes(const std::vector<SizedCase>& all, const std::vector<ValidationRow>& rows,
                 SectionResult& result) {
  for (const Band& band : kBands) {
    const std::vector<ValidationRow> chosen = RowsOf(band, true, all, rows);
    if (!band.target || chosen.empty()) continue;
    const double median = AbsolutePercentile(chosen, kErrorOfTime, 0.5);
    result.Expect(median <= kTimesMedianPercent, std::string("nccl: ") + band.name +
                                                     ": median error of times " +
                                                     FormatFixed(median, 1) + " %");
    for (const ValidationRow& row : chosen) {
      const double factor = std::stod(row[kSimulatedUs]) / std::stod(row[kPublishedUs]);
      result.Expect(factor <= kTimesMostFactor && factor >= 1 / kTimesMostFactor,
                    "nccl: " + row[0] + ": " + row[kSimulatedUs] + " us, not " + row[kPublishedUs]);
    }
  }
}

// Returns published and simulated times, a row for every fourth size of each machine.
ValidationTable SizesTable(const std::vector<SizedCase>& all,
                           const std::vector<ValidationRow>& rows) {
  ValidationTable table{"nccl-sizes",
                        {"all-reduce", "published (us)", "simulated (us)", "analytic (us)",
                         "simulated - published (%)"},
                        {}};
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].machine->target || !all[i].Quick()) continue;
    const ValidationRow& row = rows[i];
    table.rows.push_back(
        {row[0], row[kPublishedUs], row[kSimulatedUs], row[kAnalyticUs], row[kErrorOfTime]});
  }
  return table;
}

// Returns the medians and largest errors of each band, for targets and other machines.
ValidationTable BandsTable(const std::vector<SizedCase>& all,
                           const std::vector<ValidationRow>& rows) {
  ValidationTable table{
      "nccl-bands",
      {"sizes", "machines", "points", "median error (%)", "largest (%)", "analytic, median (%)"},
      {}};
  for (const bool targets : {true, false}) {
    for (const Band& band : kBands) {
      std::vector<ValidationRow> chosen = RowsOf(band, targets, all, rows);
      if (chosen.empty()) continue;
      const double median = AbsolutePercentile(chosen, kErrorOfTime, 0.5);
      const double largest = AbsolutePercentile(chosen, kErrorOfTime, 1);
      for (ValidationRow& row : chosen) {
        row[kErrorOfTime] = Percent(std::stod(row[kAnalyticUs]), std::stod(row[kPublishedUs]));
      }
      table.rows.push_back({band.name, targets ? "targets" : "others",
                            std::to_string(chosen.size()), FormatFixed(median, 1),
                            FormatFixed(largest, 1),
                            FormatFixed(AbsolutePercentile(chosen, kErrorOfTime, 0.5), 1)});
    }
  }
  return table;
}

}  // namespace

SectionResult ValidateNccl(const SectionRun& run) {
  std::vector<PublishedCase> cases;
  std::vector<SizedCase> sized;
  std::vector<std::string> names;
  for (const PublishedCase& one : kCases) {
    if (run.sample && !one.quick) continue;
    cases.push_back(one);
    names.push_back(OptionsOf(one));
  }
  for (const NcclMachine& machine : NcclMachines()) {
    for (size_t line = 0; line < machine.microseconds.size(); ++line) {
      const SizedCase one{&machine, machine.least_bytes << line, machine.microseconds[line]};
      if (run.sample && !one.Quick()) continue;
      sized.push_back(one);
      names.push_back(OptionsOf(one));
    }
  }
  const auto large = static_cast<int>(cases.size());
  SectionResult result;
  result.csv = {"nccl",
                {"all-reduce", "published as", "published (GB/s)", "one ring (GB/s)",
                 "simulated (GB/s)", "simulated - published (%)", "published (us)",
                 "simulated (us)", "analytic (us)", "error of time (%)"},
                ForkRows(run, names, [&](int i) {
                  return i < large ? NcclRow(cases[i]) : SizedRow(sized[i - large]);
                })};
  const std::vector<ValidationRow> rows(result.csv.rows.begin() + large, result.csv.rows.end());
  for (int i = 0; i < large; ++i) {
    const ValidationRow& row = result.csv.rows[i];
    if (!cases[i].target) continue;
    result.Expect(std::abs(std::stod(row[5])) <= kTargetPercent,
                  "nccl: " + row[0] + ": " + row[4] + " GB/s, not " + row[2]);
  }
  ExpectTimes(sized, rows, result);
  if (run.sample) return result;
  ValidationTable of_bandwidth{"nccl", {}, {}};
  const auto first = result.csv.columns.begin();
  of_bandwidth.columns.assign(first, first + kColumnsOfBandwidth);
  for (int i = 0; i < large; ++i) {
    const ValidationRow& row = result.csv.rows[i];
    of_bandwidth.rows.emplace_back(row.begin(), row.begin() + kColumnsOfBandwidth);
  }
  result.document = {of_bandwidth, SizesTable(sized, rows), BandsTable(sized, rows)};
  return result;
}

}  // namespace legacy
