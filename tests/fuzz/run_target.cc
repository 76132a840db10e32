// Run directories with a valid manifest and one CSV file of any content; of those that federated
// runs have, the others are as they were written.
#include <fstream>
#include <sstream>
#include <type_traits>

#include "analysis/federated/gantt.h"
#include "analysis/federated_tables.h"
#include "analysis/run_directory.h"
#include "analysis/summary.h"
#include "base/files/whole_file.h"
#include "scenarios/federated/recorded_rows.h"
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
                                                 "layers.csv",    "links.csv", "network.csv",
                                                 "rounds.csv",    "tasks.csv", "clients.csv"};
  return names;
}
constexpr size_t kFirstOfFederated = 6;

// Returns the metrics of kRunManifest.
std::vector<Metric> RunMetrics() {
  return {{"perplexity", "perplexity", Metric::Better::kLower, false},
          {"top5", "top-5", Metric::Better::kHigher, true}};
}

// Returns rows of both policies and seeds, as the writers write them.
template <class Row>
std::string Written() {
  const MemoryFolder folder({});  // writers follow no links to memory
  analysis::TableWriter<Row> writer(folder.path(), RunMetrics());
  for (const char* policy : {"dense", "topk"}) {
    for (const uint64_t seed : {1, 2}) {
      Row row;
      row.policy = policy;
      row.seed = seed;
      if constexpr (requires { row.metrics; }) row.metrics = {120, 0.5};
      if constexpr (std::is_same_v<Row, analysis::RoundRow>) {
        row.version = row.started = row.counted = row.residuals.emplace(1);
        row.end = row.residual_age.emplace(2);
        row.critical_client = 0;
        row.critical_dispatched = row.critical_downloaded = row.critical_worked =
            row.critical_uploaded = row.residual_norm.emplace(0.5);
      }
      if constexpr (std::is_same_v<Row, analysis::TaskRow>) row.end = "counted";
      writer.Write(row);
    }
  }
  return ReadWholeFile(folder.path() / Row::kFile);
}

// Returns the files as they are written, without the manifest.
const std::vector<std::string>& WrittenFiles() {
  static const std::vector<std::string> files = {
      Written<analysis::StepRow>(),    Written<analysis::EvaluationRow>(),
      Written<analysis::LayerRow>(),   Written<analysis::LinkRow>(),
      Written<analysis::NetworkRow>(), Written<analysis::RoundRow>(),
      Written<analysis::TaskRow>(),    Written<analysis::ClientRow>()};
  return files;
}

// Makes the results that reports and replays make of a federated run.
void ReadFederated(const analysis::RunDirectory& run, const analysis::Summary& summary) {
  for (const analysis::Table& table : analysis::FederatedTables(run, summary)) {
    for (const auto& row : table.rows) Require(row.size() == table.header.size());
    analysis::RenderText(table);
  }
  analysis::WaitsFor(run.rounds, run.clients);
  if (const auto median = analysis::MedianRoundTasks(run.rounds, run.tasks)) {
    analysis::GanttText(*median);
    analysis::GanttSvg(*median);
  }
  for (const auto& [training, rows] : RowsOf(run)) {
    if (!rows.steps.empty()) FactsOf(rows, 0);
  }
}

}  // namespace

void FuzzRun(ByteSpan bytes) {
  static MemoryFolder folder(Names());
  Input input(bytes);
  const size_t chosen = 1 + input.Take(1) % (Names().size() - 1);
  folder.file(0).Put(BytesOf(kRunManifest));
  for (size_t i = 1; i < Names().size(); ++i) {
    const bool whole = chosen >= kFirstOfFederated && i >= kFirstOfFederated;
    const std::string& other = WrittenFiles()[i - 1];
    folder.file(i).Put(i == chosen ? input.Rest()
                       : whole     ? std::as_bytes(std::span(other))
                                   : ByteSpan());
  }
  Refusable([&] {
    const analysis::RunDirectory run = analysis::ReadRunDirectory(folder.path());
    ReadFederated(run, analysis::Summarise(run));
  });
}

std::vector<Bytes> RunSeeds() {
  std::vector<Bytes> seeds;
  for (size_t i = 0; i < WrittenFiles().size(); ++i) {
    for (Bytes& seed : TextSeeds({WrittenFiles()[i]}, std::string(1, static_cast<char>(i)))) {
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace legacy::fuzz
