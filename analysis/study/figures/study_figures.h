// The printed figures of a study, drawn by gnuplot as SVG, PNG and PDF from a data file (NAME.dat)
// and a script (NAME.gp) that stay beside them, so that a user can restyle them.
//
// Figures: time-to-accuracy over each numeric axis, speed-up maps over pairs of numeric axes,
// break-even, where a step's time goes, accuracy against bytes and against simulated time, final
// accuracy against bytes a step. Pure
// functions of the study: equal studies give equal files, byte for byte. Points that are pending or
// failed are holes; trainings that never reached the target are drawn where they ended, as open
// triangles.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/study/study.h"

namespace legacy::analysis {

enum class FigureKind { kTimeToAccuracy, kSpeedupMap, kBreakEven, kStepSplit, kAccuracy, kVolume };

struct StudyFigure {
  FigureKind kind = FigureKind::kTimeToAccuracy;
  std::string name;     // of the files, stable: "tta-bandwidth", "speedup-bandwidth-workers"
  std::string heading;  // for people: "Time to accuracy against bandwidth"
  std::string note;     // what was left out; "" for nothing
  std::vector<std::string> words;  // a paragraph for each panel that has one, from words.h
  std::vector<std::string> axes;   // what it is drawn over: one axis, two of a map, none
  std::string script;              // draws NAME.svg, NAME.png and NAME.pdf where it runs
  std::string data;                // NAME.dat
};

struct FigureOptions {
  size_t facets = 12;  // panels at most of each figure; of more, some that are evenly spread
};

// Figures without anything to show (no axis of numbers, nothing done yet) are left out.
std::vector<StudyFigure> MakeStudyFigures(const Study& study, const FigureOptions& options = {});

struct DrawnFigures {
  std::vector<std::filesystem::path> files;  // .dat, .gp, and the pictures that gnuplot made
  std::vector<std::string> warnings;         // no gnuplot, or what it complained of
};

// Writes data and scripts into `directory`, which it creates, and has one gnuplot draw all of them.
// Without gnuplot: a warning, no failure. Throws Error where a file cannot be written.
DrawnFigures DrawStudyFigures(const std::vector<StudyFigure>& figures,
                              const std::filesystem::path& directory,
                              const std::string& gnuplot = "gnuplot");

}  // namespace legacy::analysis
