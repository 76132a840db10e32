// gnuplot draws the pictures of a run as SVG, PNG and PDF: metric-time, metric-bytes, step-split,
// decisions, and those of federated runs: metric-rounds, metric-usd, participation, staleness.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/pictures/metric_plot.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// Returns the pictures of a run, without those that have nothing to show (no evaluations, no
// steps).
std::vector<Picture> MakePictures(const RunDirectory& run, const Summary& summary);

struct DrawnPictures {
  std::vector<std::filesystem::path> files;  // .gp, and .svg, .png, .pdf where gnuplot made them
  std::vector<std::string> warnings;         // gnuplot is missing, or its errors
};

// Writes NAME.gp into the run directory and lets `gnuplot` draw it there. Where gnuplot is missing,
// the result has a warning.
DrawnPictures DrawPictures(const RunDirectory& run, const Summary& summary,
                           const std::string& gnuplot = "gnuplot");

}  // namespace legacy::analysis
