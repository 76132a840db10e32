// Figures of the speed-up over the baseline on every two numeric axes: one map for each policy,
// coloured by the logarithm of the speed-up, white at 1. Bounds are grey, as they are not results.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "analysis/study/words.h"
#include "analysis/table_text.h"
#include "base/programs/terminal.h"

namespace legacy::analysis {
namespace {

constexpr size_t kPlanes = 4;          // most files of each pair of axes
constexpr size_t kNumberedCells = 16;  // most cells across in which numbers fit
constexpr double kLeastSpan = 0.2;     // least range of the colours, in factors of 2
constexpr double kDarkPart = 0.62;     // part of the span above which a cell is dark

struct Map {
  const Study& study;
  const Plane& plane;
  double span = kLeastSpan;  // largest |log2(speed-up)|
  bool numbers = true;
};

std::string CellText(const Speedup& speedup) {
  if (!speedup.known()) return speedup.missed_by_both > 0 ? "n/r" : "?";
  const double ratio = speedup.ratio;
  const int decimals = ratio >= 99.95 ? 0 : ratio >= 9.995 ? 1 : 2;
  const std::string text = fmt::format("{:.{}f}", ratio, decimals);
  if (speedup.bound == Bound::kAtLeast) return "≥" + text;
  return speedup.bound == Bound::kAtMost ? "≤" + text : text;
}

bool IsExact(const Speedup& speedup) { return speedup.known() && !speedup.bounded(); }

// Rows of a map's data: cells with a speed-up, cells with a bound or nothing, and texts.
struct MapRows {
  std::vector<std::vector<std::string>> known, unknown, texts;
};

void AddCell(const Map& map, const Speedup& speedup, size_t x, size_t y, MapRows& cells) {
  const auto column = static_cast<double>(x), row = static_cast<double>(y);
  const double colour = IsExact(speedup) ? std::log2(speedup.ratio) : 0;
  (IsExact(speedup) ? cells.known : cells.unknown)
      .push_back({Cell(column), Cell(row), Cell(column - 0.5), Cell(column + 0.5), Cell(row - 0.5),
                  Cell(row + 0.5), Cell(colour), Cell(map.plane.x[x]), Cell(map.plane.y[y])});
  if (!map.numbers && !speedup.bounded()) return;
  std::string text = CellText(speedup);
  if (!map.numbers) text = speedup.bound == Bound::kAtLeast ? "≥" : "≤";
  const bool dark = std::abs(colour) > kDarkPart * map.span;
  cells.texts.push_back({Cell(column), Cell(row), Cell(text), dark ? "0xFFFFFF" : "0x222222"});
}

MapRows CellsOf(const Map& map, size_t policy) {
  MapRows cells;
  for (size_t y = 0; y < map.plane.y.size(); ++y) {
    for (size_t x = 0; x < map.plane.x.size(); ++x) {
      const std::optional<Place>& place = map.plane.places[y * map.plane.x.size() + x];
      if (!place || place->outcomes[policy].planned == 0) continue;
      AddCell(map, place->outcomes[policy].speedup, x, y, cells);
    }
  }
  return cells;
}

std::string MapPanel(const Map& map, size_t policy, DataFile& data) {
  const std::vector<std::string> columns = {"column", "row",          "left", "right", "bottom",
                                            "top",    "log2_speedup", "x",    "y"};
  const std::string& name = map.study.policies[policy];
  const MapRows cells = CellsOf(map, policy);
  std::vector<std::string> parts;
  if (!cells.known.empty()) {
    parts.push_back(data.Add(name, columns, cells.known) +
                    " using 1:2:3:4:5:6:7 with boxxyerror lc palette fs solid border rgb 'white'");
  }
  if (!cells.unknown.empty()) {
    parts.push_back(
        data.Add(name + ", bounds and what is not known", columns, cells.unknown) +
        fmt::format(" using 1:2:3:4:5:6 with boxxyerror lc rgb '{}' fs solid border rgb 'white'",
                    kBoundCell));
  }
  if (!cells.texts.empty()) {
    parts.push_back(data.Add(name + ", texts", {"column", "row", "text", "colour"}, cells.texts) +
                    " using 1:2:3:4 with labels tc rgb variable font ',8' noenhanced");
  }
  return PanelTitle(PolicyLabel(map.study, policy)) + Plot(parts);
}

// Sizes in points.
constexpr int kNumberedWidth = 32;  // width of a cell with a number
constexpr int kNumberedHeight = 25;
constexpr int kPlainSide = 14;      // side of a cell without a number
constexpr double kTickLength = 46;  // width of a column's label
constexpr double kTickHeight = 18;  // height of a row's label

// Returns the settings of an axis with the positions 0, 1, ..., and its values as labels at every
// `stride`-th position.
std::string Positions(const std::string& axis, const std::vector<double>& values,
                      const std::string& unit, size_t stride) {
  std::vector<std::string> ticks;
  for (size_t i = 0; i < values.size(); i += stride) {
    ticks.push_back(
        fmt::format("{} {}", QuoteTick(PrefixedNumber(values[i], unit, values.front())), i));
  }
  return fmt::format("set {0}tics scale 0 ({1}) noenhanced\nset {0}range [-0.5:{2}]\n", axis,
                     fmt::join(ticks, ", "), CsvNumber(static_cast<double>(values.size()) - 0.5));
}

// Returns the size of a map's panel. `label` is that of the rows' axis, which is written upwards
// next to them.
Panels::Size SizeOf(const Plane& plane, const std::string& label) {
  const auto columns = static_cast<int>(plane.x.size()), rows = static_cast<int>(plane.y.size());
  const bool numbered = plane.x.size() <= kNumberedCells;
  const int upright = static_cast<int>(6.6 * static_cast<double>(DisplayWidth(label)));
  Panels::Size size;
  size.width =
      size.left + size.right + std::max(160, columns * (numbered ? kNumberedWidth : kPlainSide));
  size.height = size.top + size.bottom +
                std::max({50, upright - 40, rows * (numbered ? kNumberedHeight : kPlainSide)});
  return size;
}

size_t StrideOf(double label, int length, size_t cells) {
  const double cell = static_cast<double>(length) / static_cast<double>(cells);
  return std::max<size_t>(1, static_cast<size_t>(std::ceil(label / cell)));
}

// Returns the settings of the scale of colours, with ticks at ratios.
std::string Colours(double span) {
  std::vector<std::string> ticks;
  const int most = static_cast<int>(std::floor(span));
  const int step = std::max(1, most / 2);
  for (int power = -most / step * step; power <= most; power += step) {
    ticks.push_back(power < 0 ? fmt::format("'1/{}' {}", 1 << -power, power)
                              : fmt::format("'{}' {}", 1 << power, power));
  }
  if (most == 0) {
    ticks = {fmt::format("'{:.2g}' {}", std::exp2(-span), CsvNumber(-span)), "'1' 0",
             fmt::format("'{:.3g}' {}", std::exp2(span), CsvNumber(span))};
  }
  return fmt::format(
      "set palette defined (-1 '#B35806', -0.5 '#F1A340', 0 '#F7F7F7', 0.5 '#67A9CF', 1 "
      "'#2166AC')\n"
      "set cbrange [{}:{}]\nset cbtics ({})\nunset grid\n",
      CsvNumber(-span), CsvNumber(span), fmt::join(ticks, ", "));
}

Map MapOf(const Study& study, const Plane& plane, const std::vector<size_t>& policies) {
  Map map{.study = study, .plane = plane};
  map.numbers = plane.x.size() <= kNumberedCells;
  for (const auto& place : plane.places) {
    for (const size_t policy : policies) {
      if (!place || !IsExact(place->outcomes[policy].speedup)) continue;
      map.span = std::max(map.span, std::abs(std::log2(place->outcomes[policy].speedup.ratio)));
    }
  }
  return map;
}

StudyFigure MapFigure(const Study& study, const Plane& plane, const std::string& name,
                      const std::vector<size_t>& policies, bool of_steps) {
  const Map map = MapOf(study, plane, policies);
  const StudyAxis& x_axis = study.axes[plane.x_axis];
  const StudyAxis& y_axis = study.axes[plane.y_axis];
  const Panels::Size size = SizeOf(plane, AxisLabel(ShowAxisName(y_axis), y_axis.unit));
  const int columns = std::min<int>(size.width > 360 ? 2 : 3, static_cast<int>(policies.size()));
  const Panels panels(policies.size(), size, {.entries = {}, .texts = {"speed-up"}}, columns);
  const size_t x_stride =
      StrideOf(kTickLength, size.width - size.left - size.right, plane.x.size());
  const size_t y_stride =
      StrideOf(kTickHeight, size.height - size.top - size.bottom, plane.y.size());
  const std::string common = Colours(map.span) + Positions("x", plane.x, x_axis.unit, x_stride) +
                             Positions("y", plane.y, y_axis.unit, y_stride);
  DataFile data(name);
  std::vector<std::string> drawn;
  StudyFigure figure;
  for (size_t i = 0; i < policies.size(); ++i) {
    drawn.push_back((i == 0 ? common + panels.ColourBox(of_steps ? "times shorter" : "times sooner")
                            : "unset colorbox\n") +
                    MapPanel(map, policies[i], data));
    if (!of_steps) figure.words.push_back(SpeedupMapWords(study, plane, policies[i]));
  }
  figure.kind = FigureKind::kSpeedupMap;
  figure.name = name;
  figure.heading = fmt::format("Speed-up{} over {}: {} and {}", of_steps ? " of a step" : "",
                               study.baseline, ShowAxisName(x_axis), ShowAxisName(y_axis));
  figure.axes = {x_axis.name, y_axis.name};
  const std::string ratio = of_steps ? "ratio of mean step times, paired by seed"
                                     : "TTA ratio, paired by seed; grey: bounds (≥ ≤), and n/r "
                                       "where neither reached the target";
  const std::string subtitle = (plane.name.empty() ? "" : plane.name + "; ") + ratio;
  figure.script = panels.Figure(
      name, figure.heading, subtitle,
      {AxisLabel(ShowAxisName(x_axis), x_axis.unit), AxisLabel(ShowAxisName(y_axis), y_axis.unit)},
      drawn);
  figure.data = data.text();
  return figure;
}

bool HasSpeedups(const Plane& plane, size_t policy) {
  return std::any_of(plane.places.begin(), plane.places.end(), [policy](const auto& place) {
    return place && place->outcomes[policy].speedup.known();
  });
}

}  // namespace

std::vector<StudyFigure> SpeedupFigures(const Study& study, const FigureOptions& options) {
  std::vector<StudyFigure> figures;
  for (const auto& [first, second] : NumericAxisPairs(study)) {
    const bool turned = study.axes[second].values.size() > study.axes[first].values.size();
    const std::vector<Plane> planes =
        turned ? PlanesOf(study, second, first) : PlanesOf(study, first, second);
    const size_t limit = std::min(kPlanes, options.facets);
    for (const size_t i : EvenlySpread(planes.size(), limit)) {
      std::vector<size_t> policies;
      for (size_t p = 0; p < study.policies.size(); ++p) {
        if (study.policies[p] != study.baseline && HasSpeedups(planes[i], p)) policies.push_back(p);
      }
      if (policies.empty()) continue;
      std::string name =
          fmt::format("{}speedup-{}-{}", options.of_steps ? "step-" : "",
                      study.axes[planes[i].x_axis].name, study.axes[planes[i].y_axis].name);
      if (!planes[i].slug.empty() && planes.size() > 1) name += "-" + planes[i].slug;
      figures.push_back(MapFigure(study, planes[i], name, policies, options.of_steps));
      if (planes.size() > limit) {
        figures.back().note =
            fmt::format("{} of {} combinations of the other axes are shown; tables have all.",
                        limit, planes.size());
      }
    }
  }
  return figures;
}

}  // namespace legacy::analysis
