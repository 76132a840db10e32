#include "scenarios/published/published_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/files/shipped.h"
#include "trainer/clock/profile.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 1e6;
constexpr int64_t kMostDevices = 1 << 20;

// A NodeLink says what collectives inside a node have. The rate of one device's links is that of
// NCCL's search (src/graph/topo.h: 20, 20 and 20.6 GB/s for each of 6, 12 and 18 links of NVLink),
// and that of PCIe 4 where there is no NVLink (NVIDIA/nccl issues 689, 713 and 1161, nccl-tests
// issue 100), or of 16 lanes of PCIe 5 as its search has them (src/graph/topo.cc: 24 Gbit/s each).
struct NodeLink {
  const char* device;  // how its name begins
  const char* rate;
  int channels;  // NCCL's, each of which holds a processor
};
// H800 has 8 of the 18 links of H100.
constexpr std::array<NodeLink, 8> kNodeLinks = {{{"V100", "960Gbps", 6},
                                                 {"A100-PCIe", "200Gbps", 2},
                                                 {"A100", "1920Gbps", 24},
                                                 {"H100-PCIe", "384Gbps", 2},
                                                 {"H100", "2966.4Gbps", 24},
                                                 {"H200", "2966.4Gbps", 24},
                                                 {"H800", "1318.4Gbps", 24},
                                                 {"", "200Gbps", 2}}};

// A ShardingRow says what the rows call a sharding, and its options.
struct ShardingRow {
  const char* name;
  const char* sharding;
  const char* rules;
  const char* reshard;
};
constexpr std::array<ShardingRow, 15> kShardings = {
    {{"none", "none", "auto", "on"},
     {"ZeRO-0", "none", "auto", "on"},
     {"FSDP2", "fsdp", "fsdp2", "on"},
     {"FSDP2 (64)", "fsdp", "fsdp2", "on"},  // all data-parallel ranks
     {"FSDP2 (256)", "fsdp", "fsdp2", "on"},
     {"FSDP2, float8 all-gather", "fsdp", "fsdp2", "on"},
     {"FSDP", "fsdp", "fsdp1", "on"},
     {"FSDP (8)", "fsdp", "fsdp1", "on"},
     {"FULL_SHARD", "fsdp", "fsdp1", "on"},
     {"SHARD_GRAD_OP", "fsdp", "fsdp1", "off"},
     {"HSDP (8)", "hsdp:8", "fsdp1", "on"},
     {"ZeRO-1", "zero1", "zero", "on"},
     {"ZeRO-1 (bf16 optimizer)", "zero1", "zero", "on"},
     {"ZeRO-3", "zero3", "zero", "on"},
     {"distributed optimizer", "megatron", "megatron", "on"}}};
// A CompressionRow says what the rows call a compression, the method that it is, and how weights
// are gathered again, where it says so.
struct CompressionRow {
  const char* name;
  const char* method;
  const char* reshard = nullptr;
};
constexpr std::array<CompressionRow, 3> kCompressions = {
    {{"ZeRO++ (qwZ, hpZ 16, qgZ)", "zeropp", "node"},
     {"SDP4Bit", "sdp4bit"},
     {"float8 all-gather of weights", "fp8-weights"}}};
// What the rows call recomputation, and the option. Of "selective blocks" every second one is
// assumed.
constexpr std::array<std::array<const char*, 2>, 5> kRecomputes = {
    {{"none", "none"},
     {"full", "full"},
     {"selective", "selective"},
     {"selective by operation", "operations"},
     {"selective blocks", "every:2"}}};
// All gradients are one bucket of this size: nothing is sent before the backward pass is over.
constexpr const char* kOneBucket = "1000GiB";

const NodeLink& LinkOf(const std::string& device) {
  return *std::ranges::find_if(
      kNodeLinks, [&](const NodeLink& link) { return device.starts_with(link.device); });
}

// A Row reads the cells of the present row by name.
class Row {
 public:
  explicit Row(const CsvFile& file) : file_(file) {}
  std::string Text(const char* column) const {
    return std::string(file_.Text(file_.Column(column)));
  }
  int64_t Whole(const char* column) const {
    return file_.Whole(file_.Column(column), 1, kMostDevices);
  }
  // Returns the parts that a kind of parallelism divides into.
  int64_t Part(const char* kind) const { return Has(kind) ? Whole(kind) : 1; }
  // Returns the devices of data, tensor, pipeline and context parallelism. Experts are divided
  // among those of data.
  int64_t Devices() const { return Whole("dp") * Part("tp") * Part("pp") * Part("cp"); }
  bool Has(const char* column) const {
    const std::string text = Text(column);
    return !text.empty() && text != "unknown";
  }
  double Seconds() const {
    return Has("step_seconds") ? file_.Number(file_.Column("step_seconds"), 0, kMostSeconds) : 0;
  }

 private:
  const CsvFile& file_;
};

const ShardingRow* ShardingOf(const std::string& name) {
  const auto found = std::ranges::find_if(kShardings, [&](const ShardingRow& row) {
    return name == row.name || (name.empty() && row.name == kShardings[0].name);
  });
  return found == kShardings.end() ? nullptr : &*found;
}

const CompressionRow* CompressionOf(const Row& row) {
  const auto found = std::ranges::find(kCompressions, row.Text("compression"),
                                       [](const CompressionRow& one) { return one.name; });
  return found == kCompressions.end() ? nullptr : &*found;
}

bool IsCompressed(const Row& row) {
  return row.Has("compression") && row.Text("compression") != "none";
}

// Returns what this toolkit does not have, or does not know, of a row; "" if it can be timed.
std::string WhyNotTimed(const Row& row) {
  const std::string sharding = row.Text("sharding");
  if (ShardingOf(sharding) == nullptr) return "sharded: " + sharding;
  if (IsCompressed(row) && CompressionOf(row) == nullptr) {
    return "compressed by " + row.Text("compression");
  }
  if (!row.Has("step_seconds")) return "a rate whose batch is not known";
  if (!row.Has("micro_batch")) return "its micro batch is not known";
  if (!row.Has("shape")) return "no shape of " + row.Text("model");
  if (!row.Has("profile")) return "no profile of " + row.Text("gpu");
  if (!row.Has("number_format")) return "no such precision: " + row.Text("precision");
  return "";
}

// Returns the topology of the row's devices: one node is a switch, several have one link each that
// stands for all NICs of a node.
std::string TopologyOf(const Row& row) {
  const int64_t devices = row.Devices();
  const std::string rate = LinkOf(row.Text("gpu")).rate;
  const int64_t in_node = row.Whole("gpus_per_node");
  if (devices <= in_node) return "star:rate=" + rate;
  return fmt::format("nodes:nodes={},gpus={},node.rate={},network.rate={}Gbps",
                     (devices + in_node - 1) / in_node, in_node, rate,
                     row.Text("inter_node_gbit_per_node"));
}

// Returns the part by which a running collective slows computing.
std::string ContentionOf(const Row& row) {
  const double channels = LinkOf(row.Text("gpu")).channels;
  const double processors = LoadProfile(row.Text("profile")).device.value().processors;
  return fmt::format("{:.3f}", channels / (processors - channels));
}

// Returns the algorithm of NCCL on nodes without NVLS: a ring in few nodes of a stage, trees in
// many.
std::string AlgorithmOf(const Row& row) {
  constexpr int64_t kNodesOfTrees = 4;
  return row.Devices() < kNodesOfTrees * row.Part("pp") * row.Whole("gpus_per_node")
             ? "ring-allreduce"
             : "double-tree-allreduce";
}

// Returns the shape, beside the file of rows where that is where it lies.
std::string ShapeOf(const Row& row, const fs::path& folder) {
  const std::string shape = row.Text("shape");
  const size_t end = shape.find(':');
  const fs::path beside = folder / (shape.substr(0, end) + ".yaml");
  if (!fs::is_regular_file(beside)) return shape;
  return beside.string() + (end == std::string::npos ? "" : shape.substr(end));
}

std::string RecomputeOf(const Row& row) {
  for (const auto& [name, option] : kRecomputes) {
    if (row.Text("recompute") == name) return option;
  }
  return "none";
}

const char* Switch(const Row& row, const char* column) {
  return row.Text(column) == "yes" ? "on" : "off";
}

std::vector<std::pair<std::string, std::string>> OptionsOf(const Row& row, const fs::path& folder) {
  const std::string wire = row.Text("wire");
  const ShardingRow& sharding = *ShardingOf(row.Text("sharding"));
  const bool sharded = std::string(sharding.sharding) != "none";
  const bool divided = row.Part("tp") * row.Part("pp") * row.Part("cp") * row.Part("ep") > 1;
  const bool overlaps = row.Text("overlap") != "no";
  const CompressionRow* compression = CompressionOf(row);
  const std::string method = compression ? compression->method : wire == "fp32" ? "dense" : wire;
  std::vector<std::pair<std::string, std::string>> options = {
      {"training.layers", ShapeOf(row, folder)},
      {"training.workers", std::to_string(row.Devices())},
      {"training.batch", row.Text("micro_batch")},
      {"training.accumulate", row.Has("accumulate") ? row.Text("accumulate") : "1"},
      {"training.optimizer", row.Text("optimizer")},
      {"training.steps", "1"},
      {"training.precision", row.Text("number_format")},
      {"compression.policies", method},
      {"clock.device_profile", row.Text("profile")},
      {"clock.kernels", row.Text("kernels")},
      {"clock.layout", row.Text("layout")},
      {"clock.recompute", RecomputeOf(row)},
      {"clock.contention", ContentionOf(row)},
      {"clock.bucket", overlaps ? "25MiB" : kOneBucket},
      {"clock.sharding", sharding.sharding},
      {"clock.parallel",
       fmt::format("tp={},cp={},ep={},pp={},sequence={},overlap={}", row.Part("tp"), row.Part("cp"),
                   row.Part("ep"), row.Part("pp"), Switch(row, "sequence"),
                   row.Text("tensor_overlap") == "all" ? "all" : Switch(row, "tensor_overlap"))},
      {"clock.pipeline", row.Part("virtual_stages") > 1
                             ? fmt::format("interleaved:{}", row.Part("virtual_stages"))
                             : "1f1b"},
      {"network.topology", TopologyOf(row)},
      {"network.delay", "0ns"},
      {"network.mtu", "4096"},
      {"network.stragglers", "none"},
      {"network.fidelity", "analytic"},
      {"network.connections", "cold"},
      {"network.group", row.Text("gpus_per_node")},
      {"network.allreduce", AlgorithmOf(row)},
      {"network.protocol", "auto"}};
  if (sharded) {
    options.push_back({"clock.rules", sharding.rules});
    options.push_back({"clock.reshard", compression && compression->reshard ? compression->reshard
                                                                            : sharding.reshard});
    if (!overlaps) options.push_back({"clock.prefetch", "0"});
  }
  if ((sharded || divided) && !overlaps) {
    options.push_back({"clock.units", "model"});
  } else if (divided && !sharded) {
    options.push_back({"clock.units", "25MiB"});  // the buckets of PyTorch's DDP
  }
  return options;
}

}  // namespace

std::string PublishedStep::Family() const {
  const size_t end = id.find('-', id.find('-') + 1);
  return id.substr(0, end);
}

Scenario PublishedStep::ToScenario() const {
  Scenario scenario;
  for (const auto& [key, value] : options) SetOption(scenario, key, value);
  ValidateScenario(scenario);
  return scenario;
}

std::vector<PublishedStep> ReadPublishedSteps(const std::string& path) {
  CsvFile file(path, "published steps");
  const fs::path folder = fs::path(path).parent_path();
  std::vector<PublishedStep> steps;
  while (file.Next()) {
    const Row row(file);
    PublishedStep& step = steps.emplace_back();
    step.id = row.Text("id");
    step.level = row.Text("class");
    step.device = row.Text("gpu");
    step.devices = row.Whole("gpus");
    step.precision = row.Text("precision");
    step.seconds = row.Seconds();
    step.missing = row.Text("missing");
    step.compressed = IsCompressed(row);
    step.not_timed = WhyNotTimed(row);
    if (step.not_timed.empty()) step.options = OptionsOf(row, folder);
  }
  return steps;
}

std::string PublishedStepsPath() {
  const std::vector<fs::path> folders =
      ShippedFolders(nullptr, "whole_steps", LEGACY_WHOLE_STEPS_SOURCE_DIR);
  return (folders.back() / "published.csv").string();
}

}  // namespace legacy
