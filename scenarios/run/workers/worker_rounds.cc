#include "scenarios/run/workers/worker_rounds.h"

#include <utility>

#include "base/archive.h"

namespace legacy {

bool Evaluates(const Scenario& scenario, int64_t done) {
  return done % scenario.evaluate_every == 0 || done == scenario.steps;
}

PieceGradients::PieceGradients(const Scenario& scenario, const TimedPiece& piece,
                               StepSource& source, const std::filesystem::path& directory) {
  if (!piece.own || scenario.gradient_steps.empty()) return;
  files_.emplace(scenario, source.Layers(), directory);
  source.SetGradientHook([this, method = piece.method->name, seed = piece.seed](
                             int64_t step, int worker, std::span<const float> gradient) {
    files_->Write(method, seed, step, worker, gradient);
  });
}

WorkerRounds::WorkerRounds(Parts parts)
    : parts_(std::move(parts)),
      layers_(parts_.source->Layers()),
      row_{parts_.piece.method->name, parts_.piece.seed, parts_.scenario.steps,
           DataWorkers(parts_.scenario)},
      stats_(parts_.source->Units().size()),
      gradients_(parts_.scenario, parts_.piece, *parts_.source, parts_.directory),
      timed_(parts_.piece.networks, parts_.progress, row_.method, row_.seed, parts_.source->Costs(),
             layers_) {}

bool WorkerRounds::Next() {
  const int64_t step = timed_.Done();
  if (step >= row_.steps) return false;
  StepSource& source = *parts_.source;
  SharedTraining* const shared = parts_.shared.get();
  const StepStart start = timed_.Start();
  source.SetLink(parts_.piece.networks.front().timing->LinkAt(step));
  if (shared) shared->SetLinks(step);
  const StepOutcome outcome = source.Step(start.participation.workers);
  const double share =
      static_cast<double>(outcome.work.ActiveWorkers()) / static_cast<double>(row_.workers);
  const double sent = stats_.Add(outcome.units, share);
  const StepFacts facts = {outcome.learning_rate, outcome.loss, sent};
  timed_.Step(outcome.work, start, facts);
  if (shared) shared->Step(outcome.work, facts);
  source.OnFeedback(timed_.Times());
  if (shared) shared->OnFeedback(source);
  OnAll([&](TimedEverywhere& timed) { WriteDecisions(row_, source, timed); });
  if (parts_.recorder) parts_.recorder->Write(row_.method, row_.seed, outcome.work);
  if (parts_.jobs) parts_.jobs->Tend();
  if (Evaluates(parts_.scenario, step + 1) && source.Evaluates()) {
    const Evaluation result = source.Evaluate();
    OnAll([&](TimedEverywhere& timed) { timed.Evaluated(result.loss, result.metrics); });
  }
  return true;
}

bool WorkerRounds::Finish() {
  OnAll([&](TimedEverywhere& timed) {
    WriteLayers(row_, *parts_.source, stats_, timed);
    timed.Finish();
  });
  if (parts_.shared) parts_.twins = parts_.shared->Finish();
  return true;
}

void WorkerRounds::OnAll(const std::function<void(TimedEverywhere& timed)>& write) {
  write(timed_);
  if (parts_.shared) parts_.shared->ForEach(write);
}

void WorkerRounds::Save(StateWriter& out) {
  ToArchive(out, stats_);
  timed_.Save(out);
}

void WorkerRounds::Load(StateReader& in) {
  FromArchive(in, stats_);
  timed_.Load(in);
}

}  // namespace legacy
