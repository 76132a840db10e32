// Figures of time-to-target over a numeric axis, with break-even marked, or by policy where no
// axis has numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/study/crossover.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "analysis/study/words.h"

namespace legacy::analysis {
namespace {

constexpr int kCrossingMark = 6;   // open circle, around the policy's mark
constexpr double kLabelGap = 13;   // distance of labels of crossings, points
constexpr double kMarkRoom = 6;    // distance of a label's mark from its text, points
constexpr double kBoundGap = 10;   // distance of the names of bounds, points
constexpr double kLeastBar = 0.1;  // end of a bar that would reach 0 or below, as part of the mean

bool IsCensored(const Outcome& outcome) {
  return outcome.done > 0 && outcome.reached < outcome.done;
}

struct Bar {
  double mean, low, high;
};
Bar BarOf(const Spread& spread) {
  const double deviation = DeviationOf(spread);
  return {spread.mean, std::max(spread.mean - deviation, kLeastBar * spread.mean),
          spread.mean + deviation};
}

// A Frame has what the panels of one figure share.
struct Frame {
  const Study& study;
  size_t axis;
  std::vector<PolicyGroup> groups;  // groups, which have a panel each in every facet
  bool labelled = false;            // true if labels at the ends of curves replace a legend
  Range x, y;
  bool logarithmic_x = false;
  std::set<size_t> with_results;  // policies that have a result and not only bounds
  bool censored = false;
  bool crossings = false;
  double label_length = 0;  // of the longest label of a crossing, points
  Panels::Size size;
};

void AddToFrame(const Facet& facet, Frame& frame) {
  for (size_t i = 0; i < facet.places.size(); ++i) {
    for (size_t policy = 0; policy < frame.study.policies.size(); ++policy) {
      const Outcome& outcome = facet.places[i].outcomes[policy];
      if (outcome.done == 0) continue;
      frame.x.Add(facet.x[i]);
      if (IsCensored(outcome)) {
        frame.censored = true;
        frame.y.Add(outcome.time_bound);
        frame.y.Add(outcome.time_bound * kBoundArrow);
      } else {
        frame.with_results.insert(policy);
        const Bar bar = BarOf(outcome.time_to_target);
        frame.y.Add(bar.low);
        frame.y.Add(bar.high);
      }
    }
  }
}

// Adds the policy's line, broken where a value is missing, and its censored points.
void AddPolicy(const Frame& frame, const Facet& facet, size_t policy, DataFile& data,
               std::vector<std::string>& parts) {
  std::vector<std::vector<std::string>> line, ends;
  bool any = false;
  for (size_t i = 0; i < facet.places.size(); ++i) {
    const Outcome& outcome = facet.places[i].outcomes[policy];
    const std::string x = Cell(facet.x[i]);
    if (outcome.done > 0 && !IsCensored(outcome)) {
      const Bar bar = BarOf(outcome.time_to_target);
      line.push_back({x, Cell(bar.mean), Cell(bar.low), Cell(bar.high)});
      any = true;
    } else if (outcome.planned > 0) {
      line.push_back({x, "NaN", "NaN", "NaN"});
    }
    if (IsCensored(outcome)) ends.push_back({x, Cell(outcome.time_bound)});
  }
  const PolicyStyle style = StyleOf(frame.study, policy);
  const std::string heading =
      fmt::format("{}, {}", frame.study.policies[policy], facet.name.empty() ? "-" : facet.name);
  const std::string axis = frame.study.axes[frame.axis].name;
  if (any) {
    parts.push_back(fmt::format("{} using 1:2:3:4 with yerrorlines {} lw 1.6 ps 0.6",
                                data.Add(heading, {axis, "mean_seconds", "low", "high"}, line),
                                CurveStyle(style)));
  }
  if (!ends.empty()) {
    std::ranges::move(
        BoundParts(data.Add(heading + ", target not reached", {axis, "at_least_seconds"}, ends),
                   'y'),
        std::back_inserter(parts));
  }
}

struct Mark {
  double x, seconds;
  size_t policy;
  double place = 0;  // position of the label, part of the panel's width
};

// Returns the break-even marks of a group's policies with the baseline, with labels pushed apart.
std::vector<Mark> MarksOf(const Frame& frame, const Facet& facet, const PolicyGroup& group) {
  std::vector<Mark> marks;
  if (!frame.x.empty() && frame.x.high > frame.x.low) {
    for (const BreakEven& even : BreakEvensOf(frame.study, facet)) {
      const Crossover& crossover = even.simulated;
      // If most seeds do not cross, the mean curves do not cross either.
      const int others = crossover.ahead + crossover.behind + crossover.unknown;
      if (!crossover.crosses() || !(crossover.seconds > 0) || crossover.crossing <= others)
        continue;
      const size_t policy = PolicyIndex(frame.study, crossover.policy);
      if (std::ranges::find(group.policies, policy) == group.policies.end()) continue;
      marks.push_back({crossover.x, crossover.seconds, policy});
    }
  }
  std::sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.x < b.x; });
  const double width = frame.size.width - frame.size.left - frame.size.right;
  std::vector<double> places;
  for (const Mark& mark : marks) {
    places.push_back(width * PartOfAxis(frame.x, frame.logarithmic_x, mark.x));
  }
  PushApart(places, kLabelGap, width);
  for (size_t i = 0; i < marks.size(); ++i) marks[i].place = places[i] / width;
  return marks;
}

// Returns the text of a crossing's label.
std::string LabelOf(const Frame& frame, const Mark& mark) {
  return ShowQuantity(mark.x, frame.study.axes[frame.axis].unit);
}

double HeightOf(const Frame& frame) {
  return frame.size.height - frame.size.top - frame.size.bottom;
}

// Returns the part of the panel's height that labels of crossings take.
double LabelPart(const Frame& frame) { return frame.label_length / HeightOf(frame); }

void AddCrossings(const Frame& frame, const Facet& facet, const PolicyGroup& group, DataFile& data,
                  std::vector<std::string>& parts, std::string& settings) {
  const StudyAxis& axis = frame.study.axes[frame.axis];
  const double top = 1 - LabelPart(frame);
  const std::string foot = CsvNumber(top), end = CsvNumber(top - kMarkRoom / HeightOf(frame));
  for (const Mark& mark : MarksOf(frame, facet, group)) {
    const PolicyStyle style = StyleOf(frame.study, mark.policy);
    const std::string x = CsvNumber(mark.x), y = CsvNumber(mark.seconds);
    const std::string place = CsvNumber(mark.place);
    settings += fmt::format(
        "set arrow from {},{} to graph {}, graph {} nohead back lc rgb '{}' lw 1 dt 3\n"
        "set label '' at graph {}, graph {} point lc rgb '{}' pt {} ps 0.6\n"
        "set label {} at graph {}, graph {} left rotate by 90 font ',10' tc rgb '#222222' "
        "noenhanced\n",
        x, y, place, end, style.colour, place, end, style.colour, style.point_type,
        Quote(LabelOf(frame, mark)), place, foot);
    const std::string block =
        data.Add(fmt::format("{} breaks even with {}, {}", frame.study.policies[mark.policy],
                             frame.study.baseline, facet.name),
                 {axis.name, "seconds"}, {{x, y}});
    parts.push_back(fmt::format("{} using 1:2 with points lc rgb '{}' pt {} ps 0.6", block,
                                style.colour, style.point_type));
    parts.push_back(fmt::format("{} using 1:2 with points lc rgb '{}' lw 1.4 pt {} ps 1.5", block,
                                kGrey, kCrossingMark));
  }
}

// Bounds have no colour of a policy. Returns the settings of the policies' names, each above the
// policy's last bound, and pushed apart where bounds are at one value of the axis. Bounds at which
// a curve's label ends have their name there.
std::string BoundNames(const Frame& frame, const Facet& facet, const PolicyGroup& group) {
  std::map<size_t, std::vector<std::pair<double, size_t>>> bounds;  // by place: height, policy
  for (const size_t policy : group.policies) {
    std::optional<size_t> last;
    bool results_follow = false;
    for (size_t i = 0; i < facet.places.size(); ++i) {
      const Outcome& outcome = facet.places[i].outcomes[policy];
      if (outcome.done == 0) continue;
      results_follow = !IsCensored(outcome);
      if (IsCensored(outcome)) last = i;
    }
    if (!last || (frame.labelled && !results_follow)) continue;
    const double bound = facet.places[*last].outcomes[policy].time_bound;
    bounds[*last].emplace_back(PartOfAxis(frame.y, true, kBoundArrow * bound), policy);
  }
  std::string text;
  for (auto& [place, names] : bounds) {
    std::ranges::sort(names);
    std::vector<double> heights;
    for (const auto& [height, policy] : names) {
      heights.push_back(height * HeightOf(frame) + kBoundGap);
    }
    PushApart(heights, kBoundGap, HeightOf(frame));
    const bool right = PartOfAxis(frame.x, frame.logarithmic_x, facet.x[place]) < 0.5;
    for (size_t i = 0; i < names.size(); ++i) {
      text +=
          fmt::format("set label {} at first {}, graph {} {} font ',8' tc rgb '{}' noenhanced\n",
                      Quote(PolicyLabel(frame.study, names[i].second)), CsvNumber(facet.x[place]),
                      CsvNumber(heights[i] / HeightOf(frame)), right ? "left" : "right", kGrey);
    }
  }
  return text;
}

// Returns the ends of the group's curves: the last place at which each policy has a result.
std::vector<CurveEnd> EndsOf(const Facet& facet, const PolicyGroup& group) {
  std::vector<CurveEnd> ends;
  for (const size_t policy : group.policies) {
    for (size_t i = facet.places.size(); i-- > 0;) {
      const Outcome& outcome = facet.places[i].outcomes[policy];
      if (outcome.done == 0) continue;
      const double y =
          IsCensored(outcome) ? outcome.time_bound : BarOf(outcome.time_to_target).mean;
      ends.push_back({policy, facet.x[i], y, IsCensored(outcome)});
      break;
    }
  }
  return ends;
}

std::string FacetPanel(const Frame& frame, const Facet& facet, const PolicyGroup& group,
                       DataFile& data) {
  const StudyAxis& axis = frame.study.axes[frame.axis];
  std::vector<std::string> parts;
  for (const size_t policy : group.policies) AddPolicy(frame, facet, policy, data, parts);
  if (parts.empty()) parts.push_back("NaN");  // keeps the place of a panel without results
  std::string settings = SetAxis("x", frame.x, axis.unit, frame.logarithmic_x, axis.numbers) +
                         SetAxis("y", frame.y, "s", true);
  settings += BoundNames(frame, facet, group);
  AddCrossings(frame, facet, group, data, parts, settings);
  if (frame.labelled) {
    settings += EndLabels(frame.study, EndsOf(facet, group), frame.y, true, frame.size);
  }
  settings +=
      PanelTitle(facet.name + (facet.name.empty() || group.name.empty() ? "" : ": ") + group.name);
  return settings + Plot(parts);
}

Legend LegendOf(const Frame& frame) {
  Legend legend;
  for (const size_t policy : frame.groups.front().policies) {
    if (frame.with_results.contains(policy)) legend.AddLine(frame.study, policy);
  }
  if (frame.crossings) legend.AddMark(kCrossingMark, "even with " + frame.study.baseline);
  if (frame.censored) legend.AddMark(kCensoredMark, "not reached: longer");
  return legend;
}

// Returns what the marks mean, for figures without a legend.
std::string MarksNote(const Frame& frame) {
  std::string note;
  if (frame.crossings) note += "; rings: even with " + frame.study.baseline;
  if (frame.censored) note += "; grey: not reached, longer";
  return note;
}

std::vector<PolicyGroup> GroupsIn(const Study& study, const std::vector<Facet>& facets) {
  std::vector<bool> shown;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    shown.push_back(
        std::ranges::any_of(facets, [p](const Facet& facet) { return IsDone(facet.places, p); }));
  }
  return GroupsOf(study, shown);
}

Frame FrameOf(const Study& study, size_t axis, const std::vector<Facet>& facets) {
  Frame frame{.study = study,
              .axis = axis,
              .groups = GroupsIn(study, facets),
              .x = {},
              .y = {},
              .with_results = {},
              .size = {}};
  for (const Facet& facet : facets) AddToFrame(facet, frame);
  frame.logarithmic_x = CanBeLogarithmic(frame.x);
  if (facets.size() == 2 || facets.size() == 4) frame.size = {.width = 430, .height = 350};
  frame.labelled = facets.size() == 1 || frame.groups.size() > 1;
  if (frame.labelled) frame.size = GroupSize(study, frame.groups);
  for (const Facet& facet : facets) {
    for (const PolicyGroup& group : frame.groups) {
      for (const Mark& mark : MarksOf(frame, facet, group)) {
        frame.crossings = true;
        frame.with_results.insert(mark.policy);
        const auto letters = static_cast<double>(LabelOf(frame, mark).size());
        frame.label_length = std::max(frame.label_length, 10 + 6 * letters);
      }
    }
  }
  // There is room for half of the length of the labels of crossings, because most curves are low
  // where these are.
  if (frame.crossings) frame.y.high *= std::pow(frame.y.high / frame.y.low, LabelPart(frame) / 2);
  return frame;
}

StudyFigure TimeFigure(const Study& study, size_t axis, const std::vector<Facet>& facets,
                       bool of_steps) {
  const StudyAxis& described = study.axes[axis];
  const Frame frame = FrameOf(study, axis, facets);
  const Panels panels(facets.size() * frame.groups.size(), frame.size,
                      frame.labelled ? Legend{} : LegendOf(frame),
                      GroupColumns(facets.size(), frame.groups.size()));
  StudyFigure figure;
  figure.kind = FigureKind::kTimeToTarget;
  figure.name = (of_steps ? "step-time-" : "tta-") + described.name;
  figure.heading = fmt::format("{} against {}", of_steps ? "Mean time of a step" : "Time to target",
                               ShowAxisName(described));
  figure.axes = {described.name};
  DataFile data(figure.name);
  std::vector<std::string> drawn;
  for (const PolicyGroup& group : frame.groups) {
    for (const Facet& facet : facets) drawn.push_back(FacetPanel(frame, facet, group, data));
  }
  const std::string marks = frame.labelled ? MarksNote(frame) : "";
  std::string subtitle = SeedsNote(study, "bars") + marks;
  if (!of_steps) {
    for (const Facet& facet : facets) figure.words.push_back(TimeWords(study, facet));
    subtitle =
        fmt::format("target {}, {}", ShowValue(ShownMetric(study), study.target->value), subtitle);
  }
  figure.script = panels.Figure(figure.name, figure.heading, subtitle,
                                {AxisLabel(ShowAxisName(described), described.unit,
                                           frame.logarithmic_x && CanBeLogarithmic(frame.x)),
                                 AxisLabel(of_steps ? "mean time of a step" : "time to target", "s",
                                           CanBeLogarithmic(frame.y))},
                                drawn);
  figure.data = data.text();
  return figure;
}

}  // namespace

std::vector<StudyFigure> TimeFigures(const Study& study, const FigureOptions& options) {
  std::vector<StudyFigure> figures;
  if (!study.target) return figures;
  for (const size_t axis : NumericAxes(study)) {
    std::string note;
    std::vector<Facet> facets = ShownFacets(study, axis, options.facets, note);
    if (facets.empty()) continue;
    if (const size_t groups = GroupsIn(study, facets).size(); groups > 1) {
      note.clear();
      facets = ShownFacets(study, axis, std::max<size_t>(1, options.facets / groups), note);
    }
    figures.push_back(TimeFigure(study, axis, facets, options.of_steps));
    figures.back().note = note;
  }
  // The parts of a step have the times of steps by policy.
  if (NumericAxes(study).empty() && !options.of_steps) return TimeDots(study, options);
  return figures;
}

}  // namespace legacy::analysis
