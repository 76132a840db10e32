#include "base/error.h"
#include "compress/gradients/gradients.h"
#include "compress/policy.h"
#include "tests/compress/test_data.h"
#include "tests/fuzz/targets.h"

namespace legacy::fuzz {
namespace {

constexpr int kWorkers = 2;
constexpr int64_t kSteps = 8;
constexpr int64_t kStepsPerEpoch = 2;

std::vector<Unit> SomeUnits() {
  std::vector<Unit> units = test::MakeUnits({6, 60, 400});
  units[2].shape = {20, 20};
  return units;
}

// Returns the energies that candidates keep, falling from one to the next, as exchanges would
// measure them.
std::vector<Probe> Probes(const std::vector<Unit>& units, size_t candidates) {
  std::vector<Probe> probes;
  for (const Unit& unit : units) {
    Probe probe{.squared = static_cast<double>(unit.numel), .kept = {}};
    double kept = probe.squared;
    for (size_t i = 0; i < candidates; ++i) probe.kept.push_back(kept *= 0.7);
    probes.push_back(probe);
  }
  return probes;
}

void RunPolicyCall(Policy& policy, PolicyMoment moment, const std::vector<Probe>& probes,
                   Input& input) {
  if (!policy.OpenCall(moment)) return;
  std::vector<Message> messages;
  for (int w = 0; w < kWorkers; ++w) messages.push_back(policy.Encode(w, probes));
  for (int w = 0; w < kWorkers; ++w) {
    policy.Accumulate(w, Tampered(std::move(messages[static_cast<size_t>(w)].bytes), input));
  }
  policy.FinishCall();
}

void RunStep(Policy& policy, int64_t step, const std::vector<Unit>& units,
             const ParameterSpec& spec, Input& input) {
  std::vector<double> parameters(units.size());
  policy.Decide({.step = step,
                 .total_steps = kSteps,
                 .learning_rate = 0.1,
                 .steps_per_epoch = kStepsPerEpoch,
                 .link = {.latency_seconds = 1e-5, .seconds_per_byte = 1e-9}},
                units, parameters);
  for (const double parameter : parameters) CheckParameter(spec, parameter);
  const auto gradient = DrawGradient("gaussian:n=466", 0, static_cast<uint64_t>(step));
  if (policy.ReadsLocalGradient()) {
    for (size_t u = 0; u < units.size(); ++u) {
      const auto part = std::span(gradient).subspan(static_cast<size_t>(units[u].offset),
                                                    static_cast<size_t>(units[u].numel));
      policy.OnLocalGradient(u, part, part);
    }
  }
  const std::vector<double> candidates = policy.Candidates();
  RunPolicyCall(policy, PolicyMoment::kAgreement,
                candidates.empty() ? std::vector<Probe>() : Probes(units, candidates.size()),
                input);
  if (!candidates.empty()) Require(policy.Chosen() < candidates.size());
  RunPolicyCall(policy, PolicyMoment::kAnnouncement, {}, input);
  const std::vector<double> bytes(units.size(), 100);
  const std::vector<double> seconds(units.size(), 1e-4);
  policy.OnFeedback({.step = step,
                     .loss = 1,
                     .mean_gradient = gradient,
                     .simulated_seconds = 1e-2,
                     .compute_seconds = 5e-3,
                     .codec_seconds = 1e-3,
                     .communication_seconds = 4e-3,
                     .message_bytes = 300,
                     .unit_bytes = bytes,
                     .unit_exposed_seconds = seconds});
}

}  // namespace

// Checks that a policy's parameters stay within the scheme's range, whatever it is told.
void FuzzPolicy(ByteSpan bytes) {
  Input input(bytes);
  const std::string& text = PolicyTexts()[input.Take(1) % PolicyTexts().size()];
  const std::vector<std::string> schemes = SchemeNames();
  const std::vector<Unit> units = SomeUnits();
  try {
    const std::unique_ptr<Scheme> scheme = MakeScheme(schemes[input.Take(1) % schemes.size()]);
    const ParameterSpec& spec = scheme->Parameter();
    const std::unique_ptr<Policy> policy = MakePolicy(text, {.scheme = scheme.get(),
                                                             .units = units,
                                                             .workers = kWorkers,
                                                             .total_steps = kSteps,
                                                             .steps_per_epoch = kStepsPerEpoch,
                                                             .parameter = spec.fallback,
                                                             .seed = 1});
    for (int64_t step = 0; step < kSteps; ++step) RunStep(*policy, step, units, spec, input);
    policy->Load(Tampered(policy->Save(), input));
    RunStep(*policy, kSteps, units, spec, input);
  } catch (const Error&) {
  }
}

// Pairs each policy with a few schemes, so that each scheme occurs; all pairs would take too long.
std::vector<Bytes> PolicySeeds() {
  constexpr uint32_t kEach = 3;
  std::vector<Bytes> seeds;
  for (uint32_t policy = 0; policy < PolicyTexts().size(); ++policy) {
    for (uint32_t i = 0; i < kEach; ++i) {
      const auto scheme = (kEach * policy + i) % static_cast<uint32_t>(SchemeNames().size());
      seeds.push_back(Output().Put(policy, 1).Put(scheme, 1).Put(Bytes(64)).Take());
    }
  }
  return seeds;
}

}  // namespace legacy::fuzz
