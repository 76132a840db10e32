// The schedule of a study says which work remains, for processes that do all of it or a share. The
// pieces of a plan are numbered, and share i of n has every n-th piece, whether done or not. Shares
// that begin at different times therefore never overlap and never leave a piece out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/study/study.h"
#include "scenarios/study/plan.h"

namespace legacy {

// A Share is a part of the work.
struct Share {
  int64_t index = 0;  // number of the share, from 0
  int64_t count = 1;
};

// Reads "3/16", the third of sixteen, counted from 1. Throws Error naming `option`.
Share ParseShare(const std::string& text, const std::string& option);

// A Piece has points of one training, timed one after the other from one reading of its record.
struct Piece {
  size_t training = 0;
  std::vector<size_t> points;
};

// Returns all points of the plan, in pieces that keep `processes` busy to the end.
std::vector<Piece> PiecesOf(const StudyPlan& plan, int64_t processes);

// WorkLeft is the remaining work.
struct WorkLeft {
  // Positions in the plan, seed by seed: an interrupted study has whole pairs.
  std::vector<size_t> trainings;
  std::vector<size_t> found;  // trainings that are done but were not reported
  std::vector<Piece> pieces;  // points whose training has not failed for good
};

// Returns the remaining work. `now` has the current states. `trained` returns true for a training
// whose record exists. With `retry_failed`, failed work counts as remaining. `processes` is as for
// PiecesOf; the shares of one phase must agree on it.
WorkLeft FindWork(const StudyPlan& plan, const analysis::Study& now,
                  const std::function<bool(size_t)>& trained, const Share& share, int64_t processes,
                  bool retry_failed);

}  // namespace legacy
