// The validation section that compares all-reduces with bus bandwidths which others have published
// for NCCL. docs/results/validation.md names the sources.
#include <cmath>

#include "ns3-module/fabric/collective/tuning.h"
#include "scenarios/network/measure.h"
#include "scenarios/network/results.h"
#include "scenarios/network/validation/validation_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

constexpr double kTargetPercent = 10;
constexpr int kChannels = 8;         // in nodes with 8 NICs
constexpr int kChannelsInside = 24;  // for rings inside one node, as NCCL has them on H100
// With more workers, one ring takes longer than all channels together, because it has more turns of
// its own.
constexpr int kMostInOneRing = 256;

// The NVLink of an H100 according to NCCL's source: 18 links of 20.6 GB/s.
constexpr const char* kNvLink = "2966.4Gbps";

// The rates that NCCL's search finds on such nodes: NVLink, and 48 GB/s for each of 8 NICs of 400
// Gbit/s (sm90SpeedArrayInter in src/graph/search.cc).
constexpr fabric::NodeLinks kFound = {370.8, 48, 8};

// A PublishedCase is an all-reduce on nodes of H100s, each with a NIC of 400 Gbit/s.
struct PublishedCase {
  int nodes;
  int gpus;  // in each node
  const char* bytes;
  const char* collective;  // auto: NCCL chooses it and the protocol
  const char* protocol;
  const char* as;    // how the value was published
  double published;  // GB/s; 0: the value is that of NCCL's own cost model
  bool target;       // whether the target holds for it
  bool quick;

  int Workers() const { return nodes * gpus; }
};

constexpr const char* kRing = "ring-allreduce";
constexpr const char* kNvls = "nvls-allreduce";

constexpr PublishedCase kCases[] = {
    {1, 8, "8GiB", kRing, "simple", "expected", 370, true, false},
    {4, 8, "8GiB", kRing, "simple", "measured", 320, false, true},
    {32, 8, "8GiB", kRing, "simple", "expected", 368, true, true},
    {128, 8, "1GiB", kRing, "ll128", "measured", 110.84, false, false},
    {128, 8, "2GiB", kRing, "ll128", "measured", 212.23, false, false},
    {128, 8, "4GiB", kRing, "ll128", "measured", 338.16, true, false},
    {128, 8, "8GiB", kRing, "ll128", "measured", 364.57, true, false},
    {128, 8, "16GiB", kRing, "ll128", "measured", 367.29, true, false},
    {1, 2, "2GiB", "auto", "auto", "measured", 370, true, true},
    {1, 3, "2GiB", "auto", "auto", "measured", 370, true, true},
    {1, 4, "2GiB", kNvls, "simple", "measured", 370, true, true},
    {1, 5, "2GiB", kNvls, "simple", "measured", 420, true, true},
    {1, 6, "2GiB", kNvls, "simple", "measured", 440, true, true},
    {1, 7, "2GiB", kNvls, "simple", "measured", 460, true, true},
    {1, 8, "2GiB", kNvls, "simple", "measured", 480, true, true},
    {1, 8, "16GiB", "auto", "auto", "measured", 480, true, false},
    {2, 8, "16GiB", "auto", "auto", "measured", 470, true, false},
    {4, 8, "16GiB", "auto", "auto", "measured", 365.84, true, false},
    {4, 8, "16MiB", kRing, "ll128", "cost model", 0, false, true},
    {4, 8, "16MiB", kRing, "simple", "cost model", 0, false, true},
    {4, 8, "16MiB", "double-tree-allreduce", "ll128", "cost model", 0, false, true},
    {4, 8, "16MiB", kNvls, "simple", "cost model", 0, false, true},
    {32, 8, "16MiB", kRing, "ll128", "cost model", 0, true, true},
    {32, 8, "16MiB", kRing, "simple", "cost model", 0, true, true},
    {32, 8, "16MiB", "double-tree-allreduce", "ll128", "cost model", 0, false, true},
    {32, 8, "16MiB", kNvls, "simple", "cost model", 0, false, true},
};

// Links have no delay, because the protocols' times include that of the wire.
std::string OptionsOf(const PublishedCase& one, int channels) {
  const std::string network = one.nodes == 1
                                  ? std::string("topo=star bandwidth=") + kNvLink
                                  : "topo=rail-optimised:nodes=" + std::to_string(one.nodes) +
                                        ",gpus=" + std::to_string(one.gpus) +
                                        ",node.rate=" + kNvLink + " bandwidth=400Gbps";
  const std::string taken =
      one.collective == std::string_view(kNvls) ? "" : " channels=" + std::to_string(channels);
  return network + " delay=0ns mtu=4096 workers=" + std::to_string(one.Workers()) +
         " group=" + std::to_string(one.gpus) + " bytes=" + one.bytes +
         " collective=" + one.collective + taken + " protocol=" + one.protocol;
}

std::string OptionsOf(const PublishedCase& one) {
  return OptionsOf(one, one.nodes == 1 ? kChannelsInside : kChannels);
}

// Returns the bus bandwidth in GB/s as nccl-tests defines it.
double BusBandwidth(const Experiment& experiment, double nanoseconds) {
  const double factor =
      BusFactor(fabric::CollectiveAlgorithm::RingAllReduce, experiment.Workers()).value();
  return static_cast<double>(experiment.bytes.front()) / nanoseconds * factor;
}

// A Simulated has the result at flow fidelity, and that of NCCL's cost model.
struct Simulated {
  std::string what;
  double bus;    // GB/s
  double model;  // GB/s
};

Simulated Simulate(const std::string& options) {
  const PreparedExperiment prepared = Prepare(ExperimentOf({options}, {"flow"}));
  const auto time = static_cast<double>(Measure(prepared, {}).front().Time());
  const fabric::CollectiveSpec spec =
      SpecOf(prepared.experiment, prepared.algorithm, *prepared.network, 0);
  const std::optional<double> model = fabric::NcclMicroseconds(spec, kFound);
  return {std::string(fabric::ToString(spec.algorithm)) + " " + fabric::ToString(spec.protocol),
          BusBandwidth(prepared.experiment, time),
          model ? BusBandwidth(prepared.experiment, 1000 * *model) : 0};
}

ValidationRow NcclRow(const PublishedCase& one) {
  const Simulated ours = Simulate(OptionsOf(one));
  const double published = one.published > 0 ? one.published : ours.model;
  std::string one_ring = "-";
  if (one.collective == std::string_view(kRing) && one.Workers() <= kMostInOneRing) {
    one_ring = FormatFixed(Simulate(OptionsOf(one, 1)).bus, 1);
  }
  const bool chosen = one.collective == std::string_view("auto");
  return {std::to_string(one.Workers()) + " GPUs, " + one.bytes + ", " + (chosen ? "auto: " : "") +
              ours.what,
          one.as,
          FormatFixed(published, 1),
          one_ring,
          FormatFixed(ours.bus, 1),
          FormatFixed(100 * (ours.bus / published - 1), 1)};
}

}  // namespace

SectionResult ValidateNccl(const SectionRun& run) {
  std::vector<PublishedCase> cases;
  std::vector<std::string> names;
  for (const PublishedCase& one : kCases) {
    if (run.sample && !one.quick) continue;
    cases.push_back(one);
    names.push_back(OptionsOf(one));
  }
  SectionResult result;
  result.csv = {"nccl",
                {"all-reduce", "published as", "published (GB/s)", "one ring (GB/s)",
                 "simulated (GB/s)", "simulated - published (%)"},
                ForkRows(run, names, [&](int i) { return NcclRow(cases[i]); })};
  for (size_t i = 0; i < cases.size(); ++i) {
    const ValidationRow& row = result.csv.rows[i];
    if (!cases[i].target) continue;
    result.Expect(std::abs(std::stod(row[5])) <= kTargetPercent,
                  "nccl: " + row[0] + ": " + row[4] + " GB/s, not " + row[2]);
  }
  result.document = {result.csv};
  return result;
}

}  // namespace legacy
