// Run directories with a valid manifest and one CSV file of any content.
#include <fstream>
#include <sstream>

#include "analysis/run_directory.h"
#include "analysis/summary.h"
#include "base/whole_file.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

constexpr const char* kRunManifest = R"({"format": 2, "program": "p", "policies": ["dense", "topk"],
  "seeds": [1, 2], "workers": 4, "parameters": 1000, "fidelity": "flow", "metrics": [
  {"name": "perplexity", "title": "perplexity", "better": "lower", "unit": ""},
  {"name": "top5", "title": "top-5", "better": "higher", "unit": "fraction"}],
  "target": {"metric": "perplexity", "value": 120}})";

const std::vector<std::string>& Names() {
  static const std::vector<std::string> names = {"manifest.json", "steps.csv", "evaluations.csv",
                                                 "layers.csv",    "links.csv", "network.csv"};
  return names;
}

// Returns the metrics of kRunManifest.
std::vector<Metric> RunMetrics() {
  return {{"perplexity", "perplexity", Metric::Better::kLower, false},
          {"top5", "top-5", Metric::Better::kHigher, true}};
}

// Returns rows of both policies and seeds, as the writers write them.
template <class Row>
std::string Written() {
  const MemoryFolder folder({Row::kFile});
  analysis::TableWriter<Row> writer(folder.path(), RunMetrics());
  for (const char* policy : {"dense", "topk"}) {
    for (const uint64_t seed : {1, 2}) {
      Row row;
      row.policy = policy;
      row.seed = seed;
      if constexpr (requires { row.metrics; }) row.metrics = {120, 0.5};
      writer.Write(row);
    }
  }
  return ReadWholeFile(folder.path() / Row::kFile);
}

}  // namespace

void FuzzRun(ByteSpan bytes) {
  static MemoryFolder folder(Names());
  Input input(bytes);
  const size_t chosen = 1 + input.Take(1) % (Names().size() - 1);
  folder.file(0).Put(BytesOf(kRunManifest));
  for (size_t i = 1; i < Names().size(); ++i) {
    folder.file(i).Put(i == chosen ? input.Rest() : ByteSpan());
  }
  Refusable([&] {
    const analysis::RunDirectory run = analysis::ReadRunDirectory(folder.path());
    analysis::Summarise(run);
  });
}

std::vector<Bytes> RunSeeds() {
  const std::string texts[] = {Written<analysis::StepRow>(), Written<analysis::EvaluationRow>(),
                               Written<analysis::LayerRow>(), Written<analysis::LinkRow>(),
                               Written<analysis::NetworkRow>()};
  std::vector<Bytes> seeds;
  for (size_t i = 0; i < std::size(texts); ++i) {
    for (Bytes& seed : TextSeeds({texts[i]}, std::string(1, static_cast<char>(i)))) {
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace legacy::fuzz
