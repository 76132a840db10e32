// The validation section that compares packets of our own TCP with those of ns-3's sockets.
#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/network/measure.h"
#include "scenarios/network/results.h"
#include "scenarios/network/validation/linux_cases.h"
#include "scenarios/network/validation/validation_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

// Targets for the differences of times, in percent: the median, and nine of ten.
constexpr double kMostMedian = 2;
constexpr double kMostOfNine = 10;

enum SocketsColumn { kName, kKind, kSockets, kOwn, kDifference };

// Returns whether ns-3's sockets take a minute for a case.
bool IsLarge(const ValidationCase& one) {
  return one.options.find("bytes=44.7MB") != std::string::npos ||
         one.options.find("bytes=10MB") != std::string::npos;
}

std::string KindOf(const ValidationCase& one) {
  for (const char* kind : {"incast", "parameter-server", "permutation"}) {
    if (one.options.find(kind) != std::string::npos) return "incasts and permutations";
  }
  if (one.options.find("transport=wan") != std::string::npos) return "wide area";
  return one.options.find("topo=star") != std::string::npos ? "stars" : "fat-trees and others";
}

// Returns cases of fabrics, but for large ones and those that differ by oversubscription alone.
std::vector<ValidationCase> FabricCases() {
  std::vector<ValidationCase> cases = FidelityCases();
  std::erase_if(cases, [](const ValidationCase& one) {
    return IsLarge(one) || one.options.find("leaf-spine") != std::string::npos;
  });
  return cases;
}

// Returns cases over long paths, with losses and short queues, but for BBR, which ns-3's sockets
// lack.
std::vector<LinuxCase> WideCases() {
  std::vector<LinuxCase> cases = LinuxCases();
  std::erase_if(cases, [](const LinuxCase& one) {
    return one.shaped_hosts || !one.RunsOn(LinuxEngine::kSockets);
  });
  return cases;
}

ValidationRow RowOf(const std::string& name, const std::string& kind, double sockets, double own) {
  return {name, kind, FormatFixed(sockets, 6), FormatFixed(own, 6),
          FormatFixed(100 * (own / sockets - 1), 2)};
}

double SecondsOf(const ValidationCase& one, const std::string& before_preset) {
  const bool wide = one.options.find("transport=wan") != std::string::npos;
  ValidationCase changed = one;
  changed.options += " transport=" + before_preset + (wide ? "wan" : "datacenter");
  return InSeconds(Measure(Prepare(ExperimentOf(changed, {"packet"})), {}).front().Time());
}

ValidationRow SocketsRow(const ValidationCase& one) {
  return RowOf(one.options, KindOf(one), SecondsOf(one, "ns3:"), SecondsOf(one, ""));
}

ValidationRow SocketsRow(const LinuxCase& one) {
  return RowOf(one.name, "wide area", SimulateLinuxCase(one, LinuxEngine::kSockets),
               SimulateLinuxCase(one, LinuxEngine::kSegments));
}

ValidationRow SummaryRow(const std::string& name, const std::vector<ValidationRow>& rows) {
  const auto larger = [](const ValidationRow& a, const ValidationRow& b) {
    return std::abs(std::stod(a[kDifference])) < std::abs(std::stod(b[kDifference]));
  };
  const ValidationRow& worst = *std::ranges::max_element(rows, larger);
  return {name,
          std::to_string(rows.size()),
          FormatFixed(AbsolutePercentile(rows, kDifference, 0.5), 1),
          FormatFixed(AbsolutePercentile(rows, kDifference, 0.9), 1),
          worst[kDifference],
          worst[kName]};
}

void SummariseSockets(SectionResult& result) {
  ValidationTable summary{
      "sockets-summary",
      {"rows", "cases", "median (%)", "nine of ten within (%)", "largest (%)", "largest in"},
      {SummaryRow("all", result.csv.rows)}};
  for (const std::string kind :
       {"stars", "fat-trees and others", "incasts and permutations", "wide area"}) {
    std::vector<ValidationRow> rows;
    std::ranges::copy_if(result.csv.rows, std::back_inserter(rows),
                         [&](const ValidationRow& row) { return row[kKind] == kind; });
    if (!rows.empty()) summary.rows.push_back(SummaryRow(kind, rows));
  }
  for (const auto& [part, most] : {std::pair(0.5, kMostMedian), std::pair(0.9, kMostOfNine)}) {
    const double here = AbsolutePercentile(result.csv.rows, kDifference, part);
    result.Expect(here <= most, "sockets: " + FormatFixed(100 * part, 0) +
                                    " of 100 cases differ by up to " + FormatFixed(here, 1) + " %");
  }
  result.document = {summary};
}

}  // namespace

SectionResult ValidateSockets(const SectionRun& run) {
  std::vector<ValidationCase> fabrics = FabricCases();
  std::vector<LinuxCase> wide = WideCases();
  if (run.sample) {
    std::erase_if(fabrics, [](const ValidationCase& one) { return !one.quick; });
    wide.clear();
  }
  std::vector<std::string> names;
  for (const ValidationCase& one : fabrics) names.push_back(one.options);
  for (const LinuxCase& one : wide) names.push_back(one.name);
  SectionResult result;
  result.csv = {"sockets", {"case", "kind", "ns-3 (s)", "ours (s)", "ours - ns-3 (%)"}, {}};
  const size_t first = fabrics.size();
  result.csv.rows = ForkRows(run, names, [&](int i) {
    const auto at = static_cast<size_t>(i);
    return at < first ? SocketsRow(fabrics[at]) : SocketsRow(wide[at - first]);
  });
  if (!run.sample) SummariseSockets(result);
  return result;
}

}  // namespace legacy
