#include "scenarios/run/workers/method_rows.h"

namespace legacy {

void WriteDecisions(const MethodRow& row, StepSource& training, TimedEverywhere& timed) {
  for (const Decision& made : training.TakeDecisions()) {
    if (made.step >= row.steps) continue;
    const bool all = made.unit == Decision::kAllUnits;
    const DecisionGrounds& grounds = made.grounds;
    timed.Write(analysis::DecisionRow{row.method, row.seed, made.step, made.number,
                                      all ? "all" : training.Units()[made.unit].name,
                                      made.parameter, grounds.error, grounds.budget, grounds.gain,
                                      grounds.seconds, grounds.reason});
  }
}

void WriteLayers(const MethodRow& row, const StepSource& training, const UnitStats& stats,
                 TimedEverywhere& timed) {
  const std::span<const Unit> units = training.Units();
  for (size_t u = 0; u < units.size(); ++u) {
    timed.Write(analysis::LayerRow{row.method, row.seed, units[u].name, units[u].numel,
                                   stats.parameter[u] / static_cast<double>(row.steps),
                                   stats.elements[u],
                                   static_cast<double>(stats.bytes[u]) / row.workers});
  }
}

}  // namespace legacy
