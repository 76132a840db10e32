// Accuracy against bytes sent and against simulated time: mean curves over the seeds with a band,
// at some places.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/policy_style.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "analysis/study/words.h"

namespace legacy::analysis {
namespace {

constexpr int kMarksOnCurve = 7;
constexpr double kLogRatio =
    5;  // of the longest to the shortest curve, above which x is logarithmic

struct Against {
  const char* name;  // of the figure
  const char* heading;
  const char* label;
  const char* unit;
  double CurveRow::*cost;
  size_t choices;
};
constexpr Against kBytes = {"accuracy-bytes",
                            "Test accuracy against bytes sent",
                            "bytes out of one worker's network card",
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

// Over the seeds that are done, at the steps that all of them evaluated.
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
  std::vector<std::vector<MeanPoint>> curves;  // of each of the study's policies
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

double DeviationOf(const Spread& spread) {
  return std::isnan(spread.deviation) ? 0 : spread.deviation;
}

std::string CurvesPanel(const Study& study, const PanelCurves& panel, const Against& against,
                        DataFile& data) {
  std::vector<std::string> bands, lines;
  for (size_t p = 0; p < panel.curves.size(); ++p) {
    std::vector<std::vector<std::string>> rows;
    for (const MeanPoint& point : panel.curves[p]) {
      if (panel.logarithmic && point.cost <= 0) continue;
      const double deviation = DeviationOf(point.accuracy);
      rows.push_back({Cell(point.cost), Cell(100 * point.accuracy.mean),
                      Cell(100 * (point.accuracy.mean - deviation)),
                      Cell(100 * (point.accuracy.mean + deviation))});
    }
    if (rows.empty()) continue;
    const PolicyStyle style = StyleOfPolicy(p);
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
    lines.push_back(fmt::format(
        "{} using 1:2 with linespoints lc rgb '{}' dt {} lw 1.5 pt {} ps 0.6 pointinterval {}",
        source, style.colour, style.dashes, style.point_type, interval));
  }
  bands.insert(bands.end(), lines.begin(), lines.end());
  if (study.target) {
    bands.push_back(CsvNumber(*study.target * 100) + " with lines lc rgb '#666666' dt 3 lw 1.3");
  }
  return PanelTitle(panel.name) + Plot(bands);
}

// Of all curves and the target, percent.
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

struct Legend {
  std::vector<std::string> entries;
  std::vector<std::string> texts;
};

Legend LegendOf(const Study& study, const std::vector<PanelCurves>& shown) {
  Legend legend;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    if (std::any_of(shown.begin(), shown.end(),
                    [p](const PanelCurves& panel) { return !panel.curves[p].empty(); })) {
      legend.entries.push_back(LineEntry(study, p));
      legend.texts.push_back(PolicyLabel(study, p));
    }
  }
  if (study.target) {
    legend.texts.push_back(fmt::format("target {}", ShowQuantity(*study.target, "fraction")));
    legend.entries.push_back(fmt::format(
        "keyentry with lines lc rgb '#666666' dt 3 lw 1.3 title {}", Quote(legend.texts.back())));
  }
  return legend;
}

std::vector<std::string> DrawPanels(const Study& study, const std::vector<PanelCurves>& shown,
                                    const Against& against, const Panels& panels, DataFile& data) {
  const Range y = AccuracyRange(study, shown);
  std::vector<std::string> drawn;
  for (size_t i = 0; i < shown.size(); ++i) {
    drawn.push_back(
        SetAxis("x", shown[i].x, against.unit, shown[i].logarithmic) + SetAxis("y", y, "", false) +
        fmt::format("set xlabel {} font ',11' offset 0,0.4\nset ylabel {} font ',11' offset 1,0\n",
                    Quote(panels.AtBottom(i) ? AxisLabel(against.label, against.unit) : ""),
                    Quote(panels.AtLeft(i) ? "test accuracy [%]" : "")) +
        CurvesPanel(study, shown[i], against, data));
  }
  return drawn;
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
  Panels::Size size;
  if (shown.size() == 1) size = {.width = 620, .height = 400};
  if (shown.size() == 2 || shown.size() == 4) size = {.width = 430, .height = 320};
  const Legend legend = LegendOf(study, shown);
  const Panels panels(shown.size(), size, legend.texts,
                      shown.size() == places.size() ? ColumnsOf(places) : 0);
  DataFile data(against.name);
  figure.kind = FigureKind::kAccuracy;
  figure.name = against.name;
  figure.heading = against.heading;
  figure.script = panels.Figure(figure.name, figure.heading, SeedsNote(study, "bands"),
                                DrawPanels(study, shown, against, panels, data), legend.entries);
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
