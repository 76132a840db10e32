// Figures of the metric against bytes sent and against simulated time: mean curves over the seeds
// with a band, at some places.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "analysis/study/words.h"

namespace legacy::analysis {
namespace {

constexpr int kMarksOnCurve = 7;
constexpr double kLowestBand = 10;  // a band on a logarithmic axis ends at this part of the mean

struct Against {
  const char* name;  // name of the figure
  const char* cost_name;
  const char* label;
  const char* unit;
  double CurveRow::*cost;
  size_t choices;
};
constexpr Against kBytes = {
    "metric-bytes", "bytes sent", "bytes out of one worker's NIC", "B", &CurveRow::nic_bytes, 1};
constexpr Against kTime = {
    "metric-time", "simulated time", "simulated time", "s", &CurveRow::simulated_seconds, 3};

struct MeanPoint {
  double cost = 0;
  Spread value;  // values of the metric

  // Returns the ends of the band: the mean and its deviation to either side. It stays above 0 on a
  // logarithmic axis.
  Range Band(bool logarithmic) const {
    const double low = value.mean - DeviationOf(value);
    Range band;
    band.low = logarithmic ? std::max(low, value.mean / kLowestBand) : low;
    band.high = value.mean + DeviationOf(value);
    return band;
  }
};

// Returns the mean curve over the seeds that are done, at the steps that all of them evaluated.
std::vector<MeanPoint> MeanCurve(const Study& study, const Outcome& outcome,
                                 double CurveRow::*cost) {
  std::map<int64_t, std::vector<const CurveRow*>> rows;
  for (const int64_t id : outcome.points) {
    if (id < 0 || study.points[static_cast<size_t>(id)].state != StudyState::kDone) continue;
    for (const CurveRow& row : study.points[static_cast<size_t>(id)].curve) {
      rows[row.step].push_back(&row);
    }
  }
  const size_t position = ShownPosition(study);
  std::vector<MeanPoint> curve;
  for (const auto& [step, seeds] : rows) {
    if (static_cast<int>(seeds.size()) != outcome.done) continue;
    std::vector<double> costs, values;
    for (const CurveRow* row : seeds) {
      costs.push_back(row->*cost);
      values.push_back(row->metrics.at(position));
    }
    curve.push_back({SpreadOf(costs).mean, SpreadOf(values)});
  }
  return curve;
}

struct PanelCurves {
  std::string name;
  std::vector<std::vector<MeanPoint>> curves;  // curves of each of the study's policies
  Range ends;                                  // where the curves end
  Range x;
  bool logarithmic = false;
};

// Returns the curves of a place, without the range of their axis, which is logarithmic if they end
// far apart.
PanelCurves CurvesOf(const Study& study, const ShownPlace& shown, const Against& against) {
  PanelCurves panel;
  panel.name = shown.name;
  for (const Outcome& outcome : shown.place.outcomes) {
    panel.curves.push_back(MeanCurve(study, outcome, against.cost));
    if (panel.curves.back().empty()) continue;
    panel.ends.Add(panel.curves.back().back().cost);
  }
  panel.logarithmic = panel.ends.low > 0 && panel.ends.high > kLogRatio * panel.ends.low;
  return panel;
}

// Sets the range of the axis, which is logarithmic if that of any panel is and all its values are
// positive.
void SetRange(bool any_logarithmic, PanelCurves& panel) {
  panel.logarithmic = any_logarithmic && panel.ends.low > 0;
  for (const auto& curve : panel.curves) {
    for (const MeanPoint& point : curve) {
      if (!panel.logarithmic || point.cost > 0) panel.x.Add(point.cost);
    }
  }
  if (!panel.logarithmic && !panel.x.empty()) panel.x.Add(0);
}

// A MetricAxis is the axis on which the metric is drawn.
struct MetricAxis {
  Metric metric;
  Range range;  // of all curves and the target, as they are shown
  bool logarithmic = false;
};

std::string CurvesPanel(const Study& study, const PanelCurves& panel, const PolicyGroup& group,
                        const Against& against, const MetricAxis& axis, DataFile& data) {
  const double scale = axis.metric.Scale();
  std::vector<std::string> bands, lines;
  for (const size_t p : group.policies) {
    std::vector<std::vector<std::string>> rows;
    for (const MeanPoint& point : panel.curves[p]) {
      if (panel.logarithmic && point.cost <= 0) continue;
      const Range band = point.Band(axis.logarithmic);
      rows.push_back({Cell(point.cost), Cell(scale * point.value.mean), Cell(scale * band.low),
                      Cell(scale * band.high)});
    }
    if (rows.empty()) continue;
    const PolicyStyle style = StyleOf(study, p);
    const std::string source = data.Add(
        study.policies[p] + ", " + panel.name,
        {fmt::format("{}_[{}]", against.cost == kBytes.cost ? "bytes" : "seconds", against.unit),
         axis.metric.fraction ? "percent" : axis.metric.name, "low", "high"},
        rows);
    if (study.seeds.size() > 1) {
      bands.push_back(fmt::format(
          "{} using 1:3:4 with filledcurves fs transparent solid 0.15 noborder lc rgb '{}'", source,
          style.colour));
    }
    const int interval = std::max(1, static_cast<int>(rows.size()) / kMarksOnCurve);
    lines.push_back(fmt::format("{} using 1:2 with linespoints {} lw 1.5 ps 0.6 pointinterval {}",
                                source, CurveStyle(style), interval));
  }
  bands.insert(bands.end(), lines.begin(), lines.end());
  if (study.target) {
    bands.push_back(CsvNumber(study.target->value * scale) +
                    " with lines lc rgb '#666666' dt 3 lw 1.3");
  }
  if (bands.empty()) bands.push_back("NaN");
  return GroupTitle(panel.name, group) + Plot(bands);
}

// Returns the axis of the metric. It is logarithmic where a linear one would hide the small values
// of a metric that is not a fraction.
MetricAxis AxisOf(const Study& study, const std::vector<PanelCurves>& shown) {
  MetricAxis axis;
  axis.metric = ShownMetric(study);
  Range values;
  for (const PanelCurves& panel : shown) {
    for (const auto& curve : panel.curves) {
      for (const MeanPoint& point : curve) values.Add(point.value.mean);
    }
  }
  axis.logarithmic =
      !axis.metric.fraction && CanBeLogarithmic(values) && values.high > kLogRatio * values.low;
  for (const PanelCurves& panel : shown) {
    for (const auto& curve : panel.curves) {
      for (const MeanPoint& point : curve) {
        const Range band = point.Band(axis.logarithmic);
        axis.range.Add(axis.metric.Scale() * band.low);
        axis.range.Add(axis.metric.Scale() * band.high);
      }
    }
  }
  if (study.target) axis.range.Add(axis.metric.Scale() * study.target->value);
  return axis;
}

std::vector<PolicyGroup> GroupsIn(const Study& study, const std::vector<PanelCurves>& shown) {
  std::vector<bool> drawn;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    drawn.push_back(std::ranges::any_of(
        shown, [p](const PanelCurves& panel) { return !panel.curves[p].empty(); }));
  }
  return GroupsOf(study, drawn);
}

Legend LegendOf(const Study& study, const PolicyGroup& all) {
  Legend legend;
  for (const size_t policy : all.policies) legend.AddLine(study, policy);
  if (study.target) {
    legend.texts.push_back("target " + ShowValue(ShownMetric(study), study.target->value));
    legend.entries.push_back(fmt::format(
        "keyentry with lines lc rgb '#666666' dt 3 lw 1.3 title {}", Quote(legend.texts.back())));
  }
  return legend;
}

// Returns whether some curve crosses the target earlier than the time to target that is given for
// its policy.
bool AnyCrossesEarlier(const Study& study, const std::vector<PanelCurves>& shown) {
  const auto crosses = [&](const std::vector<MeanPoint>& curve) {
    std::vector<double> values;
    for (const MeanPoint& point : curve) values.push_back(point.value.mean);
    return CrossesEarlier(ShownMetric(study), study.target->value, values);
  };
  return study.target && std::ranges::any_of(shown, [&](const PanelCurves& panel) {
           return std::ranges::any_of(panel.curves, crosses);
         });
}

std::vector<CurveEnd> EndsOf(const PanelCurves& panel, const PolicyGroup& group, double scale) {
  std::vector<CurveEnd> ends;
  for (const size_t p : group.policies) {
    if (panel.curves[p].empty()) continue;
    const MeanPoint& last = panel.curves[p].back();
    ends.push_back({p, last.cost, scale * last.value.mean});
  }
  return ends;
}

std::vector<StudyFigure> CurvesFigure(const Study& study, const FigureOptions& options,
                                      const Against& against) {
  if (study.metrics.empty()) return {};
  std::vector<PanelCurves> shown;
  StudyFigure figure;
  const std::vector<ShownPlace> places =
      ShownPlaces(study, against.choices, options.facets, figure.note);
  for (const ShownPlace& place : places) {
    PanelCurves panel = CurvesOf(study, place, against);
    if (panel.ends.empty()) continue;
    shown.push_back(std::move(panel));
    if (against.cost == kBytes.cost) figure.words.push_back(MetricWords(study, place.place));
  }
  const bool logarithmic = std::ranges::any_of(shown, &PanelCurves::logarithmic);
  for (PanelCurves& panel : shown) SetRange(logarithmic, panel);
  if (shown.empty()) return {};
  const std::vector<PolicyGroup> groups = GroupsIn(study, shown);
  Panels::Size size;
  if (shown.size() == 2 || shown.size() == 4) size = {.width = 430, .height = 320};
  const bool labelled = shown.size() == 1 || groups.size() > 1;
  if (labelled) size = GroupSize(study, groups);
  const bool rows = groups.size() == 1 && shown.size() == places.size();
  const Panels panels(shown.size() * groups.size(), size,
                      labelled ? Legend{} : LegendOf(study, groups.front()),
                      rows ? ColumnsOf(places) : GroupColumns(shown.size(), groups.size()));
  DataFile data(against.name);
  const MetricAxis axis = AxisOf(study, shown);
  const Metric& metric = axis.metric;
  std::vector<std::string> drawn;
  for (const PolicyGroup& group : groups) {
    for (const PanelCurves& panel : shown) {
      std::string settings = SetAxis("x", panel.x, against.unit, panel.logarithmic) +
                             SetAxis("y", axis.range, "", axis.logarithmic);
      if (labelled) {
        settings += EndLabels(study, EndsOf(panel, group, metric.Scale()), axis.range,
                              axis.logarithmic, size);
      }
      drawn.push_back(settings + CurvesPanel(study, panel, group, against, axis, data));
    }
  }
  figure.kind = FigureKind::kMetric;
  figure.name = against.name;
  figure.heading = fmt::format("Test {} against {}", metric.title, against.cost_name);
  std::string note = SeedsNote(study, "bands");
  if (labelled && study.target) {
    note += "; dotted: target " + ShowValue(metric, study.target->value);
  }
  if (AnyCrossesEarlier(study, shown)) note += fmt::format("; {}", kTargetNote);
  figure.script = panels.Figure(figure.name, figure.heading, note,
                                {AxisLabel(against.label, against.unit, logarithmic),
                                 AxisLabel("test " + MetricLabel(metric), "", axis.logarithmic)},
                                drawn);
  figure.data = data.text();
  return {figure};
}

}  // namespace

std::vector<StudyFigure> MetricFigures(const Study& study, const FigureOptions& options) {
  std::vector<StudyFigure> figures = CurvesFigure(study, options, kBytes);
  for (StudyFigure& figure : CurvesFigure(study, options, kTime)) {
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace legacy::analysis
