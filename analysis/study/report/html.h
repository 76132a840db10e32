// The interactive report of a study is one HTML file that needs no network and no other file (that
// of a single run shows pictures next to it). It has the study's points as columns of JSON, and
// computes means, paired speed-ups, intervals and break-even itself, so that a reader can leave
// policies and seeds out. The rules are those of statistics.h and crossover.h. The sources of the
// page are in web/, and are embedded at build time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/study/study.h"
#include "analysis/table_text.h"

namespace legacy::analysis {

// RunParts are what the page of a single run shows besides the figures of its networks.
struct RunParts {
  std::string verdict;
  std::vector<std::string> shown;  // policies whose curves are drawn at first, as in its pictures
  std::vector<std::pair<std::string, std::string>> header;  // what shapes the answer
  std::vector<std::string> notes;
  std::vector<Table> tables;
  std::vector<std::string> pictures;  // SVG files beside the page
  std::vector<std::string> files;     // other files beside the page, which it links to
};

struct HtmlOptions {
  // True where `legacy-study serve` serves the page, and the what-if panel may ask /api.
  bool live = false;
  // JSON with which the panel answers where nothing serves the page (ClosedForms of
  // scenarios/study/what_if/closed_forms.h); "": it does not.
  std::string closed_forms = {};
  // Most numbers that are kept of all curves together, where a sequence that points share counts
  // once. Where there are more, curves are thinned evenly; their first and last evaluations stay.
  int64_t curve_numbers = 50000;
  // These are set where the study stands for a single run.
  std::optional<RunParts> run = {};
};

// Returns the whole page. Texts of the study are data in it, never markup. Equal studies give equal
// pages. Throws Error on points whose policy, seed or values are not in the study.
std::string StudyHtml(const Study& study, const HtmlOptions& options = {});

}  // namespace legacy::analysis
