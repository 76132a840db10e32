#include "analysis/study/study_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/study/break_even_table.h"
#include "analysis/study/gains.h"
#include "analysis/study/quantities.h"
#include "analysis/study/statistics.h"
#include "analysis/study/table_builder.h"
#include "base/error.h"

namespace legacy::analysis {
namespace {

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

void AddAxis(const StudyAxis& axis, size_t value, TableBuilder& builder) {
  const bool numbers = !axis.numbers.empty();
  builder.Show(ShowAxisName(axis), ShowValue(axis, value), numbers);
  builder.Raw(axis.name, axis.values[value]);
  if (numbers) builder.Raw(axis.name + "_number", axis.numbers[value]);
}

void AddAxes(const Study& study, const std::vector<size_t>& values, TableBuilder& builder) {
  for (size_t a = 0; a < study.axes.size(); ++a) AddAxis(study.axes[a], values[a], builder);
}

// Returns a table with one row for each policy at each place. fill(study, outcome, builder) adds
// the cells after the names.
template <class Fill>
StudyTable PlaceTable(const Study& study, const std::vector<Place>& places, TableBuilder builder,
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
  TableBuilder builder(
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

void FillTime(const Study& study, const Outcome& outcome, TableBuilder& builder) {
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

void FillStep(const Study&, const Outcome& outcome, TableBuilder& builder) {
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

void FillVolume(const Study& study, const Outcome& outcome, TableBuilder& builder) {
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

void FillEgress(const Study&, const Outcome& outcome, TableBuilder& builder) {
  builder.Add("egress", "egress_usd", outcome.egress_usd, "USD");
}

StudyTable FailedTable(const Study& study, const std::vector<Place>& places) {
  TableBuilder builder("failed", "Points that failed");
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

// Explains marked names in the title, if there are any.
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
        TableBuilder(
            "time_to_target",
            fmt::format("Simulated time to {} (TTA): mean ± deviation over seeds; "
                        "speed-up by pairs of seeds: geometric mean with its 95 % interval",
                        ShowTarget(metric, study.target->value))),
        FillTime));
    tables.push_back(GainsTable(study, places));
    tables.push_back(BreakEvenTable(study));
  }
  tables.push_back(
      PlaceTable(study, places,
                 TableBuilder("step", "Where the time of a step goes: means of a step"), FillStep));
  tables.push_back(PlaceTable(
      study, places,
      TableBuilder(
          "volume",
          metric.name.empty()
              ? "Volume: ratios against dense fp32; bytes of one worker over the training"
              : fmt::format("Volume and {0}: ratios against dense fp32; bytes of one worker over "
                            "the training; final {0} less the baseline's{1}, by pairs of seeds, "
                            "with its 95 % interval",
                            metric.title, metric.fraction ? " in points" : "")),
      FillVolume));
  tables.push_back(PlaceTable(study, PricedPlaces(places),
                              TableBuilder("egress", "Price of the bytes that left a region"),
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
