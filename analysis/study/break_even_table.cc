#include "analysis/study/break_even_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/csv.h"
#include "analysis/study/crossover.h"
#include "analysis/study/quantities.h"
#include "analysis/study/statistics.h"
#include "analysis/study/table_builder.h"

namespace legacy::analysis {
namespace {

// Returns what the seeds do if not all of them cross once: "2 of 3 seeds cross".
std::string ShowVerdict(const Crossover& crossover) {
  const auto seeds = static_cast<int>(crossover.seeds.size());
  if (crossover.unknown == seeds) return "not known";
  if (crossover.ahead == seeds) return "pays over the whole range";
  if (crossover.behind == seeds) return "never pays";
  std::vector<std::string> parts;
  const char* way = crossover.faster_below ? "below" : "above";
  if (crossover.crossing > 0) {
    parts.push_back(fmt::format("pays {}: {} of {} cross", way,
                                crossover.crossing - crossover.contrary, ShowCount(seeds, "seed")));
  }
  const auto add = [&](int count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(crossover.contrary, crossover.faster_below ? "pay above" : "pay below");
  add(crossover.ahead, "pay everywhere");
  add(crossover.behind, "never pay");
  add(crossover.unknown, "not known");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Returns every crossing with its seed: "1:3.7e8 2:4e8".
std::string RawCrossings(const Crossover& crossover) {
  std::vector<std::string> all;
  for (const SeedCrossings& seed : crossover.seeds) {
    for (const Crossing& crossing : seed.crossings) {
      all.push_back(fmt::format("{}:{}", seed.seed, CsvNumber(crossing.x)));
    }
  }
  return fmt::format("{}", fmt::join(all, " "));
}

std::string ShowTextbook(const Crossover& textbook, const StudyAxis& axis) {
  return textbook.crosses() ? ShowCrossing(axis, textbook.x, textbook.interval)
                            : ShowVerdict(textbook);
}

// Returns the difference of the textbook's break-even from the simulated one, in percent of the
// latter.
std::string ShowRatio(const GeometricMean& ratio) {
  if (ratio.count == 0) return "-";
  std::string text = fmt::format("{:+.1f}", (ratio.mean - 1) * 100);
  if (ratio.interval) {
    text += fmt::format(" [{:+.1f}, {:+.1f}]", (ratio.interval->low - 1) * 100,
                        (ratio.interval->high - 1) * 100);
  }
  return text + " %";
}

std::string ShowSimple(double bandwidth) {
  if (std::isinf(bandwidth)) return "always pays";
  return bandwidth == 0 ? "never pays" : ShowQuantity(bandwidth, "bit/s");
}

void FillBreakEven(const Study& study, const StudyAxis& axis, const BreakEven& even, double simple,
                   TableBuilder& builder) {
  const Crossover& simulated = even.simulated;
  builder.Show("method", MarkedName(study, simulated.policy), false);
  builder.Raw("policy", simulated.policy);
  builder.Show("break-even",
               simulated.crosses() ? ShowCrossing(axis, simulated.x, simulated.interval) : "-");
  builder.Raw("break_even", simulated.x);
  builder.Raw("break_even", simulated.interval);
  builder.Raw("pays", !simulated.crosses() ? "" : simulated.faster_below ? "below" : "above");
  builder.Raw("time_to_target_there", simulated.seconds);
  builder.Show("seeds", ShowVerdict(simulated), false);
  builder.Raw("seeds_crossing", simulated.crossing);
  builder.Raw("seeds_contrary", simulated.contrary);
  builder.Raw("seeds_ahead", simulated.ahead);
  builder.Raw("seeds_behind", simulated.behind);
  builder.Raw("seeds_unknown", simulated.unknown);
  builder.Raw("crossings", RawCrossings(simulated));
  builder.Show("textbook", ShowTextbook(even.textbook, axis));
  builder.Raw("textbook", even.textbook.x);
  builder.Raw("textbook", even.textbook.interval);
  builder.Show("textbook's error", ShowRatio(even.ratio));
  builder.Raw("textbook_over_simulated", even.ratio.mean);
  builder.Raw("textbook_over_simulated", even.ratio.interval);
  builder.Show("simple condition", ShowSimple(simple));
  builder.Raw("simple_condition", simple);
}

bool Crosses(const BreakEven& even) { return even.simulated.crosses() || even.textbook.crosses(); }

}  // namespace

StudyTable BreakEvenTable(const Study& study) {
  TableBuilder builder(
      "break_even",
      fmt::format("Break-even with {}: mean over seeds with its 95 % interval; the "
                  "textbook's (alpha-beta times); by how much that is too high or too low. Along "
                  "other axes than bandwidth: where something crosses",
                  study.baseline));
  for (const size_t axis : NumericAxes(study)) {
    for (const Facet& facet : FacetsOf(study, axis)) {
      const std::vector<BreakEven> evens = BreakEvensOf(study, facet);
      const bool bandwidth = study.axes[axis].unit == "bit/s";
      if (!bandwidth && std::ranges::none_of(evens, Crosses)) continue;
      for (const BreakEven& even : evens) {
        builder.Row();
        builder.Text("axis", "axis", study.axes[axis].name);
        builder.Raw("unit", study.axes[axis].unit);
        builder.Text("where", "where", facet.name.empty() ? "everywhere" : facet.name);
        const double simple =
            bandwidth ? SimpleBreakEvenOf(facet, PolicyIndex(study, even.simulated.policy),
                                          PolicyIndex(study, study.baseline))
                      : kUnknown;
        FillBreakEven(study, study.axes[axis], even, simple, builder);
      }
    }
  }
  return builder.Take();
}

}  // namespace legacy::analysis
