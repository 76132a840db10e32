// Advice answers "Should I compress, and with what?" from a study along one axis of rates: from its
// points at the given value, and from the values at which the answer changes. All functions are
// pure functions of the study, and deterministic.
//
// Policies are compared with the baseline by their standings (statistics.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study/crossover.h"
#include "analysis/study/statistics.h"

namespace legacy::analysis {

enum class AdviceVerdict {
  kCompress,   // at least one policy is sooner than the baseline
  kDoNot,      // all policies are later, or the best one compresses nothing
  kUndecided,  // neither of these is known
};

// An AdviceWay says what a policy of federated clients compresses: updates, models, or both.
enum class AdviceWay { kNone, kUp, kDown, kBoth };

// An AdviceRow is what the study does not know of a policy of federated clients.
struct AdviceRow {
  AdviceWay way = AdviceWay::kNone;
  // What the target costs at the given value. Empty where a seed did not reach it; USD, of
  // transfers and of client hours, as well where nothing has a price.
  Spread usd_to_target = {};
  Spread client_hours_to_target = {};
  // USD of the target with the baseline / with the policy, over pairs with the same seed; nothing
  // where usd_to_target of one of them is empty.
  GeometricMean cheaper = {};
  std::string waits = {};  // sentences that say what rounds wait for there, with the first seed
};

// AdviceClients are those of a federated study, whose steps are rounds.
struct AdviceClients {
  bool server = true;           // false: clients exchange updates without one
  std::vector<AdviceRow> rows;  // one for each of the study's policies
};

// An AdviceQuestion has what the study itself does not know.
struct AdviceQuestion {
  size_t value = 0;     // position of the given value on the study's only axis
  std::string setting;  // "small-cnn on glyphs, 8 workers, fat-tree at 1 Gbit/s"
  std::string target;   // sentence that says how the target was chosen; "": it was given
  std::vector<std::string> caveats;                     // caveats, a sentence each
  std::string command;                                  // command of a full study
  std::string quick = "--quick-steps";                  // option with the number of steps
  std::optional<AdviceClients> clients = std::nullopt;  // nothing: the study is one of workers
  // Value of the metric without learning: the accuracy of guessing, or the perplexity of equally
  // likely words. 0: not known, so that the baseline may have learnt nothing.
  double guessing = 0;
};

// A baseline must be at least this many times better than guessing, or it has learnt too little for
// a comparison: twice as accurate, or at half the perplexity.
inline constexpr double kLearntTimesGuessing = 2;

struct Advice {
  AdviceQuestion question;
  AdviceVerdict verdict = AdviceVerdict::kUndecided;
  // Policy to take, the best of those that are sooner than the baseline; none: no policy is.
  std::optional<size_t> policy;
  bool near_guessing = false;  // true where it is undecided because the baseline is near guessing
  Place place;                 // place of the given value
  std::optional<Facet> facet;  // facet along the axis; none where the axis has one value
};

// Returns the advice. Throws Error where a point at the given value is not done, and on a study
// without a target or without the baseline among its policies.
Advice AdviceOf(const Study& study, AdviceQuestion question);

// Returns the 95 % interval of a mean cost, which is no less than 0; none below two values.
std::optional<Interval> CostInterval(const Spread& cost);

// Returns the policies that cannot be told apart from the one to take.
std::vector<std::string> TiesOf(const Study& study, const Advice& advice);

// Returns the verdict in one paragraph.
std::string VerdictText(const Study& study, const Advice& advice);

// Returns the whole answer for people: verdict, table of policies, break-even, final values of the
// metric, what rounds of clients wait for, caveats, command.
std::string AdviceText(const Study& study, const Advice& advice);

// Returns the whole answer for programs; docs/advise.md has the keys. Unknown values are null.
nlohmann::json AdviceJson(const Study& study, const Advice& advice);

// Returns the largest part of a step: "compute", "encode", "communication", "decode" or "wait".
std::string BoundOf(const StepSplit& step);

}  // namespace legacy::analysis
