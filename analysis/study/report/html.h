// The interactive report of a study: one HTML file that needs no network and no other file. It
// holds the study's points as columns of JSON and computes means, paired speed-ups, intervals and
// break-even itself, so that a reader can leave policies and seeds out; the rules are those of
// statistics.h and crossover.h. Sources of the page: web/, embedded at build time.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/study/study.h"

namespace legacy::analysis {

struct HtmlOptions {
  bool live = false;  // served by `legacy-study serve`: the what-if panel may ask /api
  // Numbers kept of all curves together, each sequence that points share counted once. Where there
  // are more, curves are thinned evenly; their first and last evaluations stay.
  int64_t curve_numbers = 50000;
};

// The whole page. Texts of the study stand in it as data alone, never as markup. Deterministic.
// Throws Error on points whose policy, seed or values the study has not.
std::string StudyHtml(const Study& study, const HtmlOptions& options = {});

}  // namespace legacy::analysis
