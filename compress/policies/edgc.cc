// EDGC chooses PowerSGD's ranks by the entropy of gradients, "EDGC: Entropy-driven Dynamic Gradient
// Compression", 2025. In every `every` steps of a window worker 0 takes a sample of each unit's
// gradient, and estimates its entropy as that of a normal distribution of the sample's deviation s,
//
//   H = ln(s sqrt(2 pi e))
//
// At the end of a window it compares the mean H of the window and announces the ranks of the next
// one, in one byte a unit (announced_policy.h).
//
//   form=paper  r = g^-1(e^(H0 - H) g(r0)), the least rank whose error of a random matrix
//               (marchenko_pastur.h) is, times s, at most that of the first window at rank r0:
//               the absolute error stays the same
//   form=code   r = least + (most - least) |dH| / |dH of the first two windows|, rounded to an even
//               number, for the change dH of H since the window before. As public code does, it
//               raises the rank with any change
//
// Ranks move by 4 a window at most, and stay within [least, most]: the paper's rule is very
// sensitive (in 1024 x 1024, rank 32 becomes 8 if H falls by .044). The public code finds the
// largest rank by probing steps for time; here it is an option, so that decisions do not depend on
// the network. Before `start`, and in the first window, the anchor is used, which is r0.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "compress/policies/announced_policy.h"
#include "compress/policies/marchenko_pastur.h"
#include "compress/policies/policy_options.h"
#include "compress/schemes/matrices/powersgd.h"

namespace legacy {
namespace {

constexpr int64_t kMostMove = 4;  // ranks in a window
constexpr double kNoEntropy = -std::numeric_limits<double>::infinity();

struct EdgcOptions {
  bool paper = true;
  int64_t window = 1000;  // steps
  int64_t start = 0;      // steps before the first window
  int64_t every = 10;     // steps between samples
  int64_t stride = 4;     // of the elements of a sample
  int64_t least = 1;      // ranks
  int64_t most = 4;
};

// A UnitEntropy has what worker 0 knows of a unit. An entropy that is not finite, as that of a
// gradient of equal values, is not counted.
struct UnitEntropy {
  double sum = 0;       // of the entropies of this window's samples
  int64_t samples = 0;  // their number
  double first = kNoEntropy;
  double last = kNoEntropy;
  double first_change = 0;  // of the first two windows that have an entropy; 0: none
};

class Edgc : public AnnouncedPolicy {
 public:
  Edgc(const PolicyContext& context, ParameterGrid grid, Choices start, const EdgcOptions& options)
      : AnnouncedPolicy(context, std::move(grid), std::move(start)),
        options_(options),
        entropies_(context.units.size()),
        grounds_(context.units.size()) {}
  std::string_view Name() const override { return "edgc"; }
  bool ReadsLocalGradient() const override { return Begun() && Within() % options_.every == 0; }
  WorkList LocalWork() const override {
    return ReadsLocalGradient() ? WorkList{PassOver("norm")} : WorkList();
  }
  void OnLocalGradient(size_t unit, std::span<const float> gradient,
                       std::span<const float>) override;
  // The first window has nothing to be compared with, for the code's form nor the second.
  std::optional<DecisionForecast> DecisionsIn(int64_t total_steps) const override {
    const int64_t first = options_.start + 2 * options_.window;
    return DecisionForecast{EndsOfPeriods(total_steps, first, options_.window), "window=10%"};
  }

 protected:
  bool IsDue() const override { return Begun() && Within() == options_.window - 1; }
  Choices Choose() override;
  DecisionGrounds GroundsOf(size_t unit) const override { return grounds_[unit]; }
  bool HasDecided() const override { return compared_; }
  WorkList ChoosingWork() const override { return {}; }
  void SaveOwn(StateWriter& out) const override;
  void LoadOwn(StateReader& in) override;

 private:
  bool Begun() const { return step().step >= options_.start; }
  // Returns the number of the step within its window.
  int64_t Within() const { return (step().step - options_.start) % options_.window; }
  int64_t RankOf(size_t unit) const { return options_.least + choices()[unit]; }
  double Target(size_t unit, double entropy, const UnitEntropy& known) const;

  EdgcOptions options_;
  std::vector<UnitEntropy> entropies_;
  std::vector<DecisionGrounds> grounds_;
  bool compared_ = false;  // true if the last window was compared with another one
};

// The sample's first element moves from sample to sample, so that all columns of a matrix are seen.
void Edgc::OnLocalGradient(size_t unit, std::span<const float> gradient, std::span<const float>) {
  const auto stride = static_cast<size_t>(options_.stride);
  const auto first = static_cast<size_t>(step().step / options_.every) % stride;
  double sum = 0, squares = 0;
  double count = 0;
  for (size_t i = first; i < gradient.size(); i += stride) {
    sum += double{gradient[i]};
    squares += double{gradient[i]} * double{gradient[i]};
    ++count;
  }
  if (count == 0) return;
  const double variance = squares / count - sum / count * (sum / count);
  if (!(variance > 0)) return;
  UnitEntropy& entropy = entropies_[unit];
  entropy.sum += std::log(2 * std::numbers::pi * std::numbers::e * variance) / 2;
  ++entropy.samples;
}

// Returns the rank that the form asks for, before it is clamped.
double Edgc::Target(size_t unit, double entropy, const UnitEntropy& known) const {
  const auto least = static_cast<double>(options_.least), most = static_cast<double>(options_.most);
  if (options_.paper) {
    const MatrixShape shape = MatrixOf(context().units[unit]);
    const double error = RandomMatrixError(shape, static_cast<int64_t>(context().parameter));
    return static_cast<double>(
        RankOfRandomError(shape, std::exp(known.first - entropy) * error * (1 + 1e-12)));
  }
  if (known.first_change == 0) return static_cast<double>(RankOf(unit));
  const double change = std::abs(entropy - known.last) / known.first_change;
  return 2 * std::round((least + (most - least) * std::min(change, 1.0)) / 2);
}

Choices Edgc::Choose() {
  Choices chosen = choices();
  compared_ = false;
  for (size_t unit = 0; unit < chosen.size(); ++unit) {
    UnitEntropy& known = entropies_[unit];
    const double samples = static_cast<double>(known.samples);
    const double entropy = known.samples == 0 ? kNoEntropy : known.sum / samples;
    known.sum = 0;
    known.samples = 0;
    DecisionGrounds& grounds = grounds_[unit];
    grounds = {.reason = "no entropy before"};
    if (!std::isfinite(entropy)) continue;
    grounds.error = entropy;
    if (!std::isfinite(known.first)) {
      known.first = known.last = entropy;
      continue;
    }
    compared_ = true;
    if (known.first_change == 0) known.first_change = std::abs(entropy - known.last);
    const double target = Target(unit, entropy, known);
    known.last = entropy;
    const int64_t rank = RankOf(unit);
    const int64_t moved =
        std::clamp(static_cast<int64_t>(target), rank - kMostMove, rank + kMostMove);
    const int64_t next = std::clamp(moved, options_.least, options_.most);
    chosen[unit] = static_cast<uint8_t>(next - options_.least);
    grounds.budget = known.first;
    grounds.reason = next < rank ? "lower rank" : next > rank ? "higher rank" : "same rank";
  }
  return chosen;
}

void Edgc::SaveOwn(StateWriter& out) const {
  for (const UnitEntropy& entropy : entropies_) {
    out.Real(entropy.sum);
    out.Number(static_cast<uint64_t>(entropy.samples));
    out.Number(std::isfinite(entropy.first) ? 1 : 0);
    if (!std::isfinite(entropy.first)) continue;
    out.Real(entropy.first);
    out.Real(entropy.last);
    out.Real(entropy.first_change);
  }
}

void Edgc::LoadOwn(StateReader& in) {
  std::vector<UnitEntropy> loaded(entropies_.size());
  for (UnitEntropy& entropy : loaded) {
    entropy.sum = in.Real("sum of entropies");
    entropy.samples = static_cast<int64_t>(in.Number("samples", kMostSteps));
    if (in.Number("entropy", 1) == 0) continue;
    entropy.first = in.Real("first entropy");
    entropy.last = in.Real("last entropy");
    entropy.first_change = in.Real("change of entropy");
  }
  in.ExpectEnd();
  entropies_ = std::move(loaded);
}

std::unique_ptr<Policy> MakeEdgc(const OptionReader& options, const PolicyContext& context) {
  constexpr std::string_view kForms[] = {"paper", "code"};
  const ParameterSpec& spec = context.scheme->Parameter();
  if (spec.Kind() != ParameterKind::kRank) {
    throw Error("policy edgc with scheme " + std::string(context.scheme->Name()), spec.name,
                "a scheme whose parameter is a rank, such as powersgd");
  }
  EdgcOptions read;
  const double anchor = context.parameter;
  const double most = NumberOrAuto(options, "most", anchor, anchor, spec.maximum);
  read.most = std::llround(most);
  read.least = std::llround(NumberOrAuto(options, "least",
                                         std::clamp(std::floor(most / 4), spec.minimum, anchor),
                                         spec.minimum, anchor));
  read.paper = options.Choice("form", kForms) == 0;
  read.window = options.Steps("window", 1, context.total_steps);
  read.start = std::max(options.Steps("start", 0, context.total_steps),
                        context.scheme->Traits().dense_steps);
  read.every = options.Steps("every", 1, context.total_steps);
  read.stride = std::llround(1 / options.Number("sample", 1e-4, 1));
  std::vector<double> ranks(static_cast<size_t>(read.most - read.least + 1));
  std::iota(ranks.begin(), ranks.end(), static_cast<double>(read.least));
  Choices start(context.units.size(), static_cast<uint8_t>(std::llround(anchor) - read.least));
  return std::make_unique<Edgc>(
      context, ParameterGrid(*context.scheme, context.units, context.parameter, ranks),
      std::move(start), read);
}

}  // namespace

PolicyRow EdgcRow() {
  return {{.name = "edgc",
           .help = "chooses PowerSGD's ranks by how the entropy of each unit's gradient moves",
           .paper = "EDGC: Entropy-driven Dynamic Gradient Compression for Efficient LLM Training, "
                    "2025",
           .options = {{"form", "paper", "paper, code",
                        "rule: the absolute error of a random matrix stays the same; or ranks "
                        "follow the change of entropy, as in public code"},
                       {"window", "1000", "1 to 2^53, or a part of the run",
                        "number of steps between decisions"},
                       {"start", "10%", "0 to 2^53, or a part of the run",
                        "number of steps before the first window; at least those of a dense start"},
                       {"sample", "25%", "1e-4 to 1",
                        "share of a gradient's elements that are sampled, 1 / a whole number"},
                       {"every", "10", "1 to 2^53, or a part of the run",
                        "number of steps between samples"},
                       {"least", "auto", "1 to the anchor",
                        "smallest rank; auto: a quarter of the largest one"},
                       {"most", "auto", "the anchor to 64", "largest rank; auto: the anchor"}}},
          MakeEdgc,
          {{"least", VolumeRule::kParameter}, {"most", VolumeRule::kParameter}}};
}

}  // namespace legacy
