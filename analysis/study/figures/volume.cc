// Figure of the final metric against bytes a step: one curve for each policy over the values of an
// axis that determines how much policies send.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"

namespace legacy::analysis {
namespace {

// Least ratio of a policy's most to its fewest bytes along an axis that determines how much it
// sends.
constexpr double kLeastChange = 1.2;
constexpr const char* kNoTrend = "; marks without a line: too few values for a trend";
constexpr size_t kLeastTrend = 3;  // fewest points that have a line: two show no trend

struct VolumePoint {
  double bytes = 0;  // bytes of one worker's messages in a step
  Spread value;      // values of the metric
};

// Returns the curve of a policy along the facet, by ascending bytes.
std::vector<VolumePoint> CurveOf(const Facet& facet, size_t policy) {
  std::vector<VolumePoint> curve;
  for (const Place& place : facet.places) {
    const Outcome& outcome = place.outcomes[policy];
    if (outcome.done == 0 || !(outcome.steps > 0)) continue;
    curve.push_back({outcome.message_bytes.mean / outcome.steps, outcome.final_metric});
  }
  std::ranges::sort(curve, {}, &VolumePoint::bytes);
  return curve;
}

bool Changes(const std::vector<VolumePoint>& curve) {
  return !curve.empty() && curve.back().bytes > kLeastChange * curve.front().bytes;
}

bool HasLine(const std::vector<VolumePoint>& curve) { return curve.size() >= kLeastTrend; }

struct VolumePanel {
  std::string name;
  std::vector<std::vector<VolumePoint>> curves;  // curves of each of the study's policies
};

// Returns the panels of an axis. There are none if most policies send the same along it: the axis
// then determines something else, to which some policies adapt.
std::vector<VolumePanel> PanelsOf(const Study& study, size_t axis, size_t limit,
                                  std::string& note) {
  std::vector<VolumePanel> panels;
  int changing = 0, all = 0;
  for (const Facet& facet : ShownFacets(study, axis, limit, note)) {
    VolumePanel panel{facet.name, {}};
    for (size_t p = 0; p < study.policies.size(); ++p) {
      panel.curves.push_back(CurveOf(facet, p));
      if (panel.curves.back().size() < 2) continue;
      ++all;
      if (Changes(panel.curves.back())) ++changing;
    }
    panels.push_back(std::move(panel));
  }
  return 2 * changing > all ? panels : std::vector<VolumePanel>();
}

std::string DrawPanel(const Study& study, const VolumePanel& panel, DataFile& data) {
  const Metric metric = ShownMetric(study);
  std::vector<std::string> parts;
  for (size_t p = 0; p < panel.curves.size(); ++p) {
    std::vector<std::vector<std::string>> rows;
    for (const VolumePoint& point : panel.curves[p]) {
      const double deviation = DeviationOf(point.value);
      rows.push_back({Cell(point.bytes), Cell(metric.Scale() * point.value.mean),
                      Cell(metric.Scale() * (point.value.mean - deviation)),
                      Cell(metric.Scale() * (point.value.mean + deviation))});
    }
    if (rows.empty()) continue;
    const std::string heading =
        fmt::format("{}, {}", study.policies[p], panel.name.empty() ? "-" : panel.name);
    const PolicyStyle style = StyleOf(study, p);
    const bool line = HasLine(panel.curves[p]);
    parts.push_back(fmt::format(
        "{} using 1:2:3:4 with {} {} lw 1.6 ps {}",
        data.Add(heading,
                 {"bytes_a_step", metric.fraction ? "percent" : metric.name, "low", "high"}, rows),
        line ? "yerrorlines" : "yerrorbars", line ? CurveStyle(style) : MarkStyle(style),
        line ? 0.6 : 0.9));
  }
  return PanelTitle(panel.name) + Plot(parts);
}

struct VolumeAxes {
  Range x, y;
};

VolumeAxes AxesOf(const Metric& metric, const std::vector<VolumePanel>& panels) {
  VolumeAxes axes;
  for (const VolumePanel& panel : panels) {
    for (const auto& curve : panel.curves) {
      for (const VolumePoint& point : curve) {
        axes.x.Add(point.bytes);
        axes.y.Add(metric.Scale() * (point.value.mean - DeviationOf(point.value)));
        axes.y.Add(metric.Scale() * (point.value.mean + DeviationOf(point.value)));
      }
    }
  }
  return axes;
}

StudyFigure FigureOf(const Study& study, size_t axis, const std::vector<VolumePanel>& shown) {
  std::vector<std::string> drawn;
  Legend legend;
  bool marks_alone = false;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    const auto has = [p](const VolumePanel& panel) { return !panel.curves[p].empty(); };
    const auto line = [p](const VolumePanel& panel) { return HasLine(panel.curves[p]); };
    if (!std::ranges::any_of(shown, has)) continue;
    legend.AddLine(study, p, std::ranges::any_of(shown, line));
    marks_alone |= std::ranges::any_of(
        shown, [&](const VolumePanel& panel) { return has(panel) && !line(panel); });
  }
  Panels::Size size;
  if (shown.size() == 1) size = {.width = 620, .height = 400};
  const Panels panels(shown.size(), size, std::move(legend));
  const Metric metric = ShownMetric(study);
  StudyFigure figure;
  figure.kind = FigureKind::kVolume;
  figure.name = "metric-volume-" + study.axes[axis].name;
  figure.heading =
      fmt::format("Final {} against bytes a step, over {}", metric.title, study.axes[axis].name);
  figure.axes = {study.axes[axis].name};
  DataFile data(figure.name);
  const VolumeAxes axes = AxesOf(metric, shown);
  for (const VolumePanel& panel : shown) {
    drawn.push_back(SetAxis("x", axes.x, "B", CanBeLogarithmic(axes.x)) +
                    SetAxis("y", axes.y, "", false) + DrawPanel(study, panel, data));
  }
  figure.script = panels.Figure(
      figure.name, figure.heading, SeedsNote(study, "bars") + (marks_alone ? kNoTrend : ""),
      {AxisLabel("one worker's messages, a step", "B", CanBeLogarithmic(axes.x)),
       "final test " + MetricLabel(metric)},
      drawn);
  figure.data = data.text();
  return figure;
}

}  // namespace

std::vector<StudyFigure> VolumeFigures(const Study& study, const FigureOptions& options) {
  std::vector<StudyFigure> figures;
  if (study.metrics.empty()) return figures;
  for (const size_t axis : NumericAxes(study)) {
    std::string note;
    const std::vector<VolumePanel> panels = PanelsOf(study, axis, options.facets, note);
    if (panels.empty()) continue;
    figures.push_back(FigureOf(study, axis, panels));
    figures.back().note = note;
  }
  return figures;
}

}  // namespace legacy::analysis
