#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "base/error.h"
#include "compress/gradients/gradients.h"
#include "compress/policy.h"
#include "scenarios/codec/property_check.h"

namespace legacy {
namespace {

// An InventedTraining runs a policy through a training with invented gradients.
class InventedTraining {
 public:
  explicit InventedTraining(const std::string& text) {
    int64_t offset = 0;
    for (const int64_t numel : {3000, 200, 40}) {
      const auto id = static_cast<uint32_t>(units_.size());
      units_.push_back({.id = id,
                        .name = std::to_string(id),
                        .shape = {numel},
                        .offset = offset,
                        .numel = numel});
      offset += numel;
    }
    // For policies of a density, of theta and of ranks.
    if (!Makes(text, "topk", 0.02) && !Makes(text, "powersgd", 4)) Make(text, "fft", 0.85);
  }

  std::vector<double> Step(int64_t step) {
    std::vector<double> parameters(units_.size(), NAN);
    policy_->Decide(InfoOf(step), units_, parameters);
    const std::vector<float> gradient = DrawGradient("gaussian:n=3240", 0, step);
    if (policy_->ReadsLocalGradient()) {
      for (size_t u = 0; u < units_.size(); ++u) {
        const auto part = std::span(gradient).subspan(units_[u].offset, units_[u].numel);
        policy_->OnLocalGradient(u, part, part);
      }
    }
    const std::vector<double> candidates = policy_->Candidates();
    Run(PolicyMoment::kAgreement, candidates);
    if (!candidates.empty()) std::ranges::fill(parameters, candidates.at(policy_->Chosen()));
    Run(PolicyMoment::kAnnouncement, {});
    policy_->OnFeedback({.step = step,
                         .loss = 1.0 / (1.0 + static_cast<double>(step)),
                         .mean_gradient = gradient,
                         .simulated_seconds = 1e-2,
                         .compute_seconds = 5e-3,
                         .codec_seconds = 1e-3,
                         .communication_seconds = 4e-3,
                         .message_bytes = 1000,
                         .unit_bytes = kBytes,
                         .unit_exposed_seconds = kExposed});
    return parameters;
  }

  const ParameterSpec& range() const { return scheme_->Parameter(); }
  Policy& policy() { return *policy_; }
  static constexpr int64_t kSteps = 40;

 private:
  bool Makes(const std::string& text, const char* scheme, double parameter) {
    try {
      Make(text, scheme, parameter);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  void Make(const std::string& text, const char* scheme, double parameter) {
    scheme_ = MakeScheme(scheme);
    policy_ = MakePolicy(text, {.scheme = scheme_.get(),
                                .units = units_,
                                .workers = 3,
                                .total_steps = kSteps,
                                .steps_per_epoch = 5,
                                .parameter = parameter,
                                .seed = 1});
  }

  static constexpr double kBytes[] = {700, 200, 100};
  static constexpr double kExposed[] = {2e-3, 1e-3, 1e-3};

  static StepInfo InfoOf(int64_t step) {
    return {.step = step,
            .total_steps = kSteps,
            .learning_rate = step < kSteps / 2 ? 1 : 0.1,
            .steps_per_epoch = 5,
            .link = {.latency_seconds = 1e-5, .seconds_per_byte = 8e-10}};
  }

  // Runs a policy's own call. In it, a candidate c keeps sqrt(c) of every worker's energy.
  void Run(PolicyMoment moment, const std::vector<double>& candidates) {
    if (!policy_->OpenCall(moment)) return;
    std::vector<Probe> probes(candidates.empty() ? 0 : units_.size());
    for (Probe& probe : probes) {
      probe.squared = 1;
      for (const double candidate : candidates) probe.kept.push_back(std::sqrt(candidate));
    }
    for (int w = 0; w < 3; ++w) policy_->Accumulate(w, policy_->Encode(w, probes).bytes);
    policy_->FinishCall();
  }

  std::unique_ptr<Scheme> scheme_;
  std::vector<Unit> units_;
  std::unique_ptr<Policy> policy_;
};

std::string DecidesInside(const std::string& text) {
  InventedTraining training(text);
  for (int64_t step = 0; step < InventedTraining::kSteps; ++step) {
    for (const double parameter : training.Step(step)) {
      try {
        CheckParameter(training.range(), parameter);
      } catch (const Error& error) {
        throw Violated(fmt::format("step {}: {}", step, error.what()));
      }
    }
  }
  return fmt::format("{} steps", InventedTraining::kSteps);
}

std::string DecidesAlike(const std::string& text) {
  InventedTraining first(text), second(text);
  for (int64_t step = 0; step < InventedTraining::kSteps; ++step) {
    Expect(first.Step(step) == second.Step(step), [&] {
      return fmt::format("step {}: two policies of one text decide differently", step);
    });
  }
  return fmt::format("{} steps", InventedTraining::kSteps);
}

std::string Resumes(const std::string& text) {
  for (const int64_t at : {1, 7, 23}) {
    InventedTraining straight(text), resumed(text);
    for (int64_t step = 0; step < at; ++step) straight.Step(step);
    resumed.policy().Load(straight.policy().Save());
    for (int64_t step = at; step < InventedTraining::kSteps; ++step) {
      Expect(straight.Step(step) == resumed.Step(step), [&] {
        return fmt::format("saved and loaded before step {}, it decides differently in step {}", at,
                           step);
      });
    }
  }
  return "saved before steps 1, 7 and 23";
}

std::string SurvivesHostileStates(const std::string& text) {
  constexpr int kStates = 300;
  RandomStream stream({.seed = 78});
  InventedTraining saved(text);
  for (int64_t step = 0; step < 9; ++step) saved.Step(step);
  const Bytes good = saved.policy().Save();
  int refused = 0;
  for (int i = 0; i < kStates; ++i) {
    InventedTraining training(text);
    const Bytes before = training.policy().Save();
    if (!Refused([&] { training.policy().Load(Mutated(good, stream)); })) continue;
    ++refused;
    Expect(training.policy().Save() == before,
           [&] { return fmt::format("state {}: refused when a part was loaded", i); });
  }
  return fmt::format("{} states, {} refused", kStates, refused);
}

}  // namespace

std::vector<CheckedProperty> CheckPolicy(const std::string& text) {
  InventedTraining made(text);  // this may throw
  const auto of = [&](std::string (*check)(const std::string&)) {
    return [&text, check] { return check(text); };
  };
  return {TryApart("parameters inside the range", of(DecidesInside)),
          TryApart("equal decisions from equal input", of(DecidesAlike)),
          TryApart("resumes from its state", of(Resumes)),
          TryApart("hostile states", of(SurvivesHostileStates))};
}

}  // namespace legacy
