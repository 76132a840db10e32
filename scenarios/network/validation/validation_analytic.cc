// The validation section that compares analytic with flow fidelity: every collective on fabrics
// with and without nodes of several GPUs.
#include <exception>
#include <optional>

#include "scenarios/network/measure.h"
#include "scenarios/network/validation/validation_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

// Bounds of analytic - flow in percent. Flows that share a link all end late, while flows that take
// turns end one by one, and workers that wait for the first of them continue earlier.
struct Bounds {
  double least;
  double most;
};
constexpr Bounds kOverNodes{-15, 5};
constexpr Bounds kOverOthers{-35, 10};

// Fabrics with at least 17 hosts, because a parameter server has a host of its own.
const std::vector<std::string>& AnalyticFabrics() {
  static const std::vector<std::string> fabrics{
      "star",
      "fat-tree",
      "leaf-spine:leaves=5,hosts=4,oversubscription=4",
      "ring",
      "torus:x=5,y=4",
      "dragonfly",
      "rail-optimised:nodes=5,gpus=4,node.rate=360Gbps",
      "rail-optimised:nodes=3,gpus=8,node.rate=360Gbps",
      "nodes:nodes=5,gpus=4,node.rate=360Gbps",
  };
  return fabrics;
}

struct AnalyticCase {
  fabric::CollectiveAlgorithm algorithm;
  std::string fabric;

  bool OverNodes() const { return fabric.find("nodes=") != std::string::npos; }
  std::string Options() const {
    return "topo=" + fabric + " workers=16 bytes=3200KB group=4 bandwidth=40Gbps delay=500ns " +
           "transport=roce collective=" + fabric::ToString(algorithm);
  }
};

std::vector<AnalyticCase> AnalyticCases(bool sample) {
  std::vector<AnalyticCase> cases;
  for (const fabric::CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    if (sample && algorithm != fabric::CollectiveAlgorithm::AllToAll) continue;
    for (const std::string& fabric : AnalyticFabrics()) cases.push_back({algorithm, fabric});
  }
  return cases;
}

// Returns the time at a fidelity; nothing if the fabric has no switches for the algorithm.
std::optional<TimeNs> TimeAt(const AnalyticCase& one, const std::string& fidelity) {
  try {
    return Measure(Prepare(ExperimentOf({one.Options()}, {fidelity})), {}).front().Time();
  } catch (const std::exception& error) {
    if (std::string(error.what()).find("switch") == std::string::npos) throw;
    return std::nullopt;
  }
}

ValidationRow AnalyticRow(const AnalyticCase& one) {
  const std::optional<TimeNs> flow = TimeAt(one, "flow");
  if (!flow) return {one.Options(), "", "", ""};
  const double analytic = static_cast<double>(TimeAt(one, "analytic").value());
  const double percent = 100 * (analytic / static_cast<double>(*flow) - 1);
  return {one.Options(), FormatFixed(InSeconds(*flow), 9), FormatFixed(analytic * 1e-9, 9),
          FormatFixed(percent, 1)};
}

}  // namespace

SectionResult ValidateAnalytic(const SectionRun& run) {
  const std::vector<AnalyticCase> cases = AnalyticCases(run.sample);
  std::vector<std::string> names;
  for (const AnalyticCase& one : cases) names.push_back(one.Options());
  SectionResult result;
  result.csv = {"analytic", {"case", "flow (s)", "analytic (s)", "analytic - flow (%)"}, {}};
  result.csv.rows = ForkRows(run, names, [&](int i) { return AnalyticRow(cases[i]); });

  ValidationTable table{"analytic", {"analytic - flow (%)"}, {}};
  for (const std::string& fabric : AnalyticFabrics()) {
    table.columns.push_back(fabric.substr(0, fabric.find(",node.rate")));
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string& percent = result.csv.rows[i].back();
    if (i % AnalyticFabrics().size() == 0) {
      table.rows.push_back({fabric::ToString(cases[i].algorithm)});
    }
    table.rows.back().push_back(percent.empty() ? "-" : percent);
    if (percent.empty()) continue;
    const double value = std::stod(percent);
    const Bounds& bounds = cases[i].OverNodes() ? kOverNodes : kOverOthers;
    result.Expect(bounds.least <= value && value <= bounds.most,
                  "analytic: " + names[i] + " differs from flow by " + percent + " %");
  }
  if (!run.sample) result.document = {table};
  return result;
}

}  // namespace legacy
