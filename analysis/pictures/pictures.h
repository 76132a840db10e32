// gnuplot draws the pictures of a run as SVG, PNG and PDF: metric-time, metric-bytes, step-split,
// decisions, and those of federated runs: metric-rounds, metric-usd, participation, staleness.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

struct Picture {
  std::string name;    // "metric-time"
  std::string script;  // gnuplot script with its data; writes NAME.svg, .png and .pdf where it runs
};

// Returns the pictures of a run, without those that have nothing to show (no evaluations, no
// steps).
std::vector<Picture> MakePictures(const RunDirectory& run, const Summary& summary);

struct DrawnPictures {
  std::vector<std::filesystem::path> files;  // .gp, and .svg, .png, .pdf where gnuplot made them
  std::vector<std::string> warnings;         // gnuplot is missing, or its errors
};

// Writes NAME.gp into the run directory and lets `gnuplot` draw it there. Where gnuplot is missing,
// the result has a warning.
DrawnPictures DrawPictures(const RunDirectory& run, const Summary& summary,
                           const std::string& gnuplot = "gnuplot");

}  // namespace legacy::analysis
