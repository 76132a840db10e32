// The kinds of figures of a study, one function each. All leave out what has nothing to show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/study/figures/study_figures.h"
#include "analysis/study/statistics.h"

namespace legacy::analysis {

// Time-to-accuracy over each numeric axis, a panel for each facet; a chart of dots where no axis
// has numbers.
std::vector<StudyFigure> TimeFigures(const Study& study, const FigureOptions& options);

// The chart of dots alone.
std::vector<StudyFigure> TimeDots(const Study& study, const FigureOptions& options);

// Speed-up over each pair of numeric axes, a panel for each policy, a file for each plane.
std::vector<StudyFigure> SpeedupFigures(const Study& study, const FigureOptions& options);

// Where policies break even with the baseline along each numeric axis, beside the textbook.
std::vector<StudyFigure> BreakEvenFigures(const Study& study, const FigureOptions& options);

// What a step's time goes to, at some places.
std::vector<StudyFigure> StepFigures(const Study& study, const FigureOptions& options);

// Accuracy against bytes and against simulated time, at some places.
std::vector<StudyFigure> AccuracyFigures(const Study& study, const FigureOptions& options);

// Final accuracy against bytes a step, over each numeric axis that says how much most policies
// send.
std::vector<StudyFigure> VolumeFigures(const Study& study, const FigureOptions& options);

// The axis that places are chosen along: the one with the most values, of equal ones "bandwidth";
// nothing where no axis has numbers.
std::optional<size_t> PrimaryAxis(const Study& study);

// Facets with something done at one place at least, `limit` of them, evenly spread. `note` is
// added to where some were left out.
std::vector<Facet> ShownFacets(const Study& study, size_t axis, size_t limit, std::string& note);

struct ShownPlace {
  std::string name;  // "10 Gbit/s, 8 workers"
  Place place;
  int chosen = 1;  // places of its facet that are shown
};
// Of facets along the primary axis, places with something done: its middle value (choices = 1), or
// its lowest, middle and highest (3), `limit` panels in all. Where no axis has numbers, all places.
std::vector<ShownPlace> ShownPlaces(const Study& study, size_t choices, size_t limit,
                                    std::string& note);

// Columns that keep the places of a facet in one row; 0 where facets differ or have one place each.
int ColumnsOf(const std::vector<ShownPlace>& shown);

// True where the policy has a point that is done in one of these.
bool IsDone(const std::vector<Place>& places, size_t policy);

// "mean of 3 seeds, bars: ± 1 standard deviation", or "1 seed".
std::string SeedsNote(const Study& study, const std::string& what);

}  // namespace legacy::analysis
