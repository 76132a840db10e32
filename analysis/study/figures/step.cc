// Figure of the parts of a step's time: a bar for each policy, at some places.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/csv.h"
#include "analysis/drawing.h"
#include "analysis/step_parts.h"
#include "analysis/study/figures/figures.h"
#include "analysis/study/figures/parts.h"
#include "analysis/study/quantities.h"
#include "analysis/study/words.h"
#include "analysis/table_text.h"

namespace legacy::analysis {
namespace {

constexpr int kStepRowHeight = 22;
constexpr double kHalfBar = 0.36;  // half of a bar's height, in rows

std::string StepPanel(const Study& study, const ShownPlace& shown,
                      const std::vector<size_t>& policies, DataFile& data) {
  std::vector<std::string> parts;
  std::vector<double> ends(policies.size(), 0);
  for (const StepPart& part : kStepParts) {
    std::vector<std::vector<std::string>> rows;
    for (size_t row = 0; row < policies.size(); ++row) {
      const Outcome& outcome = shown.place.outcomes[policies[row]];
      if (outcome.done == 0) continue;
      const double y = -static_cast<double>(row), left = ends[row];
      ends[row] += outcome.step.*part.seconds;
      rows.push_back({Cell((left + ends[row]) / 2), Cell(y), Cell(left), Cell(ends[row]),
                      Cell(y - kHalfBar), Cell(y + kHalfBar), Cell(study.policies[policies[row]])});
    }
    if (rows.empty()) continue;
    parts.push_back(fmt::format(
        "{} using 1:2:3:4:5:6 with boxxyerror lc rgb '{}' lw 0.4 fs solid 1 border rgb 'white'",
        data.Add(fmt::format("{}, {} [s]", part.name, shown.name),
                 {"middle", "row", "left", "right", "bottom", "top", "policy"}, rows),
        part.colour));
  }
  Range range;
  range.Add(0);
  std::string labels;
  for (size_t row = 0; row < policies.size(); ++row) {
    const Outcome& outcome = shown.place.outcomes[policies[row]];
    range.Add(ends[row] * 1.3);
    labels += fmt::format(
        "set label {} at {}, first -{} left offset 0.5,0 font ',9' noenhanced front\n",
        Quote(outcome.done > 0 ? ShowQuantity(outcome.step_seconds.mean, "s") : "not done"),
        CsvNumber(ends[row]), row);
  }
  if (range.high <= 0) range.Add(1);
  return labels + SetAxis("x", range, "s", false) + PanelTitle(shown.name) + Plot(parts);
}

}  // namespace

std::vector<StudyFigure> StepFigures(const Study& study, const FigureOptions& options) {
  std::string note;
  const std::vector<ShownPlace> shown = ShownPlaces(study, 3, options.facets, note);
  if (shown.empty()) return {};
  std::vector<Place> places;
  for (const ShownPlace& place : shown) places.push_back(place.place);
  std::vector<size_t> policies;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    if (IsDone(places, p)) policies.push_back(p);
  }
  Panels::Size size;
  size.left = 12;
  size.names = RowNamesWidth(study, policies);
  size.width = shown.size() == 1 ? 480 : 300;
  size.height = size.top + size.bottom + 8 + kStepRowHeight * static_cast<int>(policies.size());
  Legend legend;
  for (const StepPart& part : kStepParts) {
    legend.texts.push_back(part.name);
    legend.entries.push_back(fmt::format("keyentry with boxes lc rgb '{}' fs solid 1 title '{}'",
                                         part.colour, part.name));
  }
  const Panels panels(shown.size(), size, std::move(legend), ColumnsOf(shown));

  StudyFigure figure;
  figure.kind = FigureKind::kStepSplit;
  figure.name = "step-split";
  figure.heading = "What a training step's simulated time goes to";
  DataFile data(figure.name);
  std::vector<std::string> drawn;
  for (size_t i = 0; i < shown.size(); ++i) {
    drawn.push_back(RowNames(study, policies, panels.AtLeft(i)) +
                    StepPanel(study, shown[i], policies, data));
    figure.words.push_back(StepWords(study, shown[i].place));
  }
  const int64_t seeds = static_cast<int64_t>(study.seeds.size());
  figure.script = panels.Figure(
      figure.name, figure.heading,
      fmt::format("mean over steps, workers and {}; scales differ", ShowCount(seeds, "seed")),
      {"mean step time [s]", ""}, drawn);
  figure.data = data.text();
  figure.note = note;
  return {figure};
}

}  // namespace legacy::analysis
