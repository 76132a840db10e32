// A step of workers whose gradients nobody computes. What is sent follows from shapes alone
// wherever the scheme can plan its collective calls (Scheme::Plan). Else one worker stands for all:
// its gradient of one unit at a time is drawn, compressed and decoded by the real exchange, and the
// others send messages of the same lengths. A unit is drawn so in the first steps after each change
// of its parameter; later steps repeat the last lengths.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "trainer/aggregation.h"

namespace legacy {

// Which gradients are drawn. The values of a tensor of n elements are those of the text's
// distribution, times 1 / sqrt(n), so that all tensors have the same norm in expectation, and times
// 1 / (1 + 9 t) at the part t of the steps: over a run the norm falls tenfold, most of it early, as
// that of trainings does. Draws are keyed by (seed, worker, step, unit). Where the scheme clips
// (Scheme::LocalClipNorm), so is the gradient of all units together.
struct DrawnGradients {
  std::string text = "laplace";  // of compress/gradients
  int64_t steps = 3;             // that are drawn after a change; later ones repeat the last
};

class DrawnAggregation : public Aggregation {
 public:
  // `scheme` and `policy` outlive this. Throws Error on a text that names no distribution.
  DrawnAggregation(UnitPlan plan, const Scheme& scheme, Policy& policy, int workers,
                   DrawnGradients gradients);

  void Begin(uint64_t seed, const StepInfo& step, std::span<const int> active_workers) override;
  // The rest of the step that began: all collective calls of all units, the policy's included.
  void Finish();
  void RescaleResiduals(float factor) override;

  // Values drawn so far: what the time goes to.
  int64_t ValuesDrawn() const { return values_drawn_; }
  // Units whose lengths depend on the data, in the steps so far.
  int64_t UnitsDrawn() const;

 private:
  // A collective call as one active worker sees it.
  struct SentCall {
    CollectiveCall call;
    int64_t bytes = 0;
  };
  struct Sent {
    std::vector<SentCall> calls;
    int64_t elements = 0;
    Probe probe;  // of the candidates
    int64_t drawn = 0;
  };
  // What decides about the lengths that are repeated.
  struct Case {
    double parameter = 0;
    std::vector<double> candidates;
    size_t active_workers = 0;
    auto operator<=>(const Case&) const = default;
  };
  struct UnitState {
    std::unique_ptr<Exchange> exchange;  // of the units that are drawn
    std::map<Case, Sent> sent;
    std::map<Case, Probe> probes;
    std::map<Case, int64_t> measured;  // steps
  };

  std::vector<float> Draw(size_t unit, int worker);
  std::vector<float> Unclipped(size_t unit, int worker);
  float ClipOf(int worker);
  void ShowGradients();
  bool Measured(size_t unit) const;
  void Agree();
  Probe Measure(size_t unit);
  StepContext ContextOf(size_t unit, int sender) const;
  int SenderOf(size_t unit);
  Case CaseOf(size_t unit) const;
  Exchange& ExchangeOf(size_t unit);
  const Sent& SentOf(size_t unit);
  bool PlanUnit(size_t unit, Sent& sent) const;
  void RunUnit(size_t unit, Sent& sent);
  void BookUnit(size_t unit, const Sent& sent);

  const Scheme& scheme_;
  DrawnGradients gradients_;
  uint64_t seed_ = 0;
  StepInfo info_;
  std::vector<UnitState> units_;
  std::vector<char> open_;  // units whose exchange has measured in this step
  size_t chosen_ = 0;
  int64_t values_drawn_ = 0;
  std::map<int, float> clips_;  // by worker, of the step: the factor of its gradient
};

}  // namespace legacy
