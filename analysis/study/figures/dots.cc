// Charts with one row for each policy, which has a dot and its interval: break-even next to that of
// the textbook, and time-to-target where no axis has numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/study/crossover.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "analysis/study/words.h"
#include "analysis/table_text.h"

namespace legacy::analysis {
namespace {

constexpr int kTextbookMark = 12;  // open diamond
constexpr int kDotRowHeight = 26;
// Distance, in rows, of the dot above the middle of a row, and of the second mark below it.
constexpr double kApart = 0.17;

struct Dot {
  double x = kUnknown;
  double low = kUnknown;  // interval; nan: none
  double high = kUnknown;
  double other = kUnknown;  // x of the second mark
  bool open = false;        // true for a lower bound
  std::string text;         // text next to the dot, or in the middle of a row without a dot
};

// A Chart is one panel, with a row for each of the frame's policies.
struct Chart {
  std::string title;
  std::vector<Dot> rows;
};

struct ChartFrame {
  const Study& study;
  std::vector<size_t> policies;
  std::string name;
  std::string label;  // label of x
  std::string unit;
  bool logarithmic = true;
  Range x;
};

Panels::Size SizeOf(const ChartFrame& frame, size_t charts) {
  Panels::Size size;
  size.width = charts == 1 ? 520 : 330;
  size.left = 12;
  size.names = RowNamesWidth(frame.study, frame.policies);
  size.height =
      size.top + size.bottom + kDotRowHeight * static_cast<int>(frame.policies.size()) + 8;
  return size;
}

void AddDot(const ChartFrame& frame, const Chart& chart, size_t row, DataFile& data,
            std::vector<std::string>& parts) {
  const Dot& dot = chart.rows[row];
  const PolicyStyle style = StyleOf(frame.study, frame.policies[row]);
  const std::string heading = frame.study.policies[frame.policies[row]] + ", " + chart.title;
  const double shift = std::isfinite(dot.other) ? kApart : 0;
  const std::string y = Cell(shift - static_cast<double>(row));
  if (std::isfinite(dot.x) && dot.open) {
    std::ranges::move(BoundParts(data.Add(heading + ", target not reached", {"at_least_x", "row"},
                                          {{Cell(dot.x), y}}),
                                 'x'),
                      std::back_inserter(parts));
  } else if (std::isfinite(dot.x)) {
    const bool interval = std::isfinite(dot.low) && std::isfinite(dot.high);
    parts.push_back(fmt::format("{} using {} lc rgb '{}' lw 1.6 pt {} ps 1.1",
                                data.Add(heading, {"x", "row", "low", "high"},
                                         {{Cell(dot.x), y, Cell(dot.low), Cell(dot.high)}}),
                                interval ? "1:2:3:4 with xerrorbars" : "1:2 with points",
                                style.colour, style.point_type));
  }
  if (std::isfinite(dot.other)) {
    parts.push_back(
        fmt::format("{} using 1:2 with points lc rgb '{}' lw 1.4 pt {} ps 1.1",
                    data.Add(heading + ", textbook", {"x", "row"},
                             {{Cell(dot.other), Cell(-shift - static_cast<double>(row))}}),
                    kGrey, kTextbookMark));
  }
}

// Returns the label of a row. It is in the middle of the row, or below the dot's line at the end
// that is farther from the dot.
std::string RowLabel(const ChartFrame& frame, const Dot& dot, size_t row) {
  std::string place = fmt::format("graph 0.5, first -{} center", row);
  if (std::isfinite(dot.x)) {
    const double middle = frame.logarithmic ? std::sqrt(frame.x.low * frame.x.high)
                                            : (frame.x.low + frame.x.high) / 2;
    place = fmt::format("graph {}, first {} {}", dot.x > middle ? "0.02" : "0.98",
                        CsvNumber(-kApart - static_cast<double>(row)),
                        dot.x > middle ? "left" : "right");
  }
  return fmt::format("set label {} at {} font ',9' tc rgb '{}' noenhanced front\n", Quote(dot.text),
                     place, kGrey);
}

std::string ChartPanel(const ChartFrame& frame, const Chart& chart, bool at_left, DataFile& data) {
  std::vector<std::string> parts;
  std::string settings = SetAxis("x", frame.x, frame.unit, frame.logarithmic);
  settings += RowNames(frame.study, frame.policies, at_left);
  settings += PanelTitle(chart.title);
  for (size_t row = 0; row < chart.rows.size(); ++row) {
    AddDot(frame, chart, row, data, parts);
    const Dot& dot = chart.rows[row];
    if (dot.text.empty()) continue;
    settings += RowLabel(frame, dot, row);
  }
  if (parts.empty()) parts.push_back("NaN");
  return settings + Plot(parts);
}

StudyFigure DrawCharts(const ChartFrame& frame, const std::vector<Chart>& charts,
                       const std::string& heading, const std::string& subtitle,
                       const std::vector<std::pair<int, std::string>>& marks) {
  StudyFigure figure;
  figure.name = frame.name;
  figure.heading = heading;
  Legend legend;
  for (const auto& [mark, text] : marks) legend.AddMark(mark, text);
  const Panels panels(charts.size(), SizeOf(frame, charts.size()), std::move(legend));
  DataFile data(frame.name);
  std::vector<std::string> drawn;
  for (size_t i = 0; i < charts.size(); ++i) {
    drawn.push_back(ChartPanel(frame, charts[i], panels.AtLeft(i), data));
  }
  figure.script = panels.Figure(
      figure.name, figure.heading, subtitle,
      {AxisLabel(frame.label, frame.unit, frame.logarithmic && CanBeLogarithmic(frame.x)), ""},
      drawn);
  figure.data = data.text();
  return figure;
}

// Returns why a policy has no dot.
std::string VerdictText(const Study& study, const Facet& facet, const Crossover& crossover,
                        bool of_steps) {
  const size_t policy = PolicyIndex(study, crossover.policy);
  if (std::all_of(facet.places.begin(), facet.places.end(),
                  [policy](const Place& place) { return place.outcomes[policy].reached == 0; })) {
    return IsDone(facet.places, policy) ? "target not reached" : "not done";
  }
  if (crossover.ahead > 0 && crossover.behind + crossover.unknown + crossover.crossing == 0) {
    return of_steps ? "shorter at all values" : "sooner at all values";
  }
  if (crossover.behind > 0 && crossover.ahead + crossover.unknown + crossover.crossing == 0) {
    return of_steps ? "longer at all values" : "later at all values";
  }
  return crossover.ahead + crossover.behind == 0 ? "not known" : "seeds disagree";
}

Dot DotOf(const Study& study, const Facet& facet, const BreakEven& even, bool of_steps) {
  const Crossover& crossover = even.simulated;
  Dot dot;
  dot.other = even.textbook.x;
  if (!crossover.crosses()) {
    dot.text = VerdictText(study, facet, crossover, of_steps);
    return dot;
  }
  dot.x = crossover.x;
  if (crossover.interval) {
    dot.low = crossover.interval->low;
    dot.high = crossover.interval->high;
  }
  if (crossover.crossing < static_cast<int>(crossover.seeds.size())) {
    dot.text = fmt::format("{} of {}", crossover.crossing,
                           ShowCount(static_cast<int64_t>(crossover.seeds.size()), "seed"));
  }
  return dot;
}

Dot TimeDot(const Outcome& outcome) {
  Dot dot;
  dot.open = outcome.reached < outcome.done;
  dot.x = dot.open ? outcome.time_bound : outcome.time_to_target.mean;
  if (!dot.open && std::isfinite(outcome.time_to_target.deviation)) {
    dot.low = std::max(dot.x - outcome.time_to_target.deviation, dot.x / 10);
    dot.high = dot.x + outcome.time_to_target.deviation;
  }
  if (outcome.done == 0) dot.text = outcome.planned > 0 ? "not done" : "not in the grid";
  return dot;
}

// A Crossed is a facet in which some policy breaks even.
struct Crossed {
  Facet facet;
  std::vector<BreakEven> evens;
};

StudyFigure BreakEvenFigure(const Study& study, size_t axis, const std::vector<Crossed>& shown,
                            bool of_steps) {
  const StudyAxis& described = study.axes[axis];
  ChartFrame frame{.study = study,
                   .policies = {},
                   .name = (of_steps ? "step-break-even-" : "break-even-") + described.name,
                   .label = ShowAxisName(described),
                   .unit = described.unit,
                   .x = {}};
  for (const BreakEven& even : shown.front().evens) {
    frame.policies.push_back(PolicyIndex(study, even.simulated.policy));
  }
  std::vector<Chart> charts;
  std::vector<std::string> words;
  for (const Crossed& crossed : shown) {
    charts.push_back({crossed.facet.name, {}});
    for (const BreakEven& even : crossed.evens) {
      charts.back().rows.push_back(DotOf(study, crossed.facet, even, of_steps));
    }
    if (!of_steps) words.push_back(BreakEvenWords(study, crossed.facet));
  }
  for (const double number : described.numbers) frame.x.Add(number);
  frame.logarithmic = CanBeLogarithmic(frame.x);
  StudyFigure figure =
      DrawCharts(frame, charts,
                 fmt::format("Break-even{} with {} along {}", of_steps ? " of a step" : "",
                             study.baseline, frame.label),
                 study.seeds.size() > 1 ? "mean over seeds with 95 % interval" : "1 seed",
                 {{7, "simulated"}, {kTextbookMark, "textbook"}});
  figure.kind = FigureKind::kBreakEven;
  figure.axes = {described.name};
  figure.words = std::move(words);
  return figure;
}

}  // namespace

std::vector<StudyFigure> BreakEvenFigures(const Study& study, const FigureOptions& options) {
  std::vector<StudyFigure> figures;
  for (const size_t axis : NumericAxes(study)) {
    std::vector<Crossed> crossed;
    std::string note;
    for (const Facet& facet : ShownFacets(study, axis, SIZE_MAX, note)) {
      std::vector<BreakEven> evens = BreakEvensOf(study, facet);
      if (std::any_of(evens.begin(), evens.end(), [](const BreakEven& even) {
            return even.simulated.crosses() || even.textbook.crosses();
          })) {
        crossed.push_back({facet, std::move(evens)});
      }
    }
    if (crossed.empty()) continue;
    std::vector<Crossed> shown;
    for (const size_t i : EvenlySpread(crossed.size(), options.facets)) {
      shown.push_back(std::move(crossed[i]));
    }
    figures.push_back(BreakEvenFigure(study, axis, shown, options.of_steps));
    if (shown.size() < crossed.size()) {
      figures.back().note = fmt::format(
          "{} of {} combinations of the other axes at which a method breaks even are shown; tables "
          "have all.",
          shown.size(), crossed.size());
    }
  }
  return figures;
}

std::vector<StudyFigure> TimeDots(const Study& study, const FigureOptions& options) {
  std::string note;
  ChartFrame frame{.study = study,
                   .policies = {},
                   .name = "tta",
                   .label = "time to target",
                   .unit = "s",
                   .x = {}};
  for (size_t p = 0; p < study.policies.size(); ++p) frame.policies.push_back(p);
  std::vector<Chart> charts;
  for (const ShownPlace& shown : ShownPlaces(study, 1, options.facets, note)) {
    charts.push_back({shown.name, {}});
    for (const Outcome& outcome : shown.place.outcomes) {
      const Dot dot = TimeDot(outcome);
      for (const double value : {dot.x, dot.low, dot.high}) frame.x.Add(value);
      if (dot.open) frame.x.Add(dot.x * kBoundArrow);
      charts.back().rows.push_back(dot);
    }
  }
  if (frame.x.empty()) return {};
  StudyFigure figure =
      DrawCharts(frame, charts, "Time to target",
                 fmt::format("target {}, {}", ShowValue(ShownMetric(study), study.target->value),
                             SeedsNote(study, "bars")),
                 {{7, "mean"}, {kCensoredMark, "not reached: longer"}});
  figure.kind = FigureKind::kTimeToTarget;
  figure.note = note;
  return {figure};
}

}  // namespace legacy::analysis
