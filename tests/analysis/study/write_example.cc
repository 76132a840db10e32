// Writes a run directory FOLDER/run, a study FOLDER/study/study.sqlite and its export
// FOLDER/export, with numbers and texts that are hard to read exactly, for the test of the Python
// reader. Usage: write_example FOLDER
#include <cstdio>

#include "analysis/run_directory.h"
#include "analysis/study/store.h"
#include "base/error.h"
#include "tests/analysis/study/awkward_study.h"

namespace legacy::analysis {
namespace {

namespace fs = std::filesystem;

constexpr char kPolicy[] = "top,k \"1%\"";
constexpr uint64_t kSeed = 18446744073709551615u;

struct RunValues : AwkwardValues {
  using AwkwardValues::operator();
  void operator()(const char*, const char*, bool& value) { value = ++count % 2 == 0; }
  void operator()(const char*, const char*, uint64_t& value) { value = kSeed; }
};

template <class Row>
void WriteTable(const fs::path& directory) {
  TableWriter<Row> writer(directory, AwkwardMetrics());
  RunValues fill;
  for (int64_t step = 0; step < 2; ++step) {
    Row row;
    VisitColumns(row, AwkwardMetrics(),
                 [&](const std::string& name, const char* unit, auto& value) {
                   fill(name.c_str(), unit, value);
                 });
    row.policy = kPolicy;
    if constexpr (requires { row.step; }) row.step = step;
    writer.Write(row);
  }
}

void WriteExample(const fs::path& folder) {
  const fs::path run = folder / "run";
  fs::remove_all(folder);
  fs::create_directories(run);
  fs::create_directories(folder / "study");
  nlohmann::json manifest = {{"program", "example"}, {"policies", {kPolicy, "dense"}},
                             {"seeds", {kSeed}},     {"workers", 4},
                             {"parameters", 1000},   {"fidelity", "flow"}};
  SetMetrics(manifest, AwkwardMetrics(), Target{"perplexity", 120});
  WriteManifest(run, manifest);
  WriteTable<StepRow>(run);
  WriteTable<EvaluationRow>(run);
  WriteTable<LayerRow>(run);
  WriteTable<DecisionRow>(run);
  WriteTable<LinkRow>(run);
  WriteTable<NetworkRow>(run);
  WriteTable<DoctorRow>(run);
  WriteTable<FidelityRow>(run);
  WriteTable<MemoryRow>(run);
  WriteTable<RoundRow>(run);
  WriteTable<TaskRow>(run);
  WriteTable<ClientRow>(run);
  StudyStore::Create(folder / "study" / "study.sqlite", DoneAwkwardStudy());
  ExportStudy(DoneAwkwardStudy(), folder / "export");
}

}  // namespace
}  // namespace legacy::analysis

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    legacy::analysis::WriteExample(argv[1]);
  } catch (const legacy::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
