// Pictures of a run, drawn by gnuplot as SVG, PNG and PDF: accuracy-time, accuracy-bytes,
// step-split and decisions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/summary.h"

namespace legacy::analysis {

struct Picture {
  std::string name;    // "accuracy-time"
  std::string script;  // for gnuplot, data included; writes NAME.svg, .png and .pdf where it runs
};

// Pictures without anything to show (no evaluations, no steps) are left out.
std::vector<Picture> MakePictures(const RunDirectory& run, const Summary& summary);

struct DrawnPictures {
  std::vector<std::filesystem::path> files;  // .gp, and .svg, .png, .pdf where gnuplot made them
  std::vector<std::string> warnings;         // no gnuplot, or what it complained of
};

// Writes NAME.gp into the run directory and has `gnuplot` draw it there. Without gnuplot: a
// warning, no failure.
DrawnPictures DrawPictures(const RunDirectory& run, const Summary& summary,
                           const std::string& gnuplot = "gnuplot");

}  // namespace legacy::analysis
