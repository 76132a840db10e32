#include "scenarios/study/schedule.h"

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"

namespace legacy {
namespace {

// The number of pieces for each process, which is large enough that the last pieces are short
// compared with the whole.
constexpr int64_t kPiecesPerProcess = 4;
constexpr int64_t kMaxPiece = 64;  // largest number of points in a piece

bool IsLeft(analysis::StudyState state, bool retry_failed) {
  return state == analysis::StudyState::kPending ||
         (state == analysis::StudyState::kFailed && retry_failed);
}

}  // namespace

Share ParseShare(const std::string& text, const std::string& option) {
  const std::vector<std::string> parts = SplitList(text, '/');
  if (parts.size() != 2) throw Error(option, text, "I/N, the I-th of N shares, as in 3/16");
  Share share;
  share.count = ParseInteger(parts[1], option, 1, 1'000'000);
  share.index = ParseInteger(parts[0], option, 1, share.count) - 1;
  return share;
}

std::vector<Piece> PiecesOf(const StudyPlan& plan, int64_t processes) {
  const int64_t pieces = kPiecesPerProcess * processes;
  const int64_t fair = (std::ssize(plan.points) + pieces - 1) / pieces;
  const auto size = static_cast<size_t>(std::clamp<int64_t>(fair, 1, kMaxPiece));
  std::vector<Piece> all;
  for (size_t t = 0; t < plan.trainings.size(); ++t) {
    const std::vector<size_t>& points = plan.trainings[t].points;
    for (size_t begin = 0; begin < points.size(); begin += size) {
      const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = static_cast<std::ptrdiff_t>(std::min(size, points.size() - begin));
      all.push_back({t, {first, first + count}});
    }
  }
  return all;
}

WorkLeft FindWork(const StudyPlan& plan, const analysis::Study& now,
                  const std::function<bool(size_t)>& trained, const Share& share, int64_t processes,
                  bool retry_failed) {
  const auto point_left = [&](size_t point) {
    return IsLeft(now.points[point].state, retry_failed);
  };
  const auto gone = [&](size_t t) {  // it has failed and is not tried again
    return now.trainings[t].state == analysis::StudyState::kFailed && !retry_failed;
  };
  const auto mine = [&](size_t position) {
    return static_cast<int64_t>(position) % share.count == share.index;
  };
  WorkLeft left;
  for (size_t t = 0; t < plan.trainings.size(); ++t) {
    if (!mine(t)) continue;
    const std::vector<size_t>& points = plan.trainings[t].points;
    if (trained(t)) {
      if (now.trainings[t].state != analysis::StudyState::kDone) left.found.push_back(t);
      continue;
    }
    const bool wanted = IsLeft(now.trainings[t].state, retry_failed) ||
                        std::any_of(points.begin(), points.end(), point_left);
    if (wanted && !gone(t)) left.trainings.push_back(t);
  }
  std::ranges::stable_sort(left.trainings, {},
                           [&](size_t t) { return plan.trainings[t].scenario.seed; });
  const std::vector<Piece> pieces = PiecesOf(plan, processes);
  for (size_t p = 0; p < pieces.size(); ++p) {
    if (!mine(p) || (gone(pieces[p].training) && !trained(pieces[p].training))) continue;
    Piece piece = pieces[p];
    std::erase_if(piece.points, [&](size_t point) { return !point_left(point); });
    if (!piece.points.empty()) left.pieces.push_back(std::move(piece));
  }
  return left;
}

}  // namespace legacy
