// "Should I compress, and with what?", answered from a study along one axis of rates: its points at
// the asked value, and where on the axis the answer turns. Pure functions of the study;
// deterministic.
//
// A policy is sooner than the baseline where the 95 % interval of its speed-up lies above 1, later
// where it lies below, and else cannot be told apart from it. With one seed there is no interval,
// and the ratio alone decides; bounds of trainings that missed the target decide where all seeds
// lie on that side.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study/crossover.h"
#include "analysis/study/statistics.h"

namespace legacy::analysis {

enum class Standing { kSooner, kLater, kSame, kUnknown };
Standing StandingOf(const Speedup& speedup);

enum class AdviceVerdict {
  kCompress,   // at least one policy is sooner than the baseline
  kDoNot,      // all are later
  kUndecided,  // nothing else can be told
};

// What the study itself does not know.
struct AdviceQuestion {
  size_t value = 0;                  // the asked one on the study's only axis
  std::string setting;               // "small-cnn on glyphs, 8 workers, fat-tree at 1 Gbit/s"
  std::string target;                // how it was chosen, a sentence; "": it was given
  std::vector<std::string> caveats;  // sentences
  std::string command;               // of a full study
  double guessing = 0;               // accuracy of one who guesses, a fraction; 0: not known
};

// A baseline that is less than so many times as accurate as guessing has learnt too little to
// compare anything with.
inline constexpr double kLearntTimesGuessing = 2;

struct Advice {
  AdviceQuestion question;
  AdviceVerdict verdict = AdviceVerdict::kUndecided;
  std::optional<size_t> policy;  // the one to compress with; of kUndecided none
  bool near_guessing = false;    // undecided because the baseline is
  Place place;                   // the asked one
  std::optional<Facet> facet;    // along the axis; none where it has one value
};

// Throws Error where a point at the asked value is not done, and on a study without a target or the
// baseline among its policies.
Advice AdviceOf(const Study& study, AdviceQuestion question);

// The verdict in one paragraph.
std::string VerdictText(const Study& study, const Advice& advice);

// The whole answer for people: verdict, table of policies, break-even, what a step is bound by,
// caveats, command.
std::string AdviceText(const Study& study, const Advice& advice);

// The same for programs; docs/advise.md has the keys. What is unknown is null.
nlohmann::json AdviceJson(const Study& study, const Advice& advice);

// The largest part of a step: "compute", "encode", "communication", "decode" or "wait".
std::string BoundOf(const StepSplit& step);

}  // namespace legacy::analysis
