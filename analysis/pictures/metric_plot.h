// Plots of a run's metric against a cost, as pictures and the page of a run draw them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/curves.h"
#include "analysis/drawing.h"
#include "analysis/pictures/picture.h"
#include "analysis/policy_style.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// A PlotPoint is an evaluation of a curve in the units of its plot. `low` and `high` are the value
// less and plus its deviation over seeds.
struct PlotPoint {
  double x = 0;
  double value = 0;
  double low = 0;
  double high = 0;
};

struct PlotCurve {
  std::string policy;
  PolicyStyle style;
  bool band = false;   // true where there are seeds enough for a deviation
  int mark_every = 1;  // one of how many points has a mark
  std::vector<PlotPoint> points;
};

struct PlotAxis {
  std::string label;
  bool logarithmic = false;
};

// A MetricPlot is the metric against a cost, with the curves that a picture has room for.
struct MetricPlot {
  std::string title;
  std::string conditions;
  PlotAxis x, y;
  std::vector<PlotCurve> curves;
  std::vector<std::string> others;  // policies that are not drawn
  std::optional<double> target;
  std::string target_text;  // "target 85 %"
};

// Returns the names of the policies whose curves pictures and the page of a run draw, six at most:
// the baseline, the fastest, the fastest of each other family, and then the next.
std::vector<std::string> ShownPolicies(const Summary& summary);

// Returns what metric-time draws; nothing where the run has no evaluations.
std::optional<MetricPlot> TimePlot(const RunDirectory& run, const Summary& summary);

// Returns the plot of the metric against a cost, which `against` names in the title and `label` at
// the axis.
MetricPlot PlotOf(const std::string& against, const std::string& label, std::span<const Unit> units,
                  const std::vector<Curve>& all, const Summary& summary);

// Returns the picture of a plot.
Picture MetricPicture(const std::string& name, const MetricPlot& plot);

}  // namespace legacy::analysis
