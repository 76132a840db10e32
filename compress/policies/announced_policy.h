// An announced policy decides at worker 0 and tells the others: every unit has an option of a grid
// of parameters, and a decision is sent as one byte per unit.
//
// Message: the 16-byte header (codec kPolicy, unit 1, elements and count = number of units), then
// one byte per unit: the position of its option in the grid, which all workers have. All workers,
// including worker 0, take their parameters from the decoded bytes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/state.h"
#include "compress/policies/parameter_grid.h"
#include "compress/policy.h"

namespace legacy {

// The common part of such policies; a derived class defines when and what to decide.
class AnnouncedPolicy : public Policy {
 public:
  // `start` has each unit's option before the first announcement.
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
  // Is called at the beginning of a step, before its parameters are assigned.
  virtual void OnStep() {}
  // IsDue returns true if worker 0 decides at the end of this step. ChoosingWork, the work of
  // deciding, is called first; then Choose returns the decision.
  virtual bool IsDue() const = 0;
  virtual Choices Choose() = 0;
  // GroundsOf returns the reasons of the last Choose() for a unit; HasDecided says whether Choose()
  // decided at all.
  virtual DecisionGrounds GroundsOf(size_t unit) const = 0;
  virtual bool HasDecided() const { return true; }
  virtual WorkList ChoosingWork() const = 0;
  virtual void SaveOwn(StateWriter& out) const = 0;
  // Reads to the end of `in`. Throws Error without changing anything.
  virtual void LoadOwn(StateReader& in) = 0;

  const PolicyContext& context() const { return context_; }
  const ParameterGrid& grid() const { return grid_; }
  const StepInfo& step() const { return step_; }
  const Choices& choices() const { return choices_; }
  int64_t elements() const { return elements_; }
  // Returns the grid's squared errors of worker 0's `gradient` in this step.
  ChoiceTable SquaredErrors(std::span<const float> gradient) const;
  // Returns the work of a kernel's pass over the gradient of every unit.
  Work PassOver(const std::string& kernel) const;
  // Returns the work of clearing the sum of GradientSum, which is not a launch.
  WorkList Clearing() const { return {Moved(int64_t{sizeof(float)} * elements_)}; }
  // Returns false if residuals are ignored.
  virtual bool ReadsResidual() const { return true; }
  // Sets choices that every worker knows without a message; they hold from this step on.
  void SetChoices(Choices choices, const std::string& reason);

 private:
  void Log(int64_t step, size_t unit, DecisionGrounds grounds);

  PolicyContext context_;
  ParameterGrid grid_;
  int64_t elements_ = 0;  // elements of all units
  StepInfo step_;
  Choices choices_;  // present choices
  Choices decided_;  // choices of worker 0 that are not announced yet
  Choices received_;
};

}  // namespace legacy
