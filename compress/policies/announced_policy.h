// What policies share that decide at worker 0 and tell the others: every unit has an option of a
// grid of parameters, and a decision travels as one byte a unit.
//
// Message: the 16-byte header (codec kPolicy, unit 1, elements and count = number of units), then
// one byte a unit: the position of its option in the grid, which all workers have. All workers,
// worker 0 too, take their parameters from the decoded bytes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compress/policies/parameter_grid.h"
#include "compress/policy.h"
#include "compress/state.h"

namespace legacy {

class AnnouncedPolicy : public Policy {
 public:
  // Before the first announcement every unit has its option of `start`.
  AnnouncedPolicy(const PolicyContext& context, ParameterGrid grid, Choices start);

  void Decide(const StepInfo& step, std::span<const Unit> units,
              std::span<double> parameters) final;
  WorkList LocalWork() const override;
  std::optional<CollectiveCall> OpenCall(PolicyMoment moment) final;
  Message Encode(int worker, std::span<const Probe> probes) const final;
  void Accumulate(int worker, ByteSpan message) final;
  void FinishCall() final;
  Bytes Save() const final;
  void Load(ByteSpan state) final;

 protected:
  // At the beginning of a step, before its parameters are given out.
  virtual void OnStep() {}
  // Whether worker 0 decides at the end of this step; what it decides, and the work of that, which
  // is asked for first.
  virtual bool IsDue() const = 0;
  virtual Choices Choose() = 0;
  // Of the last Choose(): what it went by for the unit, and whether it was a decision at all.
  virtual DecisionGrounds GroundsOf(size_t unit) const = 0;
  virtual bool HasDecided() const { return true; }
  virtual WorkList ChoosingWork() const = 0;
  virtual void SaveOwn(StateWriter& out) const = 0;
  // Reads to the end of `in`; throws Error, changing nothing.
  virtual void LoadOwn(StateReader& in) = 0;

  const PolicyContext& context() const { return context_; }
  const ParameterGrid& grid() const { return grid_; }
  const StepInfo& step() const { return step_; }
  const Choices& choices() const { return choices_; }
  int64_t elements() const { return elements_; }
  // The grid's, of worker 0's `gradient` in this step.
  OptionTable SquaredErrors(std::span<const float> gradient) const;
  // A kernel's pass over the gradient of every unit.
  Work PassOver(const std::string& kernel) const;
  // Making the sum of GradientSum zero again, which is no launch.
  WorkList Clearing() const { return {Moved(int64_t{sizeof(float)} * elements_)}; }
  // False where residuals count for nothing.
  virtual bool ReadsResidual() const { return true; }
  // Known to every worker without a message; holds from this step on.
  void SetChoices(Choices choices, const std::string& reason);

 private:
  void Log(int64_t step, size_t unit, DecisionGrounds grounds);

  PolicyContext context_;
  ParameterGrid grid_;
  int64_t elements_ = 0;  // of all units
  StepInfo step_;
  Choices choices_;  // holds
  Choices decided_;  // at worker 0, to be announced
  Choices received_;
};

}  // namespace legacy
