// Each kind of figure of a study has a function. All leave out figures that have nothing to show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/study/figures/study_figures.h"
#include "analysis/study/statistics.h"

namespace legacy::analysis {

// Returns time-to-target over each numeric axis, with a panel for each facet, or a chart of dots
// where no axis has numbers.
std::vector<StudyFigure> TimeFigures(const Study& study, const FigureOptions& options);

// Returns the chart of dots alone.
std::vector<StudyFigure> TimeDots(const Study& study, const FigureOptions& options);

// Returns speed-up over each pair of numeric axes, with a panel for each policy and a file for each
// plane.
std::vector<StudyFigure> SpeedupFigures(const Study& study, const FigureOptions& options);

// Returns who gains where over the primary axis, with a row for each combination of the others.
std::vector<StudyFigure> GainFigures(const Study& study, const FigureOptions& options);

// Returns the values of each numeric axis at which policies break even with the baseline, and the
// textbook's.
std::vector<StudyFigure> BreakEvenFigures(const Study& study, const FigureOptions& options);

// Returns the parts of a step's time, at some places.
std::vector<StudyFigure> StepFigures(const Study& study, const FigureOptions& options);

// Returns the metric against bytes and against simulated time, at some places.
std::vector<StudyFigure> MetricFigures(const Study& study, const FigureOptions& options);

// Returns the final metric against bytes a step, over each numeric axis that determines how much
// most policies send.
std::vector<StudyFigure> VolumeFigures(const Study& study, const FigureOptions& options);

// Returns the axis along which places are chosen: the numeric one with the most values, of equal
// ones "bandwidth"; nothing where no axis has numbers.
std::optional<size_t> PrimaryAxis(const Study& study);

// Returns facets with results at one place at least, up to `limit` of them, evenly spread. Adds to
// `note` where some were left out.
std::vector<Facet> ShownFacets(const Study& study, size_t axis, size_t limit, std::string& note);

struct ShownPlace {
  std::string name;  // "10 Gbit/s, 8 workers"
  Place place;
  int chosen = 1;  // number of places of its facet that are shown
};
// Returns places with results, of facets along the primary axis: at its middle value (choices = 1),
// or at its lowest, middle and highest (3), up to `limit` panels in all. Where no axis has numbers,
// all places are returned.
std::vector<ShownPlace> ShownPlaces(const Study& study, size_t choices, size_t limit,
                                    std::string& note);

// Returns the number of columns that keeps the places of a facet in one row; 0 where facets differ
// or have one place each.
int ColumnsOf(const std::vector<ShownPlace>& shown);

// True where the policy has a point that is done at one of the places.
bool IsDone(const std::vector<Place>& places, size_t policy);

// Returns "mean of 3 seeds, bars: ± 1 standard deviation", or "1 seed".
std::string SeedsNote(const Study& study, const std::string& what);

}  // namespace legacy::analysis
