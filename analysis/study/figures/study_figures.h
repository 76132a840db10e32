// gnuplot draws the printed figures of a study as SVG, PNG and PDF from a data file (NAME.dat) and
// a script (NAME.gp), which are kept next to them, so that a user can restyle them.
//
// Figures: time-to-target over each numeric axis, speed-up maps over pairs of numeric axes, who
// gains where, break-even, parts of a step's time, the metric against bytes and against simulated
// time, the final metric against bytes a step. A study of shapes trains nothing: there the first
// four are of the mean time of a step. Figures are pure functions of the study: equal studies give
// equal files, byte for byte. Points that are pending or failed are left out. Trainings that
// never reached the target are drawn where they ended, as open triangles.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

enum class FigureKind {
  kTimeToTarget,
  kSpeedupMap,
  kGains,
  kBreakEven,
  kStepSplit,
  kMetric,
  kVolume
};

struct StudyFigure {
  FigureKind kind = FigureKind::kTimeToTarget;
  std::string name;     // stable name of the files: "tta-bandwidth", "step-gains-bandwidth"
  std::string heading;  // heading for people: "Time to target against bandwidth"
  std::string note;     // says what was left out; "" for nothing
  std::vector<std::string> words;  // paragraphs of words.h, one for each panel that has one
  std::vector<std::string> axes;   // names of the axes: one, two of a map, or none
  std::string script;  // script that draws NAME.svg, NAME.png and NAME.pdf where it runs
  std::string data;    // content of NAME.dat
};

struct FigureOptions {
  size_t facets = 12;  // most panels of a figure; of more, evenly spread ones are shown
  // True where the times are those of a step and not to the target, as nothing was trained.
  // MakeStudyFigures sets it.
  bool of_steps = false;
};

// Returns the figures, without those that have nothing to show (no axis of numbers, no point done
// yet).
std::vector<StudyFigure> MakeStudyFigures(const Study& study, const FigureOptions& options = {});

// Returns the figure of that name. Throws Error with the list where there is none.
const StudyFigure& FigureNamed(const std::vector<StudyFigure>& figures, const std::string& name);

struct DrawnFigures {
  std::vector<std::filesystem::path> files;  // .dat, .gp, and the pictures that gnuplot made
  std::vector<std::string> warnings;         // gnuplot is missing, or its errors
};

// Writes data and scripts into `directory`, which it creates, and lets one gnuplot draw all of
// them. Where gnuplot is missing, the result has a warning. Throws Error where a file cannot be
// written.
DrawnFigures DrawStudyFigures(const std::vector<StudyFigure>& figures,
                              const std::filesystem::path& directory,
                              const std::string& gnuplot = "gnuplot");

}  // namespace legacy::analysis
