#include "analysis/study/run_points.h"

namespace legacy::analysis {
namespace {

// Calls visit with the rows that are of the training.
template <class Row, class Visitor>
void VisitRows(const std::vector<Row>& rows, const std::string& policy, uint64_t seed,
               Visitor&& visit) {
  for (const Row& row : rows) {
    if (row.seed == seed && row.policy == policy) visit(row);
  }
}

PointFigures FiguresOf(const RunDirectory& run, const std::string& policy,
                       const SeedSummary& seed) {
  PointFigures figures;
  figures.workers = run.manifest.workers;
  figures.steps = seed.steps;
  figures.time_to_target = seed.time_to_target;
  figures.simulated_seconds = seed.simulated_seconds;
  figures.final_metric = seed.final_metric;
  figures.best_metric = seed.best_metric;
  figures.element_ratio = seed.element_ratio;
  figures.payload_ratio = seed.payload_ratio;
  figures.traffic_ratio = seed.traffic_ratio;
  figures.egress_usd = seed.egress_usd;
  figures.decisions = seed.decisions;
  figures.step_seconds = seed.step.total;
  figures.compute_seconds = seed.step.compute;
  figures.encode_seconds = seed.step.encode;
  figures.communication_seconds = seed.step.communication;
  figures.decode_seconds = seed.step.decode;
  figures.wait_seconds = seed.step.wait;
  VisitRows(run.steps, policy, seed.seed, [&](const StepRow& row) {
    figures.message_bytes += row.message_bytes;
    figures.nic_bytes += row.nic_bytes;
    figures.alpha_beta_step_seconds += row.alpha_beta_seconds / static_cast<double>(seed.steps);
  });
  VisitRows(run.evaluations, policy, seed.seed, [&](const EvaluationRow& row) {
    if (figures.time_to_target == row.simulated_seconds) figures.steps_to_target = row.step;
  });
  VisitRows(run.network, policy, seed.seed, [&](const NetworkRow& row) {
    figures.fidelity = row.fidelity;
    figures.events = row.events;
    figures.packets = row.packets;
    figures.fresh_steps = row.fresh_steps;
    figures.memoised_steps = row.memoised_steps;
    figures.retransmit_timeouts = row.retransmit_timeouts;
    figures.roce = row.roce;
  });
  VisitRows(run.links, policy, seed.seed, [&](const LinkRow& row) {
    if (figures.busiest_link.empty() || row.mean_utilisation > figures.busiest_utilisation) {
      figures.busiest_link = row.link;
      figures.busiest_utilisation = row.mean_utilisation;
    }
  });
  return figures;
}

}  // namespace

void FillPoint(StudyPoint& point, const RunDirectory& run, const PolicySummary& policy, size_t seed,
               const std::vector<Metric>& metrics) {
  const std::vector<Metric>& known = run.manifest.metrics;
  point.figures = FiguresOf(run, policy.name, policy.seeds.at(seed));
  point.curve.clear();
  VisitRows(run.evaluations, policy.name, policy.seeds[seed].seed, [&](const EvaluationRow& row) {
    point.curve.push_back(
        {row.step, row.simulated_seconds, row.message_bytes, row.nic_bytes, row.test_loss, {}});
    for (const Metric& metric : metrics) {
      const size_t position = MetricPosition(known, metric.name);
      point.curve.back().metrics.push_back(position < known.size() ? row.metrics.at(position)
                                                                   : kUnknown);
    }
  });
}

}  // namespace legacy::analysis
