#include "scenarios/run/workers/shared_training.h"

#include <utility>

namespace legacy {

Bytes StateOf(const ScenarioTiming& timing) {
  StateWriter out;
  timing.Save(out);
  return out.Take();
}

void Restore(ScenarioTiming& timing, const Bytes& state) {
  StateReader in(state);
  timing.Load(in);
}

void RowBuffer::WriteTo(RunSink& sink) const {
  for (const Row& row : rows_) {
    std::visit([&](const auto& one) { sink.Write(one); }, row);
  }
}

SharedTraining::SharedTraining(NetworksPolicy& policy, std::span<ScenarioTiming* const> timings,
                               const std::string& method, uint64_t seed, const StepSource& source)
    : policy_(policy) {
  for (ScenarioTiming* const timing : timings) {
    auto twin = std::make_unique<TimedTwin>();
    twin->timing = timing;
    twin->before = StateOf(*timing);
    twin->network = {timing, &twin->rows};
    twin->timed = std::make_unique<TimedEverywhere>(std::span(&twin->network, 1), nullptr, method,
                                                    seed, source.Costs(), source.Layers());
    twins_.push_back(std::move(twin));
  }
}

void SharedTraining::SetLinks(int64_t step) {
  for (size_t i = 0; i < twins_.size(); ++i) {
    policy_.SetLink(i + 1, twins_[i]->timing->LinkAt(step));
  }
}

void SharedTraining::Step(const StepWork& work, const StepFacts& facts) {
  for (size_t i = 0; i < twins_.size(); ++i) {
    TimedEverywhere& timed = *twins_[i]->timed;
    if (Same(i)) timed.Step(work, timed.Start(), facts);
  }
}

void SharedTraining::OnFeedback(StepSource& source) {
  for (size_t i = 0; i < twins_.size(); ++i) {
    if (!Same(i)) continue;
    policy_.Select(i + 1);
    source.OnFeedback(twins_[i]->timed->Times());
  }
  policy_.Select(0);
}

void SharedTraining::ForEach(const std::function<void(TimedEverywhere& timed)>& write) {
  for (size_t i = 0; i < twins_.size(); ++i) {
    if (!Same(i)) continue;
    policy_.Select(i + 1);
    write(*twins_[i]->timed);
  }
  policy_.Select(0);
}

std::vector<std::unique_ptr<TimedTwin>> SharedTraining::Finish() {
  std::vector<std::unique_ptr<TimedTwin>> same;
  for (size_t i = 0; i < twins_.size(); ++i) {
    if (Same(i)) {
      twins_[i]->timed.reset();
      same.push_back(std::move(twins_[i]));
    } else {
      Restore(*twins_[i]->timing, twins_[i]->before);
    }
  }
  twins_.clear();
  return same;
}

}  // namespace legacy
