#include "analysis/study/study_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/csv.h"
#include "analysis/study/crossover.h"
#include "analysis/study/quantities.h"
#include "analysis/study/statistics.h"
#include "base/error.h"

namespace legacy::analysis {
namespace {

// A Builder fills a table cell by cell. The cells of the first row name the columns.
class Builder {
 public:
  Builder(std::string name, std::string title) {
    table_.name = std::move(name);
    table_.title = std::move(title);
  }

  void Row() {
    table_.rows.emplace_back();
    table_.csv_rows.emplace_back();
  }
  // Adds a cell for people.
  void Show(const std::string& header, const std::string& text, bool number = true) {
    if (table_.rows.size() == 1) table_.columns.push_back({header, number});
    table_.rows.back().push_back(text);
  }
  // Adds a field of the CSV file, to the cell before it.
  void Raw(const std::string& name, const std::string& text) {
    if (table_.csv_rows.size() == 1) {
      table_.csv_header.push_back(name);
      table_.csv_columns.push_back(table_.columns.size() - 1);
    }
    table_.csv_rows.back().push_back(text);
  }
  void Raw(const std::string& name, double value) {
    Raw(name, std::isnan(value) ? std::string() : CsvNumber(value));
  }
  void Raw(const std::string& name, int value) { Raw(name, std::to_string(value)); }
  void Raw(const std::string& name, const std::optional<Interval>& interval) {
    Raw(name + "_low", interval ? interval->low : kUnknown);
    Raw(name + "_high", interval ? interval->high : kUnknown);
  }
  void Raw(const std::string& name, const Spread& spread) {
    Raw(name + "_mean", spread.mean);
    Raw(name + "_deviation", spread.deviation);
  }
  // Adds both.
  void Text(const std::string& header, const std::string& name, const std::string& text) {
    Show(header, text, false);
    Raw(name, text);
  }
  void Add(const std::string& header, const std::string& name, const Spread& spread,
           const std::string& unit) {
    Show(header, ShowSpread(spread, unit));
    Raw(name, spread);
  }

  StudyTable Take() { return std::move(table_); }

 private:
  StudyTable table_;
};

std::string ShowTime(const Outcome& outcome) {
  if (outcome.done == 0) return "-";
  if (outcome.time_to_target.count > 0) return ShowSpread(outcome.time_to_target, "s");
  return fmt::format("≥ {}, {} of {} reached", ShowQuantity(outcome.time_bound, "s"),
                     outcome.reached, outcome.done);
}

std::string ShowAgainstBaseline(const Study& study, const Outcome& outcome) {
  if (outcome.policy == study.baseline) return "baseline";
  std::string text = ShowSpeedup(outcome.speedup);
  const size_t pairs = outcome.speedup.pairs.size();
  if (outcome.speedup.known() && pairs < study.seeds.size()) {
    text += fmt::format(" ({})", ShowCount(static_cast<int64_t>(pairs), "pair"));
  }
  return text;
}

std::string ShowFinalDifference(const Study& study, const Outcome& outcome) {
  if (outcome.policy == study.baseline) return "baseline";
  return ShowDifference(ShownMetric(study), outcome.metric_difference);
}

void AddAxis(const StudyAxis& axis, size_t value, Builder& builder) {
  const bool numbers = !axis.numbers.empty();
  builder.Show(ShowAxisName(axis), ShowValue(axis, value), numbers);
  builder.Raw(axis.name, axis.values[value]);
  if (numbers) builder.Raw(axis.name + "_number", axis.numbers[value]);
}

void AddAxes(const Study& study, const std::vector<size_t>& values, Builder& builder) {
  for (size_t a = 0; a < study.axes.size(); ++a) AddAxis(study.axes[a], values[a], builder);
}

// Returns a table with one row for each policy at each place. fill(study, outcome, builder) adds
// the cells after the names.
template <class Fill>
StudyTable PlaceTable(const Study& study, const std::vector<Place>& places, Builder builder,
                      Fill&& fill) {
  for (const Place& place : places) {
    for (const Outcome& outcome : place.outcomes) {
      if (outcome.planned == 0) continue;
      builder.Row();
      AddAxes(study, place.values, builder);
      builder.Show("method", MarkedName(outcome.policy, outcome.decisions), false);
      builder.Raw("policy", outcome.policy);
      builder.Show("seeds", fmt::format("{}/{}", outcome.done, outcome.planned));
      builder.Raw("seeds_planned", outcome.planned);
      builder.Raw("seeds_done", outcome.done);
      builder.Raw("seeds_failed", outcome.failed);
      fill(study, outcome, builder);
    }
  }
  return builder.Take();
}

// Returns the table of each method's main results: its volume, its final metric, the time of its
// steps and its time to target. Axes with one value are left out, and so are results of trainings
// where nothing was trained.
StudyTable SummaryTable(const Study& study, const std::vector<Place>& places) {
  Builder builder(
      "summary",
      fmt::format("Summary: against {}, by pairs of seeds with 95 % intervals", study.baseline));
  const Metric metric = ShownMetric(study);
  for (const Place& place : places) {
    const Outcome& base = place.outcomes[PolicyIndex(study, study.baseline)];
    for (const Outcome& outcome : place.outcomes) {
      if (outcome.planned == 0) continue;
      builder.Row();
      for (size_t a = 0; a < study.axes.size(); ++a) {
        if (study.axes[a].values.size() > 1) AddAxis(study.axes[a], place.values[a], builder);
      }
      builder.Show("method", MarkedName(outcome.policy, outcome.decisions), false);
      builder.Raw("policy", outcome.policy);
      builder.Add("payload ratio", "payload_ratio", outcome.payload_ratio, "");
      builder.Add("step", "step_seconds", outcome.step_seconds, "s");
      const double faster = base.step_seconds.mean / outcome.step_seconds.mean;
      builder.Show("steps faster", ShowNumber(faster));
      builder.Raw("steps_faster", faster);
      if (!study.target) continue;
      builder.Add("final " + metric.title, "final_metric", outcome.final_metric, metric.Unit());
      builder.Show(metric.fraction ? "points" : "difference", ShowFinalDifference(study, outcome));
      builder.Raw("metric_difference_mean", outcome.metric_difference.mean);
      builder.Raw("metric_difference", MeanInterval(outcome.metric_difference));
      builder.Show("time to " + ShowValue(metric, study.target->value), ShowTime(outcome));
      builder.Raw("time_to_target_mean", outcome.time_to_target.mean);
      builder.Show("times faster", ShowAgainstBaseline(study, outcome));
      builder.Raw("speedup", outcome.speedup.ratio);
      builder.Raw("speedup", outcome.speedup.interval);
    }
  }
  return builder.Take();
}

const char* BoundText(const Speedup& speedup) {
  if (!speedup.known()) return "";
  if (speedup.bound == Bound::kAtLeast) return "at_least";
  return speedup.bound == Bound::kAtMost ? "at_most" : "exact";
}

void FillTime(const Study& study, const Outcome& outcome, Builder& builder) {
  const bool censored = outcome.done > outcome.reached;
  builder.Raw("seeds_reached", outcome.reached);
  builder.Show("TTA", ShowTime(outcome));
  builder.Raw("time_to_target_mean", outcome.time_to_target.mean);
  builder.Raw("time_to_target_deviation", outcome.time_to_target.deviation);
  builder.Raw("time_to_target_at_least", censored ? outcome.time_bound : kUnknown);
  builder.Show("speed-up over " + study.baseline, ShowAgainstBaseline(study, outcome));
  builder.Raw("speedup", outcome.speedup.ratio);
  builder.Raw("speedup_bound", BoundText(outcome.speedup));
  builder.Raw("speedup", outcome.speedup.interval);
  builder.Raw("speedup_pairs", static_cast<int>(outcome.speedup.pairs.size()));
  builder.Raw("missed_by_both", outcome.speedup.missed_by_both);
}

void FillStep(const Study&, const Outcome& outcome, Builder& builder) {
  builder.Add("step", "step_seconds", outcome.step_seconds, "s");
  const bool known = outcome.done > 0;
  const auto add = [&](const char* header, const char* name, double seconds) {
    builder.Show(header, known ? ShowQuantity(seconds, "s") : "-");
    builder.Raw(name, known ? seconds : kUnknown);
  };
  add("compute", "compute_seconds", outcome.step.compute);
  add("encode", "encode_seconds", outcome.step.encode);
  add("communication", "communication_seconds", outcome.step.communication);
  add("decode", "decode_seconds", outcome.step.decode);
  add("wait", "wait_seconds", outcome.step.wait);
  add("textbook's step", "alpha_beta_step_seconds", outcome.alpha_beta_step_seconds);
}

void FillVolume(const Study& study, const Outcome& outcome, Builder& builder) {
  builder.Add("element ratio", "element_ratio", outcome.element_ratio, "");
  builder.Add("payload ratio", "payload_ratio", outcome.payload_ratio, "");
  builder.Add("traffic ratio", "traffic_ratio", outcome.traffic_ratio, "");
  builder.Add("encoded", "message_bytes", outcome.message_bytes, "B");
  builder.Add("sent", "nic_bytes", outcome.nic_bytes, "B");
  builder.Add("sent to the target", "nic_bytes_to_target", outcome.nic_bytes_to_target, "B");
  const Metric metric = ShownMetric(study);
  const auto show = [&](const std::string& header, const std::string& text) {
    if (!metric.name.empty()) builder.Show(header, text);  // else nothing was trained
  };
  show("final " + metric.title, ShowSpread(outcome.final_metric, metric.Unit()));
  builder.Raw("final_metric", outcome.final_metric);
  show("best " + metric.title, ShowSpread(outcome.best_metric, metric.Unit()));
  builder.Raw("best_metric", outcome.best_metric);
  show((metric.fraction ? "points over " : "difference from ") + study.baseline,
       ShowFinalDifference(study, outcome));
  builder.Raw("metric_difference_mean", outcome.metric_difference.mean);
  builder.Raw("metric_difference_deviation", outcome.metric_difference.deviation);
  builder.Raw("metric_difference", MeanInterval(outcome.metric_difference));
  builder.Raw("metric_difference_pairs", outcome.metric_difference.count);
  builder.Raw("decisions", outcome.decisions ? std::to_string(*outcome.decisions) : std::string());
}

void FillEgress(const Study&, const Outcome& outcome, Builder& builder) {
  builder.Add("egress", "egress_usd", outcome.egress_usd, "USD");
}

// Returns what the seeds do where not all of them cross once: "2 of 3 seeds cross".
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
                   Builder& builder) {
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

StudyTable BreakEvenTable(const Study& study) {
  Builder builder(
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

StudyTable FailedTable(const Study& study, const std::vector<Place>& places) {
  Builder builder("failed", "Points that failed");
  for (const Place& place : places) {
    for (const Outcome& outcome : place.outcomes) {
      for (const int64_t id : outcome.points) {
        if (id < 0 || study.points[static_cast<size_t>(id)].state != StudyState::kFailed) continue;
        const StudyPoint& point = study.points[static_cast<size_t>(id)];
        builder.Row();
        builder.Show("point", std::to_string(id));
        builder.Raw("point", std::to_string(id));
        AddAxes(study, place.values, builder);
        builder.Text("method", "policy", point.policy);
        builder.Text("seed", "seed", std::to_string(point.seed));
        builder.Text("message", "message", point.message);
      }
    }
  }
  return builder.Take();
}

std::vector<Place> PricedPlaces(std::vector<Place> places) {
  std::erase_if(places, [](const Place& place) {
    return std::ranges::none_of(place.outcomes,
                                [](const Outcome& o) { return o.egress_usd.count > 0; });
  });
  return places;
}

// Explains marked names in the title, where there are any.
void ExplainMark(StudyTable& table) {
  for (const std::vector<std::string>& row : table.rows) {
    for (const std::string& cell : row) {
      if (!cell.ends_with(kIdleMark)) continue;
      table.title += std::string("; ") + kIdleLegend;
      return;
    }
  }
}

}  // namespace

std::vector<StudyTable> StudyTables(const Study& study) {
  const std::vector<Place> places = PlacesOf(study);
  const Metric metric = ShownMetric(study);
  std::vector<StudyTable> tables = {SummaryTable(study, places)};
  if (study.target) {
    tables.push_back(PlaceTable(
        study, places,
        Builder("time_to_target",
                fmt::format("Simulated time to {} (TTA): mean ± deviation over seeds; "
                            "speed-up by pairs of seeds: geometric mean with its 95 % interval",
                            ShowTarget(metric, study.target->value))),
        FillTime));
    tables.push_back(BreakEvenTable(study));
  }
  tables.push_back(PlaceTable(
      study, places, Builder("step", "Where the time of a step goes: means of a step"), FillStep));
  tables.push_back(PlaceTable(
      study, places,
      Builder(
          "volume",
          metric.name.empty()
              ? "Volume: ratios against dense fp32; bytes of one worker over the training"
              : fmt::format("Volume and {0}: ratios against dense fp32; bytes of one worker over "
                            "the training; final {0} less the baseline's{1}, by pairs of seeds, "
                            "with its 95 % interval",
                            metric.title, metric.fraction ? " in points" : "")),
      FillVolume));
  tables.push_back(PlaceTable(study, PricedPlaces(places),
                              Builder("egress", "Price of the bytes that left a region"),
                              FillEgress));
  tables.push_back(FailedTable(study, places));
  std::erase_if(tables, [](const StudyTable& table) { return table.rows.empty(); });
  for (StudyTable& table : tables) ExplainMark(table);
  return tables;
}

const StudyTable& TableNamed(const std::vector<StudyTable>& tables, const std::string& name) {
  std::vector<std::string> names;
  for (const StudyTable& table : tables) {
    if (table.name == name) return table;
    names.push_back(table.name);
  }
  throw Error("table", name, fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace legacy::analysis
