// Validation section that compares ring all-reduces with bus bandwidths which others published for
// NCCL. docs/validation.md names their sources.
#include <cmath>

#include "scenarios/network/measure.h"
#include "scenarios/network/results.h"
#include "scenarios/network/validation/validation_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

constexpr double kTargetPercent = 10;
constexpr int kGpus = 8;  // of a node; each has a NIC

// NVLink of an H100 as NCCL's source has it: 18 links of 20.6 GB/s.
constexpr const char* kNvLink = "2966.4Gbps";

// A PublishedCase is an all-reduce on nodes of 8 H100 with a NIC of 400 Gbit/s for each.
struct PublishedCase {
  int nodes;
  const char* bytes;
  const char* protocol;
  const char* as;    // what was published
  double published;  // GB/s; 0: NCCL's own cost model says
  bool target;       // whether the target holds for it
  bool quick;
};

constexpr PublishedCase kCases[] = {
    {1, "8GiB", "simple", "expected", 370, false, false},
    {4, "8GiB", "simple", "measured", 320, false, true},
    {32, "8GiB", "simple", "expected", 368, true, true},
    {128, "1GiB", "ll128", "measured", 110.84, false, false},
    {128, "2GiB", "ll128", "measured", 212.23, false, false},
    {128, "4GiB", "ll128", "measured", 338.16, false, false},
    {128, "8GiB", "ll128", "measured", 364.57, true, false},
    {128, "16GiB", "ll128", "measured", 367.29, true, false},
    {4, "16MiB", "ll128", "cost model", 0, false, true},
    {4, "16MiB", "simple", "cost model", 0, false, true},
    {32, "16MiB", "ll128", "cost model", 0, true, true},
    {32, "16MiB", "simple", "cost model", 0, true, true},
};

// Links have no delay, as the protocols' times have the wire in them.
std::string OptionsOf(const PublishedCase& one, int channels) {
  const std::string workers = std::to_string(kGpus * one.nodes);
  const std::string network = one.nodes == 1
                                  ? std::string("topo=star bandwidth=") + kNvLink
                                  : "topo=rail-optimised:nodes=" + std::to_string(one.nodes) +
                                        ",gpus=8,node.rate=" + kNvLink + " bandwidth=400Gbps";
  return network + " delay=0ns mtu=4096 workers=" + workers + " group=8 bytes=" + one.bytes +
         " channels=" + std::to_string(channels) + " protocol=" + one.protocol;
}

// Returns the bus bandwidth of a ring by NCCL's cost model (src/graph/tuning.cc): its latencies,
// and the bytes at 48 GB/s for each NIC, which is what its search finds for 400 Gbit/s
// (sm90SpeedArrayInter in src/graph/search.cc); LL128 has 92 % of that.
double NcclModel(const PublishedCase& one, double bytes, double factor) {
  const fabric::Protocol protocol = fabric::ParseProtocol(one.protocol, "protocol");
  const fabric::ProtocolCosts& costs = fabric::CostsOf(protocol);
  constexpr double kGbPerNic = 48;
  const double share = protocol == fabric::Protocol::LL128 ? 0.92 : 1;
  const int steps = 2 * (kGpus * one.nodes - 1);
  const int across = 2 * (one.nodes - 1);
  const double latency =
      static_cast<double>(costs.start + across * costs.across + (steps - across) * costs.inside);
  const double time = latency + bytes * factor / (kGbPerNic * kGpus * share);
  return bytes / time * factor;
}

// A Comparison has bus bandwidths in GB/s.
struct Comparison {
  double published;
  double simulated;
};

// Simulates at flow fidelity.
Comparison Compare(const PublishedCase& one, int channels) {
  const Experiment experiment = ExperimentOf({OptionsOf(one, channels)}, {"flow"});
  const auto time = static_cast<double>(Measure(Prepare(experiment), {}).front().Time());
  const double factor =
      BusFactor(fabric::CollectiveAlgorithm::RingAllReduce, experiment.Workers()).value();
  const auto bytes = static_cast<double>(experiment.bytes.front());
  return {one.published > 0 ? one.published : NcclModel(one, bytes, factor), bytes / time * factor};
}

ValidationRow NcclRow(const PublishedCase& one) {
  const Comparison rings = Compare(one, kGpus);
  return {std::to_string(kGpus * one.nodes) + " GPUs, " + one.bytes + ", " + one.protocol,
          one.as,
          FormatFixed(rings.published, 1),
          FormatFixed(Compare(one, 1).simulated, 1),
          FormatFixed(rings.simulated, 1),
          FormatFixed(100 * (rings.simulated / rings.published - 1), 1)};
}

}  // namespace

SectionResult ValidateNccl(const SectionRun& run) {
  std::vector<PublishedCase> cases;
  std::vector<std::string> names;
  for (const PublishedCase& one : kCases) {
    if (run.sample && !one.quick) continue;
    cases.push_back(one);
    names.push_back(OptionsOf(one, 8));
  }
  SectionResult result;
  result.csv = {"nccl",
                {"ring all-reduce", "published as", "published (GB/s)", "one ring (GB/s)",
                 "8 rings (GB/s)", "8 rings - published (%)"},
                ForkRows(run, names, [&](int i) { return NcclRow(cases[i]); })};
  for (size_t i = 0; i < cases.size(); ++i) {
    const ValidationRow& row = result.csv.rows[i];
    if (cases[i].target && std::abs(std::stod(row[5])) > kTargetPercent) {
      result.misses.push_back("nccl: " + row[0] + ": " + row[4] + " GB/s, not " + row[2]);
    }
  }
  result.document = {result.csv};
  return result;
}

}  // namespace legacy
