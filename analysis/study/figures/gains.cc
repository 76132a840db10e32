// Figure of who gains where: a row for each combination of the other axes, a column for each value
// of the primary axis. A cell's colour says how much sooner than its reference the best policy
// reaches the target, and its text which one that is.
#include "analysis/study/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/study/advice.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "analysis/study/words_parts.h"
#include "analysis/table_text.h"
#include "base/number.h"
#include "base/programs/terminal.h"

namespace legacy::analysis {
namespace {

constexpr const char* kStepsDiffer =
    " Nothing was trained: how many steps a method needs to a target is not known.";
constexpr double kNameRise = 0.2;     // height of a name above the middle, in cells
constexpr size_t kRows = 24;          // most rows
constexpr double kLeastGainSpan = 1;  // least range of the colours, in factors of 2
constexpr double kDarkGain = 0.6;     // part of the span above which a cell is dark

// A Gain is the result that a place shows.
struct Gain {
  bool known = false;    // some policies have reached the target with all seeds, or none has
  bool reached = false;  // some have
  double ratio = 1;      // TTA of the reference over that of the best policy
  bool bounded = false;  // the reference did not reach the target with every seed
  bool sooner = false;   // some policy gains
  size_t best = 0;
  bool best_is_told = false;  // told apart from all others
};

Gain GainAt(const Study& study, const Place& place, size_t reference) {
  Gain gain;
  for (const Outcome& outcome : place.outcomes) {
    if (outcome.done < outcome.planned) return gain;  // it may yet be the best
    gain.known |= outcome.planned > 0;
  }
  const std::vector<size_t> ranking = RankingOf(place);
  gain.reached = !ranking.empty();
  if (!gain.reached) return gain;
  gain.best = ranking.front();
  gain.best_is_told = std::ranges::all_of(place.outcomes, [&](const Outcome& other) {
    const auto p = static_cast<size_t>(&other - place.outcomes.data());
    return p == gain.best || other.planned == 0 ||
           StandingOf(SpeedupOf(study, place, gain.best, p)) == Standing::kSooner;
  });
  if (gain.best == reference || place.outcomes[reference].planned == 0) return gain;
  const Speedup over = SpeedupOf(study, place, gain.best, reference);
  if (!over.known()) return gain;
  gain.ratio = over.ratio;
  gain.bounded = over.bounded();
  gain.sooner = std::ranges::any_of(GainingAt(study, place, reference), std::identity());
  return gain;
}

struct GainMap {
  std::vector<Facet> rows;
  std::vector<double> x;                  // values of the columns, ascending
  std::vector<std::vector<Gain>> places;  // [row][column]; not known: not in the grid
  double span = kLeastGainSpan;
  int gaining = 0, all = 0;
  bool bounded = false;  // true if a gain is a bound
};

GainMap GainMapOf(const Study& study, size_t axis, size_t reference, std::string& note) {
  GainMap map;
  map.rows = ShownFacets(study, axis, kRows, note);
  for (const Facet& row : map.rows) map.x.insert(map.x.end(), row.x.begin(), row.x.end());
  std::ranges::sort(map.x);
  map.x.erase(std::unique(map.x.begin(), map.x.end()), map.x.end());
  for (const Facet& row : map.rows) {
    std::vector<Gain>& gains = map.places.emplace_back(map.x.size());
    for (size_t i = 0; i < row.places.size(); ++i) {
      const auto column = std::ranges::lower_bound(map.x, row.x[i]) - map.x.begin();
      Gain& gain = gains[static_cast<size_t>(column)] = GainAt(study, row.places[i], reference);
      map.all += gain.known;
      map.gaining += gain.sooner;
      map.bounded |= gain.bounded;
      if (gain.known && !gain.bounded) {
        map.span = std::max(map.span, std::abs(std::log2(gain.ratio)));
      }
    }
  }
  return map;
}

std::string RatioText(const Gain& gain) {
  return fmt::format("{}{:.{}f}", gain.bounded ? "≥" : "", gain.ratio, gain.ratio >= 9.95 ? 0 : 1);
}

// Rows of the figure's data.
struct GainCells {
  std::vector<std::vector<std::string>> gains, bounds, missed, texts;
};

GainCells GainCellsOf(const Study& study, const GainMap& map) {
  GainCells cells;
  for (size_t r = 0; r < map.places.size(); ++r) {
    for (size_t c = 0; c < map.x.size(); ++c) {
      const Gain& gain = map.places[r][c];
      if (!gain.known) continue;
      const auto column = static_cast<double>(c), row = static_cast<double>(r);
      const bool plain = gain.bounded || gain.ratio < kLeastGain;
      const double colour = plain ? 0 : std::log2(gain.ratio);
      (!gain.reached  ? cells.missed
       : gain.bounded ? cells.bounds
                      : cells.gains)
          .push_back({Cell(column), Cell(row), Cell(column - 0.5), Cell(column + 0.5),
                      Cell(row - 0.5), Cell(row + 0.5), Cell(colour), Cell(map.x[c])});
      if (!gain.reached) continue;
      const std::string ink = colour > kDarkGain * map.span ? "0xFFFFFF" : "0x222222";
      const std::string name = gain.best_is_told ? PolicyLabel(study, gain.best) : "-";
      const bool alone = gain.ratio < kLeastGain && !gain.bounded;
      cells.texts.push_back({Cell(column), Cell(row - (alone ? 0 : kNameRise)), Cell(name), ink});
      if (alone) continue;
      cells.texts.push_back({Cell(column), Cell(row + kNameRise), Cell(RatioText(gain)), ink});
    }
  }
  return cells;
}

// Sizes in points.
constexpr int kCellHeight = 34;
constexpr int kLeastCell = 50;       // width of a cell
constexpr double kCharacter = 6.2;   // width of a cell's character
constexpr double kRowCharacter = 6;  // width of a row's name's

std::string RowName(const Study& study, const Facet& row) {
  return row.name.empty() ? study.title : row.name;
}

Panels::Size GainSizeOf(const Study& study, const GainMap& map) {
  size_t longest = 0, name = 0;
  for (size_t r = 0; r < map.rows.size(); ++r) {
    name = std::max(name, DisplayWidth(RowName(study, map.rows[r])));
    for (const Gain& gain : map.places[r]) {
      if (gain.best_is_told)
        longest = std::max(longest, DisplayWidth(PolicyLabel(study, gain.best)));
    }
  }
  const int cell =
      std::max(kLeastCell, static_cast<int>(kCharacter * static_cast<double>(longest)));
  Panels::Size size;
  size.left = 30 + static_cast<int>(kRowCharacter * static_cast<double>(name));
  size.width = size.left + size.right + cell * static_cast<int>(map.x.size());
  size.height = size.top + size.bottom + kCellHeight * static_cast<int>(map.rows.size());
  return size;
}

// Returns a tick's label, quoted: a value and, in a second line, its unit. Gnuplot takes the text
// of a label as a format, and breaks lines in double quotes alone.
std::string TickText(double value, const StudyAxis& axis) {
  std::string text =
      QuoteTick(axis.unit.empty() ? FormatNumber(value) : ShowQuantity(value, axis.unit, 3));
  std::ranges::replace(text, '\'', '"');
  const size_t space = text.find(' ');
  return space == std::string::npos ? text : text.replace(space, 1, "\\n");
}

std::string GainAxes(const Study& study, const GainMap& map, const StudyAxis& axis) {
  std::vector<std::string> columns, rows;
  for (size_t c = 0; c < map.x.size(); ++c) {
    columns.push_back(fmt::format("{} {}", TickText(map.x[c], axis), c));
  }
  for (size_t r = 0; r < map.rows.size(); ++r) {
    rows.push_back(fmt::format("{} {}", QuoteTick(RowName(study, map.rows[r])), r));
  }
  return fmt::format(
      "set xtics scale 0 ({}) noenhanced\nset ytics scale 0 ({}) noenhanced\n"
      "set xrange [-0.5:{}]\nset yrange [{}:-0.5]\nunset grid\n",
      fmt::join(columns, ", "), fmt::join(rows, ", "),
      CsvNumber(static_cast<double>(map.x.size()) - 0.5),
      CsvNumber(static_cast<double>(map.rows.size()) - 0.5));
}

std::string GainColours(double span) {
  std::vector<std::string> ticks;
  const int most = static_cast<int>(std::floor(span));
  const int step = std::max(1, most / 4);
  for (int power = 0; power <= most; power += step) {
    ticks.push_back(fmt::format("'{}' {}", 1 << power, power));
  }
  return fmt::format(
      "set palette defined (0 '#FFFFFF', 0.02 '#E3EDF5', 0.5 '#67A9CF', 1 '#1B4F86')\n"
      "set cbrange [0:{}]\nset cbtics ({})\n",
      CsvNumber(span), fmt::join(ticks, ", "));
}

std::string DrawGains(const GainCells& cells, DataFile& data) {
  const std::vector<std::string> columns = {"column", "row", "left",      "right",
                                            "bottom", "top", "log2_gain", "x"};
  std::vector<std::string> parts;
  if (!cells.gains.empty()) {
    parts.push_back(
        data.Add("gains", columns, cells.gains) +
        " using 1:2:3:4:5:6:7 with boxxyerror lc palette fs solid border rgb '#BBBBBB'");
  }
  if (!cells.bounds.empty()) {
    parts.push_back(
        data.Add("bounds", columns, cells.bounds) +
        fmt::format(" using 1:2:3:4:5:6 with boxxyerror lc rgb '{}' fs solid border rgb '#BBBBBB'",
                    kBoundCell));
  }
  if (!cells.missed.empty()) {
    parts.push_back(data.Add("nobody reached the target", columns, cells.missed) +
                    " using 1:2:3:4:5:6 with boxxyerror lc rgb '#999999' fs pattern 4 border rgb "
                    "'#BBBBBB'");
  }
  if (!cells.texts.empty()) {
    parts.push_back(data.Add("texts", {"column", "row", "text", "colour"}, cells.texts) +
                    " using 1:2:3:4 with labels tc rgb variable font ',9' noenhanced");
  }
  return Plot(parts);
}

}  // namespace

std::vector<StudyFigure> GainFigures(const Study& study, const FigureOptions& options) {
  const std::optional<size_t> axis = PrimaryAxis(study);
  const std::optional<size_t> reference = GainReference(study);
  if (!axis || !study.target || study.policies.size() < 2 || !reference) return {};
  const std::string& name = study.policies[*reference];
  StudyFigure figure;
  const GainMap map = GainMapOf(study, *axis, *reference, figure.note);
  if (map.all == 0) return {};
  const StudyAxis& x = study.axes[*axis];
  figure.kind = FigureKind::kGains;
  figure.name = (options.of_steps ? "step-gains-" : "gains-") + x.name;
  const std::string sooner = options.of_steps ? "shorter" : "sooner";
  const std::string gain =
      fmt::format("any method{} is {} than {}", options.of_steps ? "'s step" : "", sooner, name);
  figure.heading =
      fmt::format("Who gains where: {} in {} of {} set-ups", gain, map.gaining, map.all);
  figure.axes = {x.name};
  const std::string seeds = study.seeds.size() > 1
                                ? fmt::format(" (-: {} seeds cannot tell it)", study.seeds.size())
                                : "";
  const std::string subtitle =
      fmt::format("the best method{}, and how many times {} than {}{}{}", seeds, sooner, name,
                  map.bounded ? "; grey: at least" : "",
                  options.of_steps ? "" : "; hatched: nobody reaches the target");
  const std::string scale = "times " + sooner;
  const Panels panels(1, GainSizeOf(study, map), {.entries = {}, .texts = {scale}}, 1);
  DataFile data(figure.name);
  const std::string drawn = GainColours(map.span) + GainAxes(study, map, x) +
                            panels.ColourBox(scale) + DrawGains(GainCellsOf(study, map), data);
  figure.script =
      panels.Figure(figure.name, figure.heading, subtitle, {ShowAxisName(x), ""}, {drawn});
  figure.data = data.text();
  figure.words.push_back(
      fmt::format("Any method{} {} than {} by 5 % or more{} in {} of {} set-ups.{}",
                  options.of_steps ? "'s step is" : " reaches the target", sooner, name,
                  study.seeds.size() > 1 ? ", beyond the differences between seeds," : "",
                  map.gaining, map.all, options.of_steps ? kStepsDiffer : ""));
  return {figure};
}

}  // namespace legacy::analysis
