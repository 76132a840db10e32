#include "analysis/pictures/metric_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/csv.h"
#include "analysis/table_text.h"

namespace legacy::analysis {
namespace {

constexpr int kMarksOnCurve = 12;
constexpr size_t kSubtitleLimit = 140;  // characters below a title
constexpr size_t kMostCurves = 6;
constexpr size_t kFastestCurves = 3;  // fastest policies, before others are chosen by their kind
constexpr int kSeedsOfBand = 3;       // the deviation of two values says little
constexpr double kLowestBand = 10;    // a band on a logarithmic axis ends at this part of the mean

std::string Conditions(const Summary& summary) {
  std::string text = fmt::format("{} workers, {} fidelity", summary.workers, summary.fidelity);
  if (summary.seeds.size() > 1) text += fmt::format(", mean of {} seeds", summary.seeds.size());
  if (summary.seeds.size() >= kSeedsOfBand) text += ", band: ± 1 standard deviation";
  return text;
}

// Returns the policies in the order in which they matter: those that reach the target by their
// times, then the others by their final values.
std::vector<const PolicySummary*> Ranked(const Summary& summary) {
  std::vector<const PolicySummary*> ranked;
  for (const PolicySummary& policy : summary.policies) ranked.push_back(&policy);
  std::ranges::stable_sort(ranked, [&](const PolicySummary* a, const PolicySummary* b) {
    const Spread& mine = a->time_to_target.spread;
    const Spread& other = b->time_to_target.spread;
    if (mine.count > 0 && other.count > 0) return mine.mean < other.mean;
    if (mine.count != other.count) return mine.count > 0;
    return summary.metric.IsBetter(a->final_metric.mean, b->final_metric.mean);
  });
  return ranked;
}

// Returns the curves that are shown, and puts the names of the others into `others`.
std::vector<Curve> ShownCurves(const std::vector<Curve>& curves, const Summary& summary,
                               std::vector<std::string>& others) {
  const std::vector<std::string> names = ShownPolicies(summary);
  std::vector<Curve> shown;
  for (const Curve& curve : curves) {
    if (std::ranges::find(names, curve.policy) != names.end()) {
      shown.push_back(curve);
    } else {
      others.push_back(curve.policy);
    }
  }
  return shown;
}

struct Axis {
  std::string label;
  Unit unit;
  bool logarithmic = false;
};

// Returns the cost at which a curve comes near its best value: to nine tenths of it where higher
// values are better, else to ten ninths.
double CostOf(const Curve& curve, const Metric& metric) {
  double best = kUnknown;
  for (const CurvePoint& point : curve.points) {
    if (metric.IsBetter(point.value, best)) best = point.value;
  }
  const double near = metric.better == Metric::Better::kHigher ? 0.9 * best : best / 0.9;
  const auto first = std::ranges::find_if(
      curve.points, [&](const CurvePoint& point) { return metric.Reaches(point.value, near); });
  return first == curve.points.end() ? curve.points.back().cost : first->cost;
}

// Returns the axis. It is logarithmic where a linear one would show a curve's rise in a small part
// of its length.
Axis MakeAxis(const std::vector<Curve>& curves, const Metric& metric, const std::string& label,
              std::span<const Unit> units) {
  double least = INFINITY, most = 0;
  for (const Curve& curve : curves) {
    if (const double cost = CostOf(curve, metric); cost > 0) least = std::min(least, cost);
    most = std::max(most, curve.points.back().cost);
  }
  Axis axis;
  axis.logarithmic = most > kLogRatio * least;
  // The unit of a logarithmic axis suits its middle, which then has at most two digits.
  axis.unit = UnitFor(units, axis.logarithmic ? 10 * std::sqrt(least * most) : most);
  std::vector<std::string> remarks;
  if (*axis.unit.name != '\0') remarks.emplace_back(axis.unit.name);
  if (axis.logarithmic) remarks.emplace_back("logarithmic");
  axis.label = remarks.empty() ? label : fmt::format("{} [{}]", label, fmt::join(remarks, ", "));
  return axis;
}

// Returns the range of a logarithmic axis and its labels: 1, 2 and 5 of each power of ten, or the
// powers alone above three decades.
std::string LogarithmicAxis(const std::vector<PlotCurve>& curves) {
  double least = INFINITY, most = 0;
  for (const PlotCurve& curve : curves) {
    for (const PlotPoint& point : curve.points) {
      least = std::min(least, point.x);
      most = std::max(most, point.x);
    }
  }
  const int first = static_cast<int>(std::floor(std::log10(least)));
  const int last = static_cast<int>(std::ceil(std::log10(most)));
  std::vector<std::string> labels;
  for (int power = first; power <= last; ++power) {
    for (const int digit : {1, 2, 5}) {
      if (digit == 1 || last - first <= 3) labels.push_back(fmt::format("{}e{}", digit, power));
    }
  }
  return fmt::format("set logscale x\nset xrange [{}:{}]\nset xtics ({})\n", CsvNumber(least * 0.9),
                     CsvNumber(most * 1.1), fmt::join(labels, ", "));
}

// True where a linear axis of the values would hide the small ones. Fractions have a linear axis.
bool IsLogarithmic(const std::vector<Curve>& curves, const Metric& metric) {
  if (metric.fraction) return false;
  double least = INFINITY, most = 0;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      if (!std::isfinite(point.value)) continue;
      least = std::min(least, point.value);
      most = std::max(most, point.value);
    }
  }
  return least > 0 && most > kLogRatio * least;
}

// Returns a number of a block, which is "NaN" (missing) if it is not finite.
std::string Cell(double value) { return std::isfinite(value) ? CsvNumber(value) : "NaN"; }

// Returns the points as they are drawn: costs in the axis' unit. A band stays above 0 on a
// logarithmic axis.
std::vector<PlotPoint> PointsOf(const Curve& curve, const Axis& axis, const Metric& metric,
                                bool logarithmic) {
  const double scale = metric.Scale();
  std::vector<PlotPoint> points;
  for (const CurvePoint& point : curve.points) {
    if (axis.logarithmic && point.cost <= 0) continue;
    const double spread = std::isnan(point.deviation) ? 0 : point.deviation;
    const double low = logarithmic ? std::max(point.value - spread, point.value / kLowestBand)
                                   : point.value - spread;
    points.push_back({point.cost / axis.unit.size, point.value * scale, low * scale,
                      (point.value + spread) * scale});
  }
  return points;
}

// Returns the blocks $curveI: cost, value, and the ends of its band.
std::string CurveData(const std::vector<PlotCurve>& curves) {
  std::string text;
  for (size_t i = 0; i < curves.size(); ++i) {
    text += fmt::format("$curve{} << END\n", i);
    for (const PlotPoint& point : curves[i].points) {
      text += fmt::format("{} {} {} {}\n", CsvNumber(point.x), Cell(point.value), Cell(point.low),
                          Cell(point.high));
    }
    text += "END\n";
  }
  return text;
}

std::vector<PolicyStyle> LooksOf(const std::vector<Curve>& curves, const Summary& summary) {
  std::vector<std::string> names;
  for (const PolicySummary& policy : summary.policies) names.push_back(policy.name);
  const std::vector<PolicyStyle> styles = StylesOf(names);
  std::vector<PolicyStyle> looks;
  for (const Curve& curve : curves) {
    looks.push_back(
        styles[static_cast<size_t>(std::ranges::find(names, curve.policy) - names.begin())]);
  }
  return looks;
}

std::string CurvePlot(const MetricPlot& plot) {
  const std::vector<PlotCurve>& curves = plot.curves;
  std::vector<std::string> parts;
  for (size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].band) continue;
    parts.push_back(
        fmt::format("$curve{} using 1:3:4 with filledcurves fs transparent solid 0.15 "
                    "noborder lc rgb '{}' notitle",
                    i, curves[i].style.colour));
  }
  for (size_t i = 0; i < curves.size(); ++i) {
    const PolicyStyle& style = curves[i].style;
    parts.push_back(
        fmt::format("$curve{} using 1:2 with linespoints lc rgb '{}' dt {} lw 1.6 pt {} ps 0.7 "
                    "pointinterval {} title {}",
                    i, style.colour, style.dashes, style.point_type, curves[i].mark_every,
                    Quote(Shorten(curves[i].policy, kPolicyNameLimit))));
  }
  if (plot.target) {
    parts.push_back(fmt::format("{} with lines lc rgb '#666666' dt 3 lw 1.5 title {}",
                                CsvNumber(*plot.target), Quote(plot.target_text)));
  }
  return fmt::format("plot {}\n", fmt::join(parts, ", \\\n     "));
}

// Returns whether some curve crosses the target earlier than the time to target that is given for
// its method.
bool AnyCrossesEarlier(const std::vector<Curve>& curves, const Summary& summary) {
  return summary.target && std::ranges::any_of(curves, [&](const Curve& curve) {
           std::vector<double> values;
           for (const CurvePoint& point : curve.points) values.push_back(point.value);
           return CrossesEarlier(summary.metric, *summary.target, values);
         });
}

}  // namespace

std::vector<std::string> ShownPolicies(const Summary& summary) {
  std::vector<std::string> shown = {summary.baseline};
  const auto add = [&](const std::string& name) {
    const bool there = std::ranges::find(shown, name) != shown.end();
    if (!there && shown.size() < kMostCurves) shown.push_back(name);
  };
  const std::vector<const PolicySummary*> ranked = Ranked(summary);
  for (size_t i = 0; i < ranked.size() && shown.size() <= kFastestCurves; ++i) add(ranked[i]->name);
  for (const PolicySummary* policy : ranked) {
    const bool known = std::ranges::any_of(
        shown, [&](const std::string& name) { return FamilyOf(name) == FamilyOf(policy->name); });
    if (!known) add(policy->name);
  }
  for (const PolicySummary* policy : ranked) add(policy->name);
  return shown;
}

MetricPlot PlotOf(const std::string& against, const std::string& label, std::span<const Unit> units,
                  const std::vector<Curve>& all, const Summary& summary) {
  const Metric& metric = summary.metric;
  MetricPlot plot;
  const std::vector<Curve> curves = ShownCurves(all, summary, plot.others);
  const Axis axis = MakeAxis(curves, metric, label, units);
  const bool logarithmic = IsLogarithmic(curves, metric);
  plot.title = fmt::format("Test {} against {}", metric.title, against);
  plot.conditions = Conditions(summary);
  if (AnyCrossesEarlier(curves, summary)) plot.conditions += fmt::format("; {}", kTargetNote);
  plot.x = {axis.label, axis.logarithmic};
  plot.y = {"test " + MetricLabel(metric) + (logarithmic ? " [logarithmic]" : ""), logarithmic};
  const std::vector<PolicyStyle> looks = LooksOf(curves, summary);
  for (size_t i = 0; i < curves.size(); ++i) {
    plot.curves.push_back(
        {.policy = curves[i].policy,
         .style = looks[i],
         .band = curves[i].seeds >= kSeedsOfBand,
         .mark_every = std::max(1, static_cast<int>(curves[i].points.size()) / kMarksOnCurve),
         .points = PointsOf(curves[i], axis, metric, logarithmic)});
  }
  if (summary.target) {
    plot.target = std::round(*summary.target * metric.Scale() * 1e6) / 1e6;
    plot.target_text = "target " + ShowValue(metric, *summary.target);
  }
  return plot;
}

Picture MetricPicture(const std::string& name, const MetricPlot& plot) {
  std::string conditions = plot.conditions;
  if (!plot.others.empty()) {
    conditions += fmt::format("; not drawn: {}", fmt::join(plot.others, ", "));
  }
  std::string script =
      CurveData(plot.curves) +
      PictureStart(plot.title, Shorten(conditions, kSubtitleLimit), kPictureWidth, kPictureHeight);
  script += fmt::format("set xlabel {}\nset ylabel {}\n", Quote(plot.x.label), Quote(plot.y.label));
  if (plot.y.logarithmic) script += "set logscale y\n";
  script +=
      "set key outside right center vertical Left reverse noenhanced samplen 2.5 spacing 1.2\n"
      "set format x '%g'\n"
      "set offsets 0, 0, graph 0.03, graph 0.02\n";
  script += plot.x.logarithmic ? LogarithmicAxis(plot.curves) : "set xrange [0:*]\n";
  script += Output(name, kPictureWidth, kPictureHeight, CurvePlot(plot));
  return {name, std::move(script)};
}

std::optional<MetricPlot> TimePlot(const RunDirectory& run, const Summary& summary) {
  const auto times = MetricCurves(run, summary, &EvaluationRow::simulated_seconds);
  if (times.empty()) return std::nullopt;
  return PlotOf("simulated time", "simulated time", kTimeUnits, times, summary);
}

}  // namespace legacy::analysis
