// The validation section that compares our engines with the Linux kernel's TCP.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "scenarios/network/results.h"
#include "scenarios/network/validation/linux_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

// Targets: median and 90th percentile of the errors in percent, and the largest factor.
constexpr double kLinuxMedianPercent = 5;
constexpr double kNinthPercent = 15;
constexpr double kWorstFactor = 2;
// The share of cases, of those that Linux itself repeats within this factor, in which our packets
// are within it.
constexpr double kNearFactor = 1.15;
constexpr double kNearPercent = 97;
constexpr const char* kRepeated = "Linux repeats";
// Messages with fewer frames say more about the token buckets of the measurement than about TCP.
constexpr double kFewFrames = 30;
// Delays of links by which packets are tried again: those of host i are i times as much longer.
constexpr TimeNs kShifts[] = {100, 200, 300, 400, 500, 600, 700, 800};
// A case is chaotic if such a delay changes its time by more than this factor.
constexpr double kChaoticFactor = 1.1;
// The class of cases for which the flow engine, which has no queues, need not meet the factor.
constexpr const char* kStarved = "starved queue";
constexpr const char* kBbr = "BBR";

enum LinuxColumn { kLinuxName, kLinuxClass, kLinuxMeasured, kLinuxFirstEngine };

// An engine with its name in the tables.
struct NamedEngine {
  LinuxEngine engine;
  const char* name;
};
constexpr NamedEngine kEngines[] = {{LinuxEngine::kSockets, "ns-3"},
                                    {LinuxEngine::kSegments, "packet"},
                                    {LinuxEngine::kFlow, "flow"}};
// The columns after those of the engines.
constexpr int kLinuxSpread = kLinuxFirstEngine + 2 * std::size(kEngines);
enum SpreadColumn {
  kMeasuredLeast = kLinuxSpread,
  kMeasuredLargest,
  kPacketLeast,
  kPacketMedian,
  kPacketLargest
};
// Returns the column in which an engine's time is divided by the measured one.
constexpr int RatioOf(LinuxEngine engine) {
  return kLinuxFirstEngine + 2 * static_cast<int>(engine) + 1;
}

std::string ClassOf(const LinuxCase& one) {
  if (one.congestion == "bbr") return kBbr;
  if (one.Starved()) return kStarved;
  if (one.smallest_frames < kFewFrames && one.shaped_hosts) return "few frames";
  return one.shaped_hosts ? "collectives" : "wide area";
}

ValidationRow LinuxRow(const LinuxCase& one) {
  ValidationRow row{one.name, ClassOf(one), FormatFixed(one.seconds, 6)};
  for (const NamedEngine& named : kEngines) {
    if (!one.RunsOn(named.engine)) {
      row.insert(row.end(), 2, "");
      continue;
    }
    const double seconds = SimulateLinuxCase(one, named.engine);
    row.push_back(FormatFixed(seconds, 6));
    row.push_back(FormatFixed(seconds / one.seconds, 3));
  }
  std::vector<double> shifted;
  for (const TimeNs shift : kShifts) {
    shifted.push_back(SimulateLinuxCase(one, LinuxEngine::kSegments, shift));
  }
  std::ranges::sort(shifted);
  for (const double seconds :
       {one.least, one.largest, shifted.front(), Percentile(shifted, 0.5), shifted.back()}) {
    row.push_back(FormatFixed(seconds, 6));
  }
  return row;
}

// Returns the ratio or its inverse, whichever is at least 1.
double Factor(const ValidationRow& row, int column) {
  const double ratio = std::stod(row[column]);
  return std::max(ratio, 1 / ratio);
}

double PercentOf(double factor) { return 100 * (factor - 1); }

// Returns true if the measured repetitions are near their median.
bool IsRepeated(const ValidationRow& row) {
  const double median = std::stod(row[kLinuxMeasured]);
  return std::stod(row[kMeasuredLargest]) <= kNearFactor * median &&
         median <= kNearFactor * std::stod(row[kMeasuredLeast]);
}

// The errors of some rows at one fidelity.
struct Errors {
  size_t cases = 0;
  double median = 0;  // %
  double ninth = 0;   // 90th percentile, %
  double near = 0;    // share of cases within kNearFactor, %
  double worst = 0;   // factor
  std::string worst_case;
};

Errors ErrorsOf(const std::vector<ValidationRow>& rows, int column) {
  Errors errors;
  std::vector<double> factors;
  for (const ValidationRow& row : rows) {
    if (row[column].empty()) continue;
    factors.push_back(Factor(row, column));
    if (factors.back() <= errors.worst) continue;
    errors.worst = factors.back();
    errors.worst_case = row[kLinuxName];
  }
  errors.cases = factors.size();
  if (factors.empty()) return errors;
  std::ranges::sort(factors);
  errors.median = PercentOf(Percentile(factors, 0.5));
  errors.ninth = PercentOf(Percentile(factors, 0.9));
  const auto near = std::ranges::upper_bound(factors, kNearFactor) - factors.begin();
  errors.near = 100 * static_cast<double>(near) / static_cast<double>(factors.size());
  return errors;
}

template <class Wanted>
std::vector<ValidationRow> RowsOf(const SectionResult& result, Wanted wanted) {
  std::vector<ValidationRow> rows;
  for (const ValidationRow& row : result.csv.rows) {
    if (wanted(row)) rows.push_back(row);
  }
  return rows;
}

void CheckTargets(SectionResult& result, const std::string& fidelity, const Errors& all,
                  const Errors& bounded) {
  const std::string what = "linux: " + fidelity + ": ";
  result.Expect(all.median <= kLinuxMedianPercent,
                what + "median error " + FormatFixed(all.median, 1) + " %");
  result.Expect(all.ninth <= kNinthPercent,
                what + "90th percentile " + FormatFixed(all.ninth, 1) + " %");
  result.Expect(
      bounded.worst <= kWorstFactor,
      what + "off by a factor of " + FormatFixed(bounded.worst, 2) + " in " + bounded.worst_case);
}

// Returns the cases whose time hangs on some hundred nanoseconds.
ValidationTable ChaoticCases(const std::vector<ValidationRow>& rows) {
  ValidationTable table{"linux-chaotic",
                        {"case", "measured: median (s)", "least", "largest",
                         "packet, other delays: median (s)", "least", "largest"},
                        {}};
  for (const ValidationRow& row : rows) {
    if (std::stod(row[kPacketLargest]) <= kChaoticFactor * std::stod(row[kPacketLeast])) continue;
    table.rows.push_back({row[kLinuxName], row[kLinuxMeasured], row[kMeasuredLeast],
                          row[kMeasuredLargest], row[kPacketMedian], row[kPacketLeast],
                          row[kPacketLargest]});
  }
  return table;
}

void SummariseLinux(SectionResult& result) {
  ValidationTable summary{"linux-summary",
                          {"rows", "cases", "engine", "median (%)", "90th percentile (%)",
                           "within 15 % (%)", "worst (factor)", "worst case"},
                          {}};
  const auto all = RowsOf(result, [](const ValidationRow&) { return true; });
  const auto repeated = RowsOf(
      result, [](const ValidationRow& row) { return row[kLinuxClass] != kBbr && IsRepeated(row); });
  for (const std::string name :
       {"all", kRepeated, "collectives", kStarved, "few frames", "wide area", kBbr}) {
    const auto of_class =
        RowsOf(result, [&](const ValidationRow& row) { return row[kLinuxClass] == name; });
    const auto& rows = name == "all" ? all : name == kRepeated ? repeated : of_class;
    for (const NamedEngine& named : kEngines) {
      const Errors errors = ErrorsOf(rows, RatioOf(named.engine));
      if (errors.cases == 0) continue;
      summary.rows.push_back({name, std::to_string(errors.cases), named.name,
                              FormatFixed(errors.median, 1), FormatFixed(errors.ninth, 1),
                              FormatFixed(errors.near, 1), FormatFixed(errors.worst, 2),
                              errors.worst_case});
    }
  }
  for (const NamedEngine& named : kEngines) {
    const char* left_out = named.engine == LinuxEngine::kFlow ? kStarved : "";
    const auto known =
        RowsOf(result, [&](const ValidationRow& row) { return row[kLinuxClass] != left_out; });
    CheckTargets(result, named.name, ErrorsOf(all, RatioOf(named.engine)),
                 ErrorsOf(known, RatioOf(named.engine)));
  }
  const Errors ours = ErrorsOf(repeated, RatioOf(LinuxEngine::kSegments));
  result.Expect(ours.near >= kNearPercent,
                "linux: packet: " + FormatFixed(ours.near, 1) +
                    " % of the cases that Linux repeats within 15 % are within 15 %");
  constexpr size_t kWorst = 12;
  const std::vector<std::string>& columns = result.csv.columns;
  ValidationTable worst{"linux-worst", {columns.begin(), columns.begin() + kLinuxSpread}, all};
  const auto largest = [](const ValidationRow& row) {
    double factor = 0;
    for (const NamedEngine& named : kEngines) {
      const int column = RatioOf(named.engine);
      if (!row[column].empty()) factor = std::max(factor, Factor(row, column));
    }
    return factor;
  };
  std::ranges::stable_sort(worst.rows, [&](const ValidationRow& a, const ValidationRow& b) {
    return largest(a) > largest(b);
  });
  worst.rows.resize(std::min(worst.rows.size(), kWorst));
  for (ValidationRow& row : worst.rows) row.resize(kLinuxSpread);
  result.document = {summary, worst, ChaoticCases(all)};
}

}  // namespace

SectionResult ValidateLinux(const SectionRun& run) {
  std::vector<LinuxCase> cases = LinuxCases();
  if (run.sample) {
    // The results of incasts into short queues depend on the last bit of the C library.
    std::erase_if(
        cases, [](const LinuxCase& one) { return one.bytes > 100'000 || one.operation == "ps"; });
  }
  std::vector<std::string> names;
  for (const LinuxCase& one : cases) names.push_back(one.name);
  SectionResult result;
  result.csv = {"linux", {"case", "class", "measured (s)"}, {}};
  for (const NamedEngine& named : kEngines) {
    const std::string name = named.name;
    result.csv.columns.insert(result.csv.columns.end(), {name + " (s)", name + " / measured"});
  }
  for (const char* column : {"measured least (s)", "measured largest (s)", "packet least (s)",
                             "packet median (s)", "packet largest (s)"}) {
    result.csv.columns.push_back(column);
  }
  result.csv.rows = ForkRows(run, names, [&](int i) { return LinuxRow(cases[i]); });
  if (!run.sample) SummariseLinux(result);
  return result;
}

}  // namespace legacy
