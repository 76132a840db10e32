#include "analysis/curves.h"

#include <map>
#include <set>

namespace legacy::analysis {
namespace {

// Returns the seeds over whose evaluations the curve is a mean.
std::set<uint64_t> CurveSeeds(const PolicySummary& policy) {
  std::set<uint64_t> finished, begun;
  for (const SeedSummary& seed : policy.seeds) {
    if (seed.evaluations == 0) continue;
    begun.insert(seed.seed);
    if (seed.finished) finished.insert(seed.seed);
  }
  return finished.empty() ? begun : finished;
}

}  // namespace

std::vector<Curve> MetricCurves(const RunDirectory& run, const Summary& summary,
                                const std::function<double(const EvaluationRow&)>& cost) {
  std::map<std::string, std::map<int64_t, std::vector<const EvaluationRow*>>> steps;  // by policy
  for (const EvaluationRow& row : run.evaluations) steps[row.policy][row.step].push_back(&row);
  const size_t position = MetricPosition(run.manifest.metrics, summary.metric.name);
  std::vector<Curve> curves;
  if (summary.metric.name.empty()) return curves;
  for (const PolicySummary& policy : summary.policies) {
    const std::set<uint64_t> seeds = CurveSeeds(policy);
    Curve curve{policy.name, static_cast<int>(seeds.size()), {}};
    for (const auto& [step, rows] : steps[policy.name]) {
      std::vector<double> costs, values;
      for (const EvaluationRow* row : rows) {
        if (!seeds.contains(row->seed)) continue;
        costs.push_back(cost(*row));
        values.push_back(row->metrics.at(position));
      }
      if (costs.empty() || costs.size() != seeds.size()) continue;
      const Spread value = SpreadOf(values);
      curve.points.push_back({SpreadOf(costs).mean, value.mean, value.deviation});
    }
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace legacy::analysis
