// JSON of any kind: profiles, manifests, and the output of GPU benchmarks.
#include <nlohmann/json.hpp>

#include "analysis/run_directory.h"
#include "base/files/json.h"
#include "base/files/whole_file.h"
#include "tests/fuzz/readers.h"
#include "trainer/clock/gpu_profile.h"
#include "trainer/clock/profile.h"

namespace legacy::fuzz {
namespace {

constexpr const char* kManifest = R"({"format": 1, "program": "p", "policies": ["dense", "topk"],
  "seeds": [1, 2], "workers": 4, "parameters": 1000, "target_accuracy": 0.8, "fidelity": "flow"})";

constexpr const char* kNewManifest = R"({"format": 2, "program": "p", "policies": ["dense", "topk"],
  "seeds": [1, 2], "workers": 4, "parameters": 1000, "fidelity": "flow", "metrics": [
  {"name": "perplexity", "title": "perplexity", "better": "lower", "unit": ""},
  {"name": "top5", "title": "top-5", "better": "higher", "unit": "fraction"}],
  "target": {"metric": "perplexity", "value": 120}})";

constexpr const char* kBench =
    R"({"program": "legacy-bench-gpu", "command": "c", "date": "2030-01-02",
  "device": {"name": "A GPU", "driver": "1.2", "cuda": "13.0"}, "results": [
  {"kernel": "k", "profile": "copy", "profile_elements": 1e6, "input": "student-t", "vectors": 1, "seconds": 1e-5},
  {"kernel": "k", "profile": "copy", "profile_elements": 2e6, "input": "student-t", "vectors": 1, "seconds": 2e-5}]})";

Profile Base() {
  return {.name = "base",
          .source = "datasheet (x)",
          .launch_seconds = 1e-6,
          .operations = {{"conv", {1e12, 1e11}}},
          .kernels = {{"copy", {1, 1}}}};
}

}  // namespace

// Checks that a parsed document is written as text that parses to the same document.
void FuzzJson(ByteSpan input) {
  Refusable([&] {
    const nlohmann::json document = ParseJson(TextOf(input), "f");
    Require(ParseJson(document.dump(), "f") == document);
    Require(Shown(document).size() <= 80);
    if (document.is_number()) WholeNumber(document, "n", -5, 5);
  });
}

std::vector<Bytes> JsonSeeds() {
  return TextSeeds(
      {kManifest, R"([1, -2.5e3, "\u00e9\n", true, null, {"a": [[[[]]]]}, 18446744073709551615])"});
}

void FuzzProfile(ByteSpan input) {
  const std::string text = TextOf(input);
  Refusable([&] {
    const std::string written = FormatProfile(ParseProfile(text, "f"));
    Require(FormatProfile(ParseProfile(written, "f")) == written);
  });
  Refusable([&] { GpuProfile(text, "f", Base(), false, "n"); });
}

std::vector<Bytes> ProfileSeeds() {
  return TextSeeds({kBench,
                    ReadWholeFile(LEGACY_ROOT "/trainer/clock/profiles/a100-datasheet.json"),
                    FormatProfile(Base())});
}

void FuzzManifest(ByteSpan input) {
  Refusable([&] {
    const analysis::Manifest manifest = analysis::ParseManifest(ParseJson(TextOf(input), "f"), "f");
    Require(manifest.workers > 0 && manifest.parameters > 0 && !manifest.policies.empty());
  });
}

std::vector<Bytes> ManifestSeeds() { return TextSeeds({kManifest, kNewManifest}); }

}  // namespace legacy::fuzz
