// Times reading a Chakra trace of one rank into a plan, and running that plan, in processor time:
//   legacy-bench-traces [NODES]
// The nodes are those of a training: compute with the attributes that generators write, each of
// which follows the one before, and a collective of one rank among a thousand.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/programs/program.h"
#include "scenarios/graphs/chakra_writer.h"
#include "scenarios/graphs/plan_timing.h"
#include "scenarios/graphs/trace_import.h"

namespace {

using namespace legacy;
using namespace legacy::graphs;

// Returns the processor time of the process so far.
double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double PeakMegabytes() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

// Writes the trace. Returns its bytes.
uintmax_t WriteTrace(const std::string& path, int64_t nodes) {
  std::ofstream file(path, std::ios::binary);
  file << ChakraHeader(std::nullopt);
  TraceNode node;
  for (int64_t id = 0; id < nodes; ++id) {
    node.Clear();
    node.id = static_cast<uint64_t>(id);
    if (id > 0) node.data_after = {node.id - 1};
    if (id % 1000 == 999) {
      node.name = "all_reduce";
      node.kind = NodeKind::kCollective;
      node.type = CollectiveType::kAllReduce;
      node.bytes = 1 << 20;
    } else {
      node.name = "aten::mm";
      node.kind = NodeKind::kCompute;
      node.duration = 5000 + 1000 * (id % 7);
      node.operations = 1'000'000 + id;
      node.tensor_bytes = 4096;
    }
    file << ChakraNode(node);
  }
  file.close();
  if (!file) throw Error(path + ": cannot be written");
  return std::filesystem::file_size(path);
}

int Run(int64_t nodes) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("legacy-bench-{}.0.et", getpid()))
          .string();
  const uintmax_t bytes = WriteTrace(path, nodes);
  const double before = PeakMegabytes();
  const double begin = Seconds();
  ImportedPlan imported = ImportTrace(path, "", {});
  const double read_seconds = Seconds() - begin;
  const double read_peak = PeakMegabytes();
  std::filesystem::remove(path);
  fmt::print(
      "{} nodes, {:.0f} MB: read into a plan in {:.2f} s, {:.0f} MB at most ({:.0f} MB "
      "before)\n",
      nodes, static_cast<double>(bytes) / 1e6, read_seconds, read_peak, before);
  GraphOptions options;
  options.topology = "star";
  const std::unique_ptr<Network> network = PrepareNetwork(imported, options);
  const double run_begin = Seconds();
  MeasurePlan(imported.plan, *network, {Fidelity::kFlow});
  fmt::print("the plan run, with the parts of its step, in {:.2f} s, {:.0f} MB at most\n",
             Seconds() - run_begin, PeakMegabytes());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  RunProgram("legacy-bench-traces",
             [&] { return Run(argc > 1 ? std::atoll(argv[1]) : 1'000'000); });
}
