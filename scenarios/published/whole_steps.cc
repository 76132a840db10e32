#include "scenarios/published/whole_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "base/number.h"
#include "scenarios/published/published_steps.h"
#include "scenarios/run/one_step.h"

namespace legacy {
namespace {

// An Aim says what the errors of a class of rows are to be (median, nine of ten), and what they are
// held to where that is not reached yet: the figures of docs/results/whole-steps.md, rounded up.
struct Aim {
  const char* level;
  double median, most;            // aims
  double held_median, held_most;  // limits
};
constexpr Aim kAims[] = {{"A", 0.12, 0.25, 0.20, 0.60}, {"B", 0.15, 0.30, 0.25, 0.70}};
constexpr int64_t kQuick = 8;   // most devices of the rows of a sample
constexpr double kRight = 0.9;  // part of the pairs of a family whose order is to be right
// Largest error of the time with compression over that without: aim and limit.
constexpr double kRatio = 0.1, kHeldRatio = 0.35;
constexpr double kDifferent = 0.05;  // pairs that differ by less have no order

// A TimedStep is a row that was timed.
struct TimedStep {
  const PublishedStep* published;
  double seconds = 0;                                 // of the step
  double compute = 0, communication = 0, hidden = 0;  // parts of them, and transfers beside them

  // Returns the logarithm of ours over theirs.
  double Error() const { return std::log(seconds / published->seconds); }
};

std::string Percent(double logarithm) { return FormatFixed(100 * std::expm1(logarithm), 1); }

// Returns the parts of a step that computing and exposed transfers take, and what hidden transfers
// are of it.
std::string PartsOf(const TimedStep& step) {
  const auto percent = [&](double seconds) { return 100 * seconds / step.seconds; };
  return fmt::format("computing {:.0f} %, transfers {:.0f} %, hidden {:.0f} %",
                     percent(step.compute), percent(step.communication), percent(step.hidden));
}

ValidationTable RowsOf(const std::vector<PublishedStep>& steps,
                       const std::vector<TimedStep>& timed) {
  ValidationTable table{
      .name = "whole-steps",
      .columns = {"step", "class", "device", "devices", "precision", "published (s)",
                  "simulated (s)", "error (%)", "of it", "assumed, or why it is not timed"},
      .rows = {}};
  auto next = timed.begin();  // timed steps are in the order of the rows
  for (const PublishedStep& step : steps) {
    ValidationRow row = {step.id,        step.level,
                         step.device,    std::to_string(step.devices),
                         step.precision, step.seconds > 0 ? FormatNumber(step.seconds) : "-"};
    if (step.not_timed.empty()) {
      row.insert(row.end(), {fmt::format("{:.4g}", next->seconds), Percent(next->Error()),
                             PartsOf(*next), step.missing});
      ++next;
    } else {
      row.insert(row.end(), {"-", "-", "-", "not timed: " + step.not_timed});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Errors are the sizes of logarithms, ascending.
std::vector<double> Errors(const std::vector<TimedStep>& timed, const auto& belongs) {
  std::vector<double> errors;
  for (const TimedStep& one : timed) {
    if (belongs(one)) errors.push_back(std::abs(one.Error()));
  }
  std::ranges::sort(errors);
  return errors;
}

double At(const std::vector<double>& sorted, double part) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::floor(part * last + 0.5))];
}

ValidationRow SummaryRow(const std::string& name, const std::vector<double>& errors) {
  return {name, std::to_string(errors.size()), Percent(At(errors, 0.5)), Percent(At(errors, 0.9)),
          Percent(errors.back())};
}

// An Order counts pairs of a family that differ by 5 % or more, and those of them in which the same
// step is the longer one here.
struct Order {
  int pairs = 0, right = 0;
};

Order OrderOf(const std::vector<TimedStep>& timed) {
  Order order;
  for (size_t i = 0; i < timed.size(); ++i) {
    for (size_t j = i + 1; j < timed.size(); ++j) {
      if (timed[i].published->Family() != timed[j].published->Family()) continue;
      const double theirs = timed[i].published->seconds / timed[j].published->seconds;
      if (std::abs(std::log(theirs)) < kDifferent) continue;
      ++order.pairs;
      order.right += (theirs > 1) == (timed[i].seconds > timed[j].seconds);
    }
  }
  return order;
}

ValidationTable SummaryOf(const std::vector<TimedStep>& timed) {
  ValidationTable table{
      .name = "whole-steps-summary",
      .columns = {"rows", "number", "median error (%)", "nine of ten within (%)", "largest (%)"},
      .rows = {}};
  for (const char* level : {"A", "B", "C"}) {
    const std::vector<double> errors =
        Errors(timed, [&](const TimedStep& one) { return one.published->level == level; });
    if (!errors.empty()) table.rows.push_back(SummaryRow("class " + std::string(level), errors));
  }
  const std::vector<double> one_device =
      Errors(timed, [](const TimedStep& one) { return one.published->devices == 1; });
  table.rows.push_back(SummaryRow("one device", one_device));
  table.rows.push_back(SummaryRow("several devices", Errors(timed, [](const TimedStep& one) {
                                    return one.published->devices > 1;
                                  })));
  std::set<std::string> families;
  for (const TimedStep& one : timed) families.insert(one.published->Family());
  for (const std::string& family : families) {
    table.rows.push_back(SummaryRow(family, Errors(timed, [&](const TimedStep& one) {
                                      return one.published->Family() == family;
                                    })));
  }
  return table;
}

// A Pair is a compressed step and the same one without compression: their ids differ in the last
// word alone.
struct Pair {
  const TimedStep* compressed;
  const TimedStep* plain;

  double Published() const { return compressed->published->seconds / plain->published->seconds; }
  double Simulated() const { return compressed->seconds / plain->seconds; }
  // Returns the logarithm of ours over theirs.
  double Error() const { return std::log(Simulated() / Published()); }
};

std::vector<Pair> PairsOf(const std::vector<TimedStep>& timed) {
  const auto stem = [](const TimedStep& one) {
    return one.published->id.substr(0, one.published->id.rfind('-'));
  };
  std::vector<Pair> pairs;
  for (const TimedStep& one : timed) {
    for (const TimedStep& other : timed) {
      const bool pair = one.published->compressed && !other.published->compressed;
      if (pair && stem(one) == stem(other)) pairs.push_back({&one, &other});
    }
  }
  return pairs;
}

ValidationTable RatiosOf(const std::vector<Pair>& pairs) {
  ValidationTable table{
      .name = "whole-steps-compressed",
      .columns = {"compressed", "beside", "published ratio", "simulated ratio", "error (%)"},
      .rows = {}};
  for (const Pair& pair : pairs) {
    table.rows.push_back({pair.compressed->published->id, pair.plain->published->id,
                          FormatFixed(pair.Published(), 3), FormatFixed(pair.Simulated(), 3),
                          Percent(pair.Error())});
  }
  return table;
}

// Returns the aims, whether each is reached, and holds figures to their limits.
ValidationTable AimsOf(const std::vector<TimedStep>& timed, SectionResult& result) {
  ValidationTable table{.name = "whole-steps-aims",
                        .columns = {"aim", "wanted (%)", "here (%)", "reached"},
                        .rows = {}};
  const auto add = [&](const std::string& name, double wanted, double here, bool reached,
                       bool held) {
    table.rows.push_back(
        {name, FormatFixed(100 * wanted, 0), FormatFixed(100 * here, 1), reached ? "yes" : "no"});
    result.Expect(held, fmt::format("whole-steps: {}: {:.1f} %", name, 100 * here));
  };
  for (const Aim& aim : kAims) {
    const std::vector<double> errors =
        Errors(timed, [&](const TimedStep& one) { return one.published->level == aim.level; });
    const double median = std::expm1(At(errors, 0.5)), most = std::expm1(At(errors, 0.9));
    const std::string rows = fmt::format("class {}: ", aim.level);
    add(rows + "median error", aim.median, median, median <= aim.median, median <= aim.held_median);
    add(rows + "nine of ten within", aim.most, most, most <= aim.most, most <= aim.held_most);
  }
  const Order order = OrderOf(timed);
  const double right = static_cast<double>(order.right) / order.pairs;
  add("order of two steps of a family right", kRight, right, right >= kRight, right >= kRight);
  double worst = 0;
  for (const Pair& pair : PairsOf(timed)) {
    worst = std::max(worst, std::expm1(std::abs(pair.Error())));
  }
  add("time with compression over that without, largest error", kRatio, worst, worst <= kRatio,
      worst <= kHeldRatio);
  return table;
}

// Times the steps that can be timed, in their order.
std::vector<TimedStep> TimeAll(const std::vector<PublishedStep>& steps, const SectionRun& run) {
  std::vector<TimedStep> timed;
  std::vector<std::string> names;
  for (const PublishedStep& step : steps) {
    if (!step.not_timed.empty()) continue;
    timed.push_back({.published = &step});
    names.push_back(step.id);
  }
  const std::vector<ValidationRow> times = ForkRows(run, names, [&](int i) -> ValidationRow {
    const analysis::StepRow row = TimeOneStep(timed[i].published->ToScenario());
    return {FormatNumber(row.step_seconds), FormatNumber(row.compute_seconds),
            FormatNumber(row.communication_seconds), FormatNumber(row.hidden_seconds.value_or(0))};
  });
  for (size_t i = 0; i < timed.size(); ++i) {
    const auto number = [&](size_t column) { return std::stod(times[i].at(column)); };
    timed[i] = {timed[i].published, number(0), number(1), number(2), number(3)};
  }
  return timed;
}

}  // namespace

SectionResult ValidateWholeSteps(const SectionRun& run) {
  std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  if (run.sample) std::erase_if(steps, [](const auto& step) { return step.devices > kQuick; });
  const std::vector<TimedStep> timed = TimeAll(steps, run);
  SectionResult result;
  result.csv = RowsOf(steps, timed);
  if (run.sample) return result;
  result.document = {AimsOf(timed, result), SummaryOf(timed), RatiosOf(PairsOf(timed)), result.csv};
  return result;
}

}  // namespace legacy
