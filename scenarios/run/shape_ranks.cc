#include "scenarios/run/shape_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/table_text.h"
#include "base/programs/program.h"
#include "scenarios/options/divided_shape.h"
#include "scenarios/options/methods.h"
#include "scenarios/run/further_networks.h"
#include "scenarios/training/training_request.h"
#include "trainer/clock/profile.h"
#include "trainer/memory.h"

namespace legacy {
namespace {

constexpr double kGb = 1e9;  // of data sheets

// The kinds of memory, as columns of a table.
constexpr std::pair<const char*, double analysis::MemoryRow::*> kMemoryKinds[] = {
    {"weights", &analysis::MemoryRow::weights},
    {"gradients", &analysis::MemoryRow::gradients},
    {"optimizer", &analysis::MemoryRow::optimizer},
    {"gathered", &analysis::MemoryRow::gathered},
    {"activations", &analysis::MemoryRow::activations},
    {"residuals", &analysis::MemoryRow::residuals},
    {"total", &analysis::MemoryRow::total}};

std::string Gb(double bytes) {
  return fmt::format("{:.{}f}", bytes / kGb, bytes < 10 * kGb ? 2 : 1);
}

bool HoldTheSame(const analysis::MemoryRow& a, const analysis::MemoryRow& b) {
  return std::ranges::all_of(kMemoryKinds,
                             [&](const auto& kind) { return a.*kind.second == b.*kind.second; });
}

}  // namespace

std::vector<RankMemory> MemoryOfRanks(const Scenario& scenario, const std::string& method,
                                      int node) {
  const ModelShape shape = DividedShape(scenario);
  const Method found = FindMethod(scenario, method);
  const std::vector<Unit> units = UnitsOf(found, scenario, shape.layers);
  const BuiltMethod built = BuildMethod(found, scenario, units);
  const TrainingOptions options =
      OptionsOf(scenario, found, scenario.seed, DataWorkers(scenario), *built.scheme, OneProcess());
  const double kept = BytesKept(units, *built.scheme, built.parameter);
  return MemoryOfStages({.sharding = ShardingOptionsOf(scenario),
                         .compute = ComputeOptionsOf(scenario),
                         .workers = options.workers,
                         .node = std::max(1, node / scenario.parallel->tensor),
                         .batch = scenario.batch,
                         .passes = scenario.accumulate,
                         .optimizer_floats = OptimizerFloats(options),
                         .residual_bytes = kept / static_cast<double>(shape.Elements()),
                         .sixteen_bit_sums = HasSixteenBits(*scenario.reduce),
                         .messages = built.scheme->Traits().owners > 0},
                        shape.costs, shape.layers);
}

analysis::MemoryRow MemoryRowOf(const std::string& method, const RankMemory& memory,
                                double device) {
  return {.policy = method,
          .stage = memory.stage,
          .weights = memory.weights,
          .gradients = memory.gradients,
          .optimizer = memory.optimizer,
          .gathered = memory.gathered,
          .activations = memory.activations,
          .residuals = memory.residuals,
          .total = memory.Total(),
          .device = device};
}

std::string MemoryText(std::span<const analysis::MemoryRow> rows, const std::string& device) {
  // The largest stage of each method, in the order of methods.
  std::vector<analysis::MemoryRow> largest;
  for (const analysis::MemoryRow& row : rows) {
    if (largest.empty() || largest.back().policy != row.policy) largest.push_back(row);
    if (row.total > largest.back().total) largest.back() = row;
  }
  const double bytes = rows.front().device;
  analysis::Table table{"Memory of a rank of the largest stage in GB" +
                            (bytes > 0 ? ", of " + Gb(bytes) + " of " + device : std::string()),
                        {"method", "stage"},
                        {}};
  for (const auto& [name, kind] : kMemoryKinds) table.header.push_back(name);
  std::vector<analysis::MemoryRow> shown;
  std::string too_large;
  for (const analysis::MemoryRow& row : largest) {
    if (bytes > 0 && row.total > bytes) too_large += (too_large.empty() ? "" : ", ") + row.policy;
    const auto same =
        std::ranges::find_if(shown, [&](const auto& one) { return HoldTheSame(one, row); });
    if (same != shown.end()) {
      table.rows[static_cast<size_t>(same - shown.begin())].front() += ", " + row.policy;
      continue;
    }
    shown.push_back(row);
    std::vector<std::string> line = {row.policy, std::to_string(row.stage)};
    for (const auto& [name, kind] : kMemoryKinds) line.push_back(Gb(row.*kind));
    table.rows.push_back(std::move(line));
  }
  std::string text = RenderText(table);
  if (!too_large.empty()) {
    text += fmt::format("warning: {} has {} GB, less than {} needs; {} plan finds layouts that fit",
                        device, Gb(bytes), too_large, CommandOf("legacy-scenario"));
  }
  return text;
}

std::string WriteMemory(const Scenario& scenario, std::span<const TimedNetwork> networks,
                        bool goes_on) {
  if (scenario.layers.empty()) return "";
  const std::vector<FurtherNetwork> further = FurtherNetworks(scenario);
  std::vector<analysis::MemoryRow> own, shown;
  for (size_t i = 0; i < networks.size(); ++i) {
    const Scenario& here = networks[i].timing->scenario();
    const double device = LoadProfile(here.device_profile).memory_bytes;
    std::vector<analysis::MemoryRow> rows;
    for (const std::string& method : here.policies) {
      for (const RankMemory& memory :
           MemoryOfRanks(here, method, networks[i].timing->network().placement.node)) {
        rows.push_back(MemoryRowOf(method, memory, device));
        if (!goes_on) networks[i].sink->Write(rows.back());
      }
    }
    if (i == 0) own = rows;
    if (i > 0 && std::ranges::equal(rows, own, HoldTheSame)) continue;
    for (analysis::MemoryRow& row : rows) {
      if (i > 0) row.policy += " (" + further[i - 1].name + ")";
      shown.push_back(std::move(row));
    }
  }
  return MemoryText(shown, scenario.device_profile);
}

std::optional<analysis::StepFlops> FlopsOfStep(const Scenario& scenario) {
  const Profile profile = LoadProfile(scenario.device_profile);
  if (!profile.device) return std::nullopt;
  const ComputeOptions compute = ComputeOptionsOf(scenario);
  const ModelShape shape = LoadModelShape(scenario.layers);
  const StepFlops flops = FlopsOf(shape.costs, compute.recompute, shape.Elements(), shape.tokens);
  const double samples = static_cast<double>(scenario.batch) *
                         static_cast<double>(scenario.accumulate) * DataWorkers(scenario);
  // Products in FP8 are counted against the peak of 16 bits, as publications do.
  const double peak =
      profile.device->product_flops_per_second.at(AllButProducts(compute.precision)) *
      scenario.device_speed * scenario.workers;
  return analysis::StepFlops{flops.model * samples, flops.hardware * samples, flops.six_n * samples,
                             peak};
}

void DescribeFlops(const Scenario& scenario, nlohmann::json& manifest) {
  const auto found = manifest.find("shape");
  if (found == manifest.end()) return;
  found->erase("flops");
  if (const std::optional<analysis::StepFlops> flops = FlopsOfStep(scenario)) {
    (*found)["flops"] = {{"model", flops->model},
                         {"hardware", flops->hardware},
                         {"six_n", flops->six_n},
                         {"peak", flops->peak}};
  }
}

}  // namespace legacy
