// Figures of accuracy against bytes sent and against simulated time: mean curves over the seeds
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

struct Against {
  const char* name;  // name of the figure
  const char* heading;
  const char* label;
  const char* unit;
  double CurveRow::*cost;
  size_t choices;
};
constexpr Against kBytes = {"accuracy-bytes",
                            "Test accuracy against bytes sent",
                            "bytes out of one worker's NIC",
                            "B",
                            &CurveRow::nic_bytes,
                            1};
constexpr Against kTime = {"accuracy-time",
                           "Test accuracy against simulated time",
                           "simulated time",
                           "s",
                           &CurveRow::simulated_seconds,
                           3};

struct MeanPoint {
  double cost = 0;
  Spread accuracy;
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
  std::vector<MeanPoint> curve;
  for (const auto& [step, seeds] : rows) {
    if (static_cast<int>(seeds.size()) != outcome.done) continue;
    std::vector<double> costs, accuracies;
    for (const CurveRow* row : seeds) {
      costs.push_back(row->*cost);
      accuracies.push_back(row->test_accuracy);
    }
    curve.push_back({SpreadOf(costs).mean, SpreadOf(accuracies)});
  }
  return curve;
}

struct PanelCurves {
  std::string name;
  std::vector<std::vector<MeanPoint>> curves;  // curves of each of the study's policies
  Range x;
  bool logarithmic = false;
};

PanelCurves CurvesOf(const Study& study, const ShownPlace& shown, const Against& against) {
  PanelCurves panel;
  panel.name = shown.name;
  Range ends;
  for (const Outcome& outcome : shown.place.outcomes) {
    panel.curves.push_back(MeanCurve(study, outcome, against.cost));
    if (panel.curves.back().empty()) continue;
    ends.Add(panel.curves.back().back().cost);
  }
  panel.logarithmic = ends.low > 0 && ends.high > kLogRatio * ends.low;
  for (const auto& curve : panel.curves) {
    for (const MeanPoint& point : curve) {
      if (!panel.logarithmic || point.cost > 0) panel.x.Add(point.cost);
    }
  }
  if (!panel.logarithmic && !panel.x.empty()) panel.x.Add(0);
  return panel;
}

std::string CurvesPanel(const Study& study, const PanelCurves& panel, const PolicyGroup& group,
                        const Against& against, DataFile& data) {
  std::vector<std::string> bands, lines;
  for (const size_t p : group.policies) {
    std::vector<std::vector<std::string>> rows;
    for (const MeanPoint& point : panel.curves[p]) {
      if (panel.logarithmic && point.cost <= 0) continue;
      const double deviation = DeviationOf(point.accuracy);
      rows.push_back({Cell(point.cost), Cell(100 * point.accuracy.mean),
                      Cell(100 * (point.accuracy.mean - deviation)),
                      Cell(100 * (point.accuracy.mean + deviation))});
    }
    if (rows.empty()) continue;
    const PolicyStyle style = StyleOf(study, p);
    const std::string source = data.Add(
        study.policies[p] + ", " + panel.name,
        {fmt::format("{}_[{}]", against.cost == kBytes.cost ? "bytes" : "seconds", against.unit),
         "percent", "low", "high"},
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
    bands.push_back(CsvNumber(*study.target * 100) + " with lines lc rgb '#666666' dt 3 lw 1.3");
  }
  if (bands.empty()) bands.push_back("NaN");
  return GroupTitle(panel.name, group) + Plot(bands);
}

// Returns the range of all curves and the target, in percent.
Range AccuracyRange(const Study& study, const std::vector<PanelCurves>& shown) {
  Range range;
  for (const PanelCurves& panel : shown) {
    for (const auto& curve : panel.curves) {
      for (const MeanPoint& point : curve) {
        range.Add(100 * (point.accuracy.mean - DeviationOf(point.accuracy)));
        range.Add(100 * (point.accuracy.mean + DeviationOf(point.accuracy)));
      }
    }
  }
  if (study.target) range.Add(100 * *study.target);
  return range;
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
    legend.texts.push_back(fmt::format("target {}", ShowQuantity(*study.target, "fraction")));
    legend.entries.push_back(fmt::format(
        "keyentry with lines lc rgb '#666666' dt 3 lw 1.3 title {}", Quote(legend.texts.back())));
  }
  return legend;
}

std::vector<CurveEnd> EndsOf(const PanelCurves& panel, const PolicyGroup& group) {
  std::vector<CurveEnd> ends;
  for (const size_t p : group.policies) {
    if (panel.curves[p].empty()) continue;
    const MeanPoint& last = panel.curves[p].back();
    ends.push_back({p, last.cost, 100 * last.accuracy.mean});
  }
  return ends;
}

std::vector<StudyFigure> CurvesFigure(const Study& study, const FigureOptions& options,
                                      const Against& against) {
  std::vector<PanelCurves> shown;
  StudyFigure figure;
  const std::vector<ShownPlace> places =
      ShownPlaces(study, against.choices, options.facets, figure.note);
  for (const ShownPlace& place : places) {
    PanelCurves panel = CurvesOf(study, place, against);
    if (panel.x.empty()) continue;
    shown.push_back(std::move(panel));
    if (against.cost == kBytes.cost) figure.words.push_back(AccuracyWords(study, place.place));
  }
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
  const Range y = AccuracyRange(study, shown);
  std::vector<std::string> drawn;
  for (const PolicyGroup& group : groups) {
    for (const PanelCurves& panel : shown) {
      std::string settings =
          SetAxis("x", panel.x, against.unit, panel.logarithmic) + SetAxis("y", y, "", false);
      if (labelled) settings += EndLabels(study, EndsOf(panel, group), y, false, size);
      drawn.push_back(settings + CurvesPanel(study, panel, group, against, data));
    }
  }
  figure.kind = FigureKind::kAccuracy;
  figure.name = against.name;
  figure.heading = against.heading;
  std::string note = SeedsNote(study, "bands");
  if (labelled && study.target) {
    note += fmt::format("; dotted: target {}", ShowQuantity(*study.target, "fraction"));
  }
  figure.script =
      panels.Figure(figure.name, figure.heading, note,
                    {AxisLabel(against.label, against.unit), "test accuracy [%]"}, drawn);
  figure.data = data.text();
  return {figure};
}

}  // namespace

std::vector<StudyFigure> AccuracyFigures(const Study& study, const FigureOptions& options) {
  std::vector<StudyFigure> figures = CurvesFigure(study, options, kBytes);
  for (StudyFigure& figure : CurvesFigure(study, options, kTime)) {
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace legacy::analysis
