// Time-to-accuracy over a numeric axis, with break-even marked; or by policy where no axis has
// numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/policy_style.h"
#include "analysis/study/crossover.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "analysis/study/words.h"

namespace legacy::analysis {
namespace {

constexpr int kCrossingMark = 6;     // open circle
constexpr double kLabelLength = 66;  // points, of the label of a crossing
constexpr double kLabelGap = 11;     // points between labels of crossings
constexpr double kLeastBar = 0.1;    // of the mean: where a bar ends that would reach 0 or below

bool IsCensored(const Outcome& outcome) {
  return outcome.done > 0 && outcome.reached < outcome.done;
}

struct Bar {
  double mean, low, high;
};
Bar BarOf(const Spread& spread) {
  const double deviation = std::isnan(spread.deviation) ? 0 : spread.deviation;
  return {spread.mean, std::max(spread.mean - deviation, kLeastBar * spread.mean),
          spread.mean + deviation};
}

// What is common to the panels of one figure.
struct Frame {
  const Study& study;
  size_t axis;
  Range x, y;
  bool logarithmic_x = false;
  bool censored = false;
  bool crossings = false;
  Panels::Size size;
};

void AddToFrame(const Facet& facet, Frame& frame) {
  for (size_t i = 0; i < facet.places.size(); ++i) {
    for (const Outcome& outcome : facet.places[i].outcomes) {
      if (outcome.done == 0) continue;
      frame.x.Add(facet.x[i]);
      if (IsCensored(outcome)) {
        frame.censored = true;
        frame.y.Add(outcome.time_bound);
      } else {
        const Bar bar = BarOf(outcome.time_to_accuracy);
        frame.y.Add(bar.low);
        frame.y.Add(bar.high);
      }
    }
  }
}

// The policy's line, broken where a value is missing, and its censored points.
void AddPolicy(const Frame& frame, const Facet& facet, size_t policy, DataFile& data,
               std::vector<std::string>& parts) {
  std::vector<std::vector<std::string>> line, ends;
  bool any = false;
  for (size_t i = 0; i < facet.places.size(); ++i) {
    const Outcome& outcome = facet.places[i].outcomes[policy];
    const std::string x = Cell(facet.x[i]);
    if (outcome.done > 0 && !IsCensored(outcome)) {
      const Bar bar = BarOf(outcome.time_to_accuracy);
      line.push_back({x, Cell(bar.mean), Cell(bar.low), Cell(bar.high)});
      any = true;
    } else if (outcome.planned > 0) {
      line.push_back({x, "NaN", "NaN", "NaN"});
    }
    if (IsCensored(outcome)) ends.push_back({x, Cell(outcome.time_bound)});
  }
  const PolicyStyle style = StyleOfPolicy(policy);
  const std::string heading =
      fmt::format("{}, {}", frame.study.policies[policy], facet.name.empty() ? "-" : facet.name);
  const std::string axis = frame.study.axes[frame.axis].name;
  if (any) {
    parts.push_back(
        fmt::format("{} using 1:2:3:4 with yerrorlines lc rgb '{}' dt {} lw 1.6 pt {} ps 0.6",
                    data.Add(heading, {axis, "mean_seconds", "low", "high"}, line), style.colour,
                    style.dashes, style.point_type));
  }
  if (!ends.empty()) {
    parts.push_back(
        fmt::format("{} using 1:2 with points lc rgb '{}' lw 1.4 pt {} ps 0.9",
                    data.Add(heading + ", target not reached", {axis, "at_least_seconds"}, ends),
                    style.colour, kCensoredMark));
  }
}

struct Mark {
  double x, seconds;
  size_t policy;
  double place = 0;  // of the label, points from the left of the panel
};

// Break-even with the baseline, labels pushed apart.
std::vector<Mark> MarksOf(const Frame& frame, const Facet& facet) {
  std::vector<Mark> marks;
  if (!frame.x.empty() && frame.x.high > frame.x.low) {
    for (const BreakEven& even : BreakEvensOf(frame.study, facet)) {
      const Crossover& crossover = even.simulated;
      // Where most seeds do not cross, the mean curves do not either.
      const int others = crossover.ahead + crossover.behind + crossover.unknown;
      if (!crossover.crosses() || !(crossover.seconds > 0) || crossover.crossing <= others)
        continue;
      marks.push_back({crossover.x, crossover.seconds, PolicyIndex(frame.study, crossover.policy)});
    }
  }
  std::sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.x < b.x; });
  const double width = frame.size.width - frame.size.left - frame.size.right;
  for (Mark& mark : marks) {
    const double part = frame.logarithmic_x
                            ? std::log(mark.x / frame.x.low) / std::log(frame.x.high / frame.x.low)
                            : (mark.x - frame.x.low) / (frame.x.high - frame.x.low);
    mark.place = width * (0.037 + 0.926 * part);  // the axis has a margin of 4 % on both sides
  }
  // Once pushed to the left and once to the right: the mean of both stands apart as well.
  std::vector<double> lower(marks.size()), upper(marks.size());
  for (size_t i = 0; i < marks.size(); ++i) {
    const double least = i == 0 ? kLabelGap : upper[i - 1] + kLabelGap;
    upper[i] = std::max(marks[i].place, least);
  }
  for (size_t i = marks.size(); i-- > 0;) {
    const double most = i + 1 == marks.size() ? width : lower[i + 1] - kLabelGap;
    lower[i] = std::min(marks[i].place, most);
  }
  for (size_t i = 0; i < marks.size(); ++i) marks[i].place = (lower[i] + upper[i]) / 2;
  for (Mark& mark : marks) mark.place /= width;
  return marks;
}

// Of the panel's height, what the labels of crossings take.
double LabelPart(const Frame& frame) {
  return kLabelLength / (frame.size.height - frame.size.top - frame.size.bottom);
}

void AddCrossings(const Frame& frame, const Facet& facet, DataFile& data,
                  std::vector<std::string>& parts, std::string& settings) {
  const StudyAxis& axis = frame.study.axes[frame.axis];
  const std::string foot = CsvNumber(1 - LabelPart(frame));
  for (const Mark& mark : MarksOf(frame, facet)) {
    const PolicyStyle style = StyleOfPolicy(mark.policy);
    const std::string x = CsvNumber(mark.x), y = CsvNumber(mark.seconds);
    const std::string place = CsvNumber(mark.place);
    settings += fmt::format(
        "set arrow from {},{} to graph {}, graph {} nohead back lc rgb '{}' lw 0.7 dt 3\n"
        "set label {} at graph {}, graph {} left rotate by 90 font ',8' tc rgb '{}' noenhanced\n",
        x, y, place, foot, style.colour, Quote(ShowQuantity(mark.x, axis.unit)), place, foot,
        style.colour);
    parts.push_back(fmt::format(
        "{} using 1:2 with points lc rgb '{}' lw 1.6 pt {} ps 1.3",
        data.Add(fmt::format("{} breaks even with {}, {}", frame.study.policies[mark.policy],
                             frame.study.baseline, facet.name),
                 {axis.name, "seconds"}, {{x, y}}),
        style.colour, kCrossingMark));
  }
}

std::string FacetPanel(const Frame& frame, const Facet& facet, DataFile& data) {
  std::vector<std::string> parts;
  for (size_t p = 0; p < frame.study.policies.size(); ++p) AddPolicy(frame, facet, p, data, parts);
  if (parts.empty())
    parts.push_back("NaN");  // the panel of a facet without any result keeps its place
  std::string settings = "unset arrow\nunset label\n";
  AddCrossings(frame, facet, data, parts, settings);
  settings += PanelTitle(facet.name);
  return settings + Plot(parts);
}

struct Legend {
  std::vector<std::string> entries;
  std::vector<std::string> texts;
};

Legend LegendOf(const Frame& frame, const std::vector<Facet>& facets) {
  Legend legend;
  for (size_t p = 0; p < frame.study.policies.size(); ++p) {
    if (std::any_of(facets.begin(), facets.end(),
                    [p](const Facet& facet) { return IsDone(facet.places, p); })) {
      legend.entries.push_back(LineEntry(frame.study, p));
      legend.texts.push_back(PolicyLabel(frame.study, p));
    }
  }
  const auto add = [&legend](int mark, const std::string& text) {
    legend.entries.push_back(MarkEntry(mark, kGrey, text));
    legend.texts.push_back(text);
  };
  if (frame.crossings) add(kCrossingMark, "even with " + frame.study.baseline);
  if (frame.censored) add(kCensoredMark, "not reached: more");
  return legend;
}

Frame FrameOf(const Study& study, size_t axis, const std::vector<Facet>& facets) {
  Frame frame{.study = study, .axis = axis, .x = {}, .y = {}, .size = {}};
  for (const Facet& facet : facets) AddToFrame(facet, frame);
  frame.logarithmic_x = CanBeLogarithmic(frame.x);
  if (facets.size() == 1) frame.size = {.width = 620, .height = 420};
  if (facets.size() == 2 || facets.size() == 4) frame.size = {.width = 430, .height = 350};
  for (const Facet& facet : facets) frame.crossings |= !MarksOf(frame, facet).empty();
  // Room for half of the labels of crossings: mostly the curves are low where these are.
  if (frame.crossings) frame.y.high *= std::pow(frame.y.high / frame.y.low, LabelPart(frame) / 2);
  return frame;
}

StudyFigure TimeFigure(const Study& study, size_t axis, const std::vector<Facet>& facets) {
  const StudyAxis& described = study.axes[axis];
  const Frame frame = FrameOf(study, axis, facets);
  const Legend legend = LegendOf(frame, facets);
  const Panels panels(facets.size(), frame.size, legend.texts);
  StudyFigure figure;
  figure.kind = FigureKind::kTimeToAccuracy;
  figure.name = "tta-" + described.name;
  figure.heading = "Time to accuracy against " + ShowAxisName(described);
  figure.axes = {described.name};
  DataFile data(figure.name);
  std::vector<std::string> drawn;
  for (size_t i = 0; i < facets.size(); ++i) {
    drawn.push_back(
        SetAxis("x", frame.x, described.unit, frame.logarithmic_x, described.numbers) +
        SetAxis("y", frame.y, "s", true) +
        fmt::format(
            "set xlabel {} font ',11' offset 0,0.4\nset ylabel {} font ',11' offset 1,0\n",
            Quote(panels.AtBottom(i) ? AxisLabel(ShowAxisName(described), described.unit) : ""),
            Quote(panels.AtLeft(i) ? "time to accuracy [s]" : "")) +
        FacetPanel(frame, facets[i], data));
    figure.words.push_back(TimeWords(study, facets[i]));
  }
  const std::string target = fmt::format("target {}, {}", ShowQuantity(*study.target, "fraction"),
                                         SeedsNote(study, "bars"));
  figure.script = panels.Figure(figure.name, figure.heading, target, drawn, legend.entries);
  figure.data = data.text();
  return figure;
}

}  // namespace

std::vector<StudyFigure> TimeFigures(const Study& study, const FigureOptions& options) {
  std::vector<StudyFigure> figures;
  if (!study.target) return figures;
  for (const size_t axis : NumericAxes(study)) {
    std::string note;
    const std::vector<Facet> facets = ShownFacets(study, axis, options.facets, note);
    if (facets.empty()) continue;
    figures.push_back(TimeFigure(study, axis, facets));
    figures.back().note = note;
  }
  if (NumericAxes(study).empty()) return TimeDots(study, options);
  return figures;
}

}  // namespace legacy::analysis
