#include "scenarios/options/presets.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"

namespace legacy {
namespace {

Method MethodOf(const std::string& name, const std::string& scheme, const std::string& policy,
                double parameter = 0, const std::string& legacy_schedule = "") {
  Method method;
  method.name = name;
  method.scheme = scheme;
  method.policy = policy;
  method.parameter = parameter;
  method.legacy_schedule = legacy_schedule;
  return method;
}

// Returns LEGACY's preset. The split, the densities of layers and the residuals are those of the
// authors' code. The phases have the same average density of 0.1 %, the higher one first, in a
// ratio of 9 to 1 (our choice, because the paper's own densities are not public), with a bound as
// written in the paper.
Preset Legacy() {
  return {"paper-legacy",
          "LEGACY: A Lightweight Dynamic Gradient Compression Strategy for Distributed Deep "
          "Learning, ICLR 2026",
          {{"compression.policies", "dense,topk,legacy-layer,legacy-phase,legacy-both"},
           {"compression.density", "0.1%"},
           {"compression.splits", "10000"},
           {"compression.phase_bounds", "50%"},
           {"compression.closed_right", "on"},
           {"compression.volume", "off"},
           {"compression.error_feedback", "off"}},
          {MethodOf("legacy-layer", "topk", "legacy-layer", 0, "1%,0.1%"),
           MethodOf("legacy-phase", "topk", "legacy-phase", 0, "0.18%/0.02%"),
           MethodOf("legacy-both", "topk", "legacy-both", 0, "1.8%,0.18%/0.2%,0.02%")}};
}

// Returns the preset of the authors' ResNet-18: a uniform rank of 4, 1,000 dense steps, and ranks
// from half to twice the uniform rank. The policy decides in every epoch, from 10 steps of worker
// 0's error-fed gradients, with 10,000 steps of the error axis.
Preset Lgreco() {
  const std::string policy =
      "lgreco:accumulate=10,alpha=1,beta=2,gamma=0.5,metric=l2,source=local,steps=10000";
  return {"paper-lgreco",
          "L-GreCo: Layerwise-Adaptive Gradient Compression For Efficient Data-parallel Deep "
          "Learning, MLSys 2024",
          {{"compression.policies", "dense,powersgd,lgreco-powersgd"},
           {"compression.error_feedback", "on"}},
          {MethodOf("powersgd", "powersgd:dense_start=1000,min_rate=2", "uniform", 4),
           MethodOf("lgreco-powersgd", "powersgd:dense_start=1000,min_rate=2", policy, 4)}};
}

// Returns the preset of the exponential runs: DGC's sampled threshold with plain residuals, factors
// from 10 to 1,000, and windows of 500 steps.
Preset Gravac() {
  const std::string policy =
      "gravac:gain=energy,omega=0.01,probe=levels,scaling=exponential,theta_max=1000,theta_min=10,"
      "window=500,eps=";
  return {
      "paper-gravac",
      "GraVAC: Adaptive Compression for Communication-Efficient Distributed DL Training, IEEE "
      "CLOUD 2023",
      {{"compression.policies", "dense,topk-10x,topk-1000x,dgc-10x,dgc-1000x,gravac,gravac-0.9"},
       {"compression.error_feedback", "on"}},
      {MethodOf("topk-10x", "topk", "uniform", 0.1),
       MethodOf("topk-1000x", "topk", "uniform", 0.001),
       MethodOf("dgc-10x", "sampled", "uniform", 0.1),
       MethodOf("dgc-1000x", "sampled", "uniform", 0.001),
       MethodOf("gravac", "sampled", policy + "0.7", 0.1),
       MethodOf("gravac-0.9", "sampled", policy + "0.9", 0.1)}};
}

// Returns Top-K with FFT's quantiser and the same number of bytes as FFT.
Method TopKOfFft() {
  Method method = MethodOf("topk-rbf", "topk+rbf:bits=10,range=calibrated", "uniform");
  method.bytes_of = "fft+rbf:bits=10@0.85";
  return method;
}

// Returns the preset of FFT, with theta .85 and 10 bits, whose range the first steps set, without
// residuals; it also has Top-K with the same quantiser.
Preset Fft() {
  return {"paper-fft",
          "FFT-based Gradient Sparsification for the Distributed Training of Deep Neural Networks, "
          "HPDC 2020",
          {{"compression.policies", "dense,fft,fft-theta,topk-rbf"},
           {"compression.error_feedback", "off"}},
          {MethodOf("fft", "fft+rbf:bits=10,range=calibrated", "uniform", 0.85),
           MethodOf("fft-theta", "fft+rbf:bits=10,range=calibrated", "theta:form=lr", 0.85),
           TopKOfFft()}};
}

// Returns the preset of ranks 2 and 1, and of Top-K with 99 % and 10 %, which are decided every 10
// epochs. All matrices are compressed.
Preset Accordion() {
  const std::string scheme = "powersgd:min_rate=0";
  return {
      "paper-accordion",
      "Accordion: Adaptive Gradient Communication via Critical Learning Regime Identification, "
      "MLSys 2021",
      {{"compression.policies",
        "dense,powersgd-2,powersgd-1,accordion-powersgd,topk-99,topk-10,accordion"},
       {"compression.error_feedback", "on"}},
      {MethodOf("powersgd-2", scheme, "uniform", 2), MethodOf("powersgd-1", scheme, "uniform", 1),
       MethodOf("accordion-powersgd", scheme, "accordion:eta=0.5,high=1,interval=10,low=2", 2),
       MethodOf("topk-99", "topk", "uniform", 0.99), MethodOf("topk-10", "topk", "uniform", 0.1),
       MethodOf("accordion", "topk", "accordion:eta=0.5,high=0.1,interval=10,low=0.99", 0.99)}};
}

std::string DescribeMethod(const Method& method) {
  std::string text = method.scheme + ", policy " + method.policy;
  if (method.parameter > 0) text += ", parameter " + FormatNumber(method.parameter);
  if (!method.bytes_of.empty()) text += ", " + method.BytesText();
  if (!method.legacy_schedule.empty()) text += ", levels " + method.legacy_schedule;
  return text;
}

const ScenarioOption& OptionOf(const std::string& key) {
  return OptionNamed(ScenarioOptions(), key, OptionNames::kKeys);
}

std::string Line(const std::string& key, const std::string& now, const std::string& preset) {
  return "  " + key + ": " + now + (now == preset ? "" : "  (instead of " + preset + ")") + "\n";
}

}  // namespace

const std::vector<Preset>& Presets() {
  static const std::vector<Preset> presets = {Legacy(), Lgreco(), Gravac(), Fft(), Accordion()};
  return presets;
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : Presets()) names.push_back(preset.name);
  return names;
}

void ApplyPreset(const std::string& name, Scenario& scenario) {
  const auto preset = std::ranges::find(Presets(), name, &Preset::name);
  if (preset == Presets().end()) throw NotAmong("preset", name, PresetNames());
  for (const auto& [key, text] : preset->settings) SetOption(scenario, key, text);
  for (const Method& method : preset->methods) scenario.methods[method.name] = method;
  scenario.preset = name;
}

std::string PresetText(const Scenario& scenario) {
  if (scenario.preset.empty()) return "";
  Scenario plain;
  ApplyPreset(scenario.preset, plain);
  const Preset& preset = *std::ranges::find(Presets(), scenario.preset, &Preset::name);
  std::string text = "preset " + preset.name + " (" + preset.source + ") sets:\n";
  for (const auto& [key, given] : preset.settings) {
    const ScenarioOption& option = OptionOf(key);
    text += Line(key, option.get(scenario), option.get(plain));
  }
  for (const Method& method : preset.methods) {
    text += Line("methods." + method.name, DescribeMethod(scenario.methods.at(method.name)),
                 DescribeMethod(method));
  }
  return text;
}

}  // namespace legacy
