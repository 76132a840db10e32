#include "scenarios/run/layout_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/csv.h"
#include "analysis/table_text.h"
#include "base/error.h"
#include "scenarios/options/divided_shape.h"
#include "scenarios/run/one_step.h"
#include "scenarios/run/shape_ranks.h"
#include "trainer/clock/profile.h"

namespace legacy {
namespace {

constexpr double kGigabyte = 1e9;
constexpr double kMilliseconds = 1e3;
constexpr int kMostMicrobatch = 64;  // samples of a microbatch

std::vector<int> Divisors(int number) {
  std::vector<int> divisors;
  for (int i = 1; i <= number; ++i) {
    if (number % i == 0) divisors.push_back(i);
  }
  return divisors;
}

int BlocksOf(const ModelShape& shape) {
  int blocks = 0;
  for (const OperationCost& cost : shape.costs) blocks = std::max(blocks, cost.block + 1);
  return std::max(1, blocks);
}

// A LayoutPlanner makes one plan.
class LayoutPlanner {
 public:
  explicit LayoutPlanner(const Scenario& scenario)
      : base_(scenario),
        node_(BuildScenarioNetwork(scenario, scenario.seed).network->placement.node),
        shape_(LoadModelShape(scenario.layers)) {
    plan_.samples = int64_t{scenario.batch} * scenario.accumulate * int64_t{DataWorkers(scenario)};
    plan_.device = LoadProfile(scenario.device_profile).memory_bytes;
    if (plan_.device == 0) {
      throw Error("clock.device_profile", scenario.device_profile,
                  "a profile with memory_bytes, such as h100-sxm, into which layouts fit");
    }
  }

  void Enumerate() {
    for (const std::string& parallel : Parallels()) {
      Scenario divided = base_;
      SetOption(divided, "clock.parallel", parallel);
      try {
        DividedShape(divided);
      } catch (const Error&) {
        Drop("heads or blocks that do not divide", 1);
        continue;
      }
      const int data = DataWorkers(divided);
      if (plan_.samples % data != 0) {
        Drop(fmt::format("{} samples that do not divide among data-parallel ranks", plan_.samples),
             1);
        continue;
      }
      for (const std::string& sharding : Shardings(data, divided.parallel->tensor)) {
        for (int64_t batch = 1; batch <= kMostMicrobatch; batch *= 2) {
          if (plan_.samples / data % batch != 0) break;
          SetOption(divided, "clock.sharding", sharding);
          divided.batch = static_cast<int>(batch);
          divided.accumulate = plan_.samples / data / batch;
          for (const std::string& policy : base_.policies) AddFitting(divided, policy);
        }
      }
    }
    plan_.fit = std::ssize(fitting_);
  }

  LayoutPlan Time(int64_t most, const StopFlag& stop,
                  const std::function<void(int64_t, int64_t)>& progress) {
    std::ranges::stable_sort(fitting_, {}, &Fitting::bound);
    const int64_t all = std::min(most, plan_.fit);
    for (int64_t i = 0; i < all && stop == 0; ++i) {
      TimeOne(fitting_[static_cast<size_t>(i)]);
      progress(i + 1, all);
    }
    plan_.interrupted = stop != 0;
    std::ranges::stable_sort(plan_.timed, {},
                             [](const PlannedLayout& one) { return one.step.step_seconds; });
    return std::move(plan_);
  }

 private:
  struct Fitting {
    Scenario scenario;
    RankMemory memory;
    double bound = 0;  // ideal passes of a step, with idle time and recomputation
  };

  void Drop(const std::string& reason, int64_t count) {
    plan_.tried += count;
    plan_.dropped[reason] += count;
  }

  std::vector<std::string> Parallels() const {
    if (base_.parallel->Divides()) return {base_.parallel.text()};
    std::vector<std::string> all;
    for (const int tensor : Divisors(node_)) {
      for (const int stages : Divisors(BlocksOf(shape_))) {
        if (base_.workers % (tensor * stages) != 0) continue;
        all.push_back(fmt::format("tp={},pp={}", tensor, stages));
      }
    }
    return all;
  }

  // The last one keeps a copy of the model in each node.
  std::vector<std::string> Shardings(int data, int tensor) const {
    if (base_.sharding->kind != ShardingKind::kNone) return {base_.sharding.text()};
    if (data == 1) return {"none"};
    std::vector<std::string> all = {"none", "megatron", "fsdp"};
    const int in_node = node_ / tensor;
    if (in_node > 1 && in_node < data && data % in_node == 0) {
      all.push_back("hsdp:" + std::to_string(in_node));
    }
    return all;
  }

  // Adds a layout with the least recomputation that fits, or counts it.
  void AddFitting(const Scenario& divided, const std::string& policy) {
    const bool chosen = base_.recompute->what != Recompute::kNone;
    const bool fused = *base_.kernels >= KernelEra::k2023;
    // Where attention is fused, running it alone again saves nothing.
    const std::vector<std::pair<std::string, double>> rules = {
        {"none", 3}, {fused ? "operations" : "selective", 3.5}, {"full", 4}};
    for (const auto& [rule, passes] : rules) {
      Fitting one{divided, {}, 0};
      one.scenario.policies = {policy};
      if (!chosen) SetOption(one.scenario, "clock.recompute", rule);
      try {
        ValidateScenario(one.scenario);
        one.memory = LargestOf(MemoryOfRanks(one.scenario, policy, node_));
      } catch (const Error& error) {
        Drop(std::string("refused: ") + error.what(), 1);
        return;
      }
      if (one.memory.Total() <= plan_.device) {
        const double microbatches = static_cast<double>(divided.accumulate);
        one.bound = passes * (1 + (divided.parallel->pipeline - 1) / microbatches);
        fitting_.push_back(std::move(one));
        ++plan_.tried;
        return;
      }
      Drop(fmt::format("more than {:.0f} GB", plan_.device / kGigabyte), 1);
      if (chosen) return;
    }
  }

  void TimeOne(Fitting& one) {
    PlannedLayout layout{.scenario = std::move(one.scenario), .memory = one.memory, .step = {}};
    try {
      layout.step = TimeOneStep(layout.scenario);
    } catch (const Error& error) {
      ++plan_.dropped[std::string("refused: ") + error.what()];
      --plan_.fit;
      return;
    }
    layout.samples_per_second = static_cast<double>(plan_.samples) / layout.step.step_seconds;
    if (const auto flops = FlopsOfStep(layout.scenario)) {
      layout.mfu = flops->Utilisation(flops->model, layout.step.step_seconds);
    }
    plan_.timed.push_back(std::move(layout));
  }

  const Scenario base_;
  const int node_;
  const ModelShape shape_;
  std::vector<Fitting> fitting_;
  LayoutPlan plan_;
};

// Returns the command that times the layout.
std::string CommandFor(const Scenario& scenario) {
  std::string line = CommandOf("legacy-scenario");
  for (const std::string& word : WordsOfOptions(ScenarioOptions(), scenario, ShapeDefaults(),
                                                [](const ScenarioOption&) { return true; })) {
    const bool plain = word.find_first_of(" ;*()&'\"") == std::string::npos;
    line += plain ? " " + word : " \"" + word + "\"";
  }
  return line;
}

std::string Ms(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.4g}", *seconds * kMilliseconds) : "-";
}

}  // namespace

LayoutPlan PlanLayouts(const Scenario& scenario, int64_t most, const StopFlag& stop,
                       const std::function<void(int64_t done, int64_t all)>& progress) {
  if (scenario.layers.empty()) {
    throw Error("plan", "", "a shape to divide (--layers), as in --layers=llama3-70b");
  }
  ValidateScenario(scenario);
  LayoutPlanner planner(scenario);
  planner.Enumerate();
  return planner.Time(most, stop, progress);
}

std::string LayoutPlanText(const LayoutPlan& plan, int64_t rows) {
  std::string text;
  const auto shown = std::min<int64_t>(rows, std::ssize(plan.timed));
  if (shown > 0) {
    const Scenario& first = plan.timed.front().scenario;
    const int64_t tokens = LoadModelShape(first.layers).tokens;
    analysis::Table table{
        fmt::format("Layouts of {} on {} workers, {} samples a step, that fit {:.0f} GB",
                    ModelText(first), first.workers, plan.samples, plan.device / kGigabyte),
        {"#", "method", "parallel", "sharding", "batch", "passes", "recompute", "step s",
         tokens > 0 ? "tokens/s" : "samples/s", "MFU %", "GB", "state", "gathered", "activations",
         "exposed ms: gather", "reduce", "tensors", "stages", "idle"},
        {}};
    for (int64_t i = 0; i < shown; ++i) {
      const auto& [scenario, memory, step, rate, mfu] = plan.timed[static_cast<size_t>(i)];
      const auto gb = [](double bytes) { return fmt::format("{:.1f}", bytes / kGigabyte); };
      table.rows.push_back(
          {std::to_string(i + 1), scenario.policies.front(), scenario.parallel.text(),
           scenario.sharding.text(), std::to_string(scenario.batch),
           std::to_string(scenario.accumulate), scenario.recompute.text(),
           fmt::format("{:.4g}", step.step_seconds),
           fmt::format("{:.0f}", rate * static_cast<double>(std::max<int64_t>(1, tokens))),
           mfu > 0 ? fmt::format("{:.1f}", 100 * mfu) : "-", gb(memory.Total()),
           gb(memory.weights + memory.gradients + memory.optimizer + memory.residuals),
           gb(memory.gathered), gb(memory.activations), Ms(step.gather_seconds),
           Ms(step.reduce_seconds), Ms(step.tensor_seconds), Ms(step.pipe_seconds),
           Ms(step.wait_seconds)});
    }
    text += RenderText(table) + "\n";
  }
  text += fmt::format("Tried {} layouts; {} fit, and {} of them were timed.", plan.tried, plan.fit,
                      plan.timed.size());
  for (const auto& [reason, count] : plan.dropped) {
    text += fmt::format("\n  {} dropped: {}", count, reason);
  }
  text += "\n";
  for (int64_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{}: {}\n", i == 0 ? "\n" : "", i + 1,
                        CommandFor(plan.timed[static_cast<size_t>(i)].scenario));
  }
  return text;
}

std::string LayoutPlanCsv(const LayoutPlan& plan) {
  std::string text = analysis::CsvLine({"policy",
                                        "parallel",
                                        "sharding",
                                        "batch",
                                        "passes",
                                        "recompute",
                                        "step_seconds",
                                        "samples_per_second",
                                        "mfu",
                                        "weights_bytes",
                                        "gradients_bytes",
                                        "optimizer_bytes",
                                        "gathered_bytes",
                                        "activations_bytes",
                                        "residuals_bytes",
                                        "gather_seconds",
                                        "reduce_seconds",
                                        "replica_seconds",
                                        "tensor_seconds",
                                        "pipe_seconds",
                                        "wait_seconds"});
  const auto number = [](const std::optional<double>& value) {
    return value ? analysis::CsvNumber(*value) : std::string();
  };
  for (const auto& [scenario, memory, step, rate, mfu] : plan.timed) {
    text += analysis::CsvLine({scenario.policies.front(),
                               scenario.parallel.text(),
                               scenario.sharding.text(),
                               std::to_string(scenario.batch),
                               std::to_string(scenario.accumulate),
                               scenario.recompute.text(),
                               number(step.step_seconds),
                               number(rate),
                               number(mfu),
                               number(memory.weights),
                               number(memory.gradients),
                               number(memory.optimizer),
                               number(memory.gathered),
                               number(memory.activations),
                               number(memory.residuals),
                               number(step.gather_seconds),
                               number(step.reduce_seconds),
                               number(step.replica_seconds),
                               number(step.tensor_seconds),
                               number(step.pipe_seconds),
                               number(step.wait_seconds)});
  }
  return text;
}

}  // namespace legacy
