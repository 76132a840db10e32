// A drawn exchange is the exchange of workers whose gradients are not computed. Message lengths
// follow from shapes alone wherever the scheme can plan its collective calls (Scheme::Plan).
// Elsewhere one worker represents all: its gradient of one unit at a time is drawn, compressed and
// decoded by the real exchange, and the other workers send messages of the same lengths. Sums of
// blocks have as many as independent workers would send. Such a unit is drawn in the first steps
// after each change of its parameter; later steps repeat the last lengths.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/model_exchange.h"

namespace legacy {

// DrawnGradients describe the drawn gradients. The values of a tensor of n elements have the
// distribution of `text`, times 1 / sqrt(n), so that all tensors have the same norm in expectation,
// and times 1 / (1 + 9 t) at the part t of the steps: over a run the norm falls tenfold, most of it
// early, as it does in trainings. Draws are keyed by (seed, worker, step, unit). Where the scheme
// clips (Scheme::LocalClipNorm), the gradient of all units together is clipped.
struct DrawnGradients {
  std::string text = "laplace";  // a distribution of compress/gradients
  int64_t steps = 3;             // steps drawn after a change; later ones repeat the last
};

// ExpertUnits are units of experts that workers divide: of `ranks` workers that follow each other
// each holds others, so that a `ranks`-th of the workers exchange them, by a scheme for as many
// owners of slices.
struct ExpertUnits {
  std::unique_ptr<const Scheme> scheme = nullptr;  // null: there are none
  int ranks = 1;
  std::vector<bool> units = {};  // which units are such
};

// A DrawnExchange encodes and decodes for one worker, and counts the bytes of all.
class DrawnExchange : public ModelExchange {
 public:
  // `scheme` outlives this. Throws Error on a text that names no distribution.
  DrawnExchange(const Scheme& scheme, std::span<const Unit> units, int workers,
                DrawnGradients gradients, ExpertUnits experts = {});

  void Begin(const ModelStep& step) override;
  // Is called for the first active worker, which represents all; `gradient` is not read.
  void Encode(int worker, const float* gradient) override;
  std::span<const std::vector<Probe>> Probes() override { return probes_; }
  bool Measured(int unit) const override;
  bool MeasuresMean() const override {
    return !candidates_.empty() && scheme_.Traits().compresses_mean;
  }
  void Choose(size_t index) override { chosen_ = index; }
  // `mean` is not written.
  void Finish(float* mean) override;
  std::vector<SentCall> Calls(int unit) const override;
  int64_t ElementsSent(int unit) const override { return sent_[unit]->elements; }
  void RescaleResiduals(float factor) override;
  std::vector<float> CopyResidual(int unit, int worker) const override;
  std::vector<float> ErrorFed(int unit, int worker, std::span<const float> gradient) const override;
  // One worker represents all, so that all state is shared.
  void SaveShared(StateWriter& out) const override;
  void LoadShared(StateReader& in) override;

  // Returns the worker's gradient of a unit in the current step.
  std::vector<float> Draw(size_t unit, int worker);

  // Returns the number of values drawn so far, which determine the running time.
  int64_t ValuesDrawn() const { return values_drawn_; }
  // Returns the number of units so far whose lengths depend on the data.
  int64_t UnitsDrawn() const;

 private:
  struct Sent {
    std::vector<PlannedCall> calls;  // calls with the bytes of one active worker
    int64_t elements = 0;
    Probe probe;  // probe of the candidates
    int64_t drawn = 0;
    template <class Archive>
    friend void Fields(Archive& archive, Sent& s) {
      archive(s.calls, s.elements, s.probe, s.drawn);
    }
  };
  // A Case has all that determines the lengths that are repeated.
  struct Case {
    double parameter = 0;
    std::vector<double> candidates;
    size_t active_workers = 0;
    bool starts = false;  // true in the steps in which the scheme sends all units whole
    auto operator<=>(const Case&) const = default;
    template <class Archive>
    friend void Fields(Archive& archive, Case& c) {
      archive(c.parameter, c.candidates, c.active_workers, c.starts);
    }
  };
  struct UnitState {
    std::unique_ptr<Exchange> exchange;  // exchange of a unit that is drawn
    std::map<Case, Sent> sent;
    std::map<Case, Probe> probes;
    std::map<Case, int64_t> measured;  // number of measured steps
    PlannedCall before;                // call that formed the mean that was measured
  };

  bool IsOfExperts(size_t unit) const { return experts_.scheme && experts_.units[unit]; }
  const Scheme& SchemeOf(size_t unit) const {
    return IsOfExperts(unit) ? *experts_.scheme : scheme_;
  }
  // Returns how many of `workers` exchange a unit together.
  int Sharing(size_t unit, size_t workers) const {
    return static_cast<int>(workers) / (IsOfExperts(unit) ? experts_.ranks : 1);
  }
  std::vector<float> Unclipped(size_t unit, int worker);
  float ClipOf(int worker);
  Probe Measure(size_t unit);
  Probe MeasureNow(size_t unit);
  PlannedCall RunCall(size_t unit, CollectiveCall call, int sender, std::span<const float> gradient,
                      size_t number);
  UnitStep ContextOf(size_t unit, int sender) const;
  int SenderOf(size_t unit);
  Case CaseOf(size_t unit) const;
  Exchange& ExchangeOf(size_t unit);
  const Sent& SentOf(size_t unit);
  bool PlanUnit(size_t unit, Sent& sent) const;
  void RunUnit(size_t unit, Sent& sent);

  const Scheme& scheme_;
  const int workers_;
  DrawnGradients gradients_;
  ExpertUnits experts_;
  std::vector<Unit> layout_;
  std::vector<UnitState> units_;
  // State of the current step.
  StepInfo info_;
  std::vector<int> active_workers_;
  std::vector<double> parameters_;  // parameters by unit
  std::vector<double> candidates_;
  bool estimate_ = false;
  std::vector<std::vector<Probe>> probes_;  // [worker][unit]
  std::vector<const Sent*> sent_;           // by unit
  std::vector<char> open_;                  // units whose exchange has measured in this step
  size_t chosen_ = 0;
  int64_t values_drawn_ = 0;
  // Clipping factors of the workers' gradients in the current step, by worker.
  std::map<int, float> clips_;
};

}  // namespace legacy
