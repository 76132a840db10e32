#include "trainer/clock/rank_memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ns3-module/fabric/step/pipeline-order.h"
#include "trainer/clock/sharded_clock.h"

namespace legacy {
namespace {

constexpr double kFp32Bytes = 4;  // costs of a shape, masters, moments, losses
constexpr double kMoves = 2;      // an operation without weights reads and writes
constexpr double kNormMoves = 3;  // a norm reads twice, and writes

double Outputs(const OperationCost& operation) {
  const MatrixProduct& last = operation.products.back();
  return last.rows * last.columns * last.count;
}

// Returns the numbers of one sample that a product reads, besides weights.
double ProductInputs(const OperationCost& operation) {
  if (operation.products.empty()) return operation.forward_bytes / kFp32Bytes / kMoves;
  if (operation.kind != "linear") {
    return operation.forward_bytes / kFp32Bytes - Outputs(operation);
  }
  const MatrixProduct& product = operation.products.front();
  return product.rows * product.inner * product.count;
}

// A Keeper says what each operation of a model keeps for the backward pass, in bytes of a sample.
class Keeper {
 public:
  Keeper(std::span<const OperationCost> operations, const ComputeOptions& compute,
         const ParallelLayout& layout)
      : operations_(operations),
        again_(ComputedAgain(operations, compute.recompute)),
        number_(BytesOf(compute.precision)),
        parts_(layout.sequence ? layout.tensor : 1),
        fused_(compute.kernels >= KernelEra::k2023),
        cut_(std::ranges::any_of(operations,
                                 [](const auto& one) { return one.cut != TensorCut::kNone; })) {}

  // Returns what operations [from, to) keep where they run once.
  double Whole(size_t from, size_t to) const {
    double bytes = 0;
    for (size_t i = from; i < to; ++i) bytes += Kept(i);
    return bytes;
  }
  // Returns what a block of operations [from, to) keeps that runs again.
  double Again(size_t from, size_t to) const {
    double bytes = Input(from);
    for (size_t i = from; i < to; ++i) {
      if (!again_[i] && !operations_[i].products.empty())
        bytes += number_ * Outputs(operations_[i]);
    }
    return bytes;
  }
  // Returns whether a block of operations [from, to) runs again, and not its attention alone.
  bool RunsAgain(size_t from, size_t to) const {
    for (size_t i = from; i < to; ++i) {
      if (again_[i] && operations_[i].kind != "attention") return true;
    }
    return false;
  }

 private:
  // Returns the inputs of an operation.
  double Input(size_t i) const {
    const OperationCost& operation = operations_[i];
    const double moved = operation.forward_bytes / kFp32Bytes;
    if (operation.kind == "batchnorm") return number_ * moved / kNormMoves;
    if (operation.kind == "loss") return kFp32Bytes * moved / kMoves;
    if (operation.kind == "elementwise" || operation.kind == "pool") {
      return number_ * moved / kMoves;
    }
    // Ranks that share positions gather the inputs of columns again.
    const bool gathers = operation.cut == TensorCut::kColumns;
    return number_ * ProductInputs(operation) / (gathers ? parts_ : 1);
  }

  double Kept(size_t i) const {
    const OperationCost& operation = operations_[i];
    if (operation.kind == "elementwise") return Elementwise(i) + operation.masks;
    const bool shares = i > 0 && operation.cut == TensorCut::kColumns &&
                        operations_[i - 1].cut == TensorCut::kColumns;
    return (shares ? 0 : Input(i)) + Scores(i) + operation.masks;
  }

  // An activation needs its inputs: all that it moves but its results, which the next product
  // reads. Rotations of positions and sums need nothing.
  double Elementwise(size_t i) const {
    const OperationCost& operation = operations_[i];
    if (!cut_) return Input(i);
    const bool activates = operation.cut == TensorCut::kNumbers && i + 1 < operations_.size() &&
                           operations_[i + 1].kind == "linear";
    if (!activates) return 0;
    return number_ * (operation.forward_bytes / kFp32Bytes - ProductInputs(operations_[i + 1]));
  }

  // Attention that is not fused keeps the softmax, dropout's mask and its result.
  double Scores(size_t i) const {
    const OperationCost& operation = operations_[i];
    if (operation.kind != "attention" || fused_ || again_[i] || operation.products.empty()) {
      return 0;
    }
    const MatrixProduct& scores = operation.products.front();
    return (2 * number_ + 1) * scores.rows * scores.columns * scores.count;
  }

  const std::span<const OperationCost> operations_;
  const std::vector<bool> again_;
  const double number_;  // bytes
  const int parts_;      // among which positions are divided
  const bool fused_;     // attention
  const bool cut_;       // false: the model does not say which operations are activations
};

// KeptActivations are the bytes of a part of the model, for one sample.
struct KeptActivations {
  double kept = 0;
  double working = 0;  // what the largest block that runs again adds while it does
};

KeptActivations ActivationsOf(const Keeper& keeper, std::span<const OperationCost> operations,
                              OperationRange range) {
  KeptActivations all;
  for (size_t from = range.first; from < range.second;) {
    size_t to = from + 1;
    while (to < range.second && operations[to].block == operations[from].block) ++to;
    const double whole = keeper.Whole(from, to);
    if (operations[from].block != kNoBlock && keeper.RunsAgain(from, to)) {
      const double kept = std::min(whole, keeper.Again(from, to));
      all.kept += kept;
      all.working = std::max(all.working, whole - kept);
    } else {
      all.kept += whole;
    }
    from = to;
  }
  return all;
}

// Returns the most bytes that the chunks of a stage keep at a time, of which each keeps `bytes` for
// each microbatch from its forward pass until the last pass that needs them.
double MostInFlight(const RankMemoryOptions& options, int stage, std::span<const double> bytes) {
  using Kind = fabric::PipelineStep::Kind;
  const StageOrder& order = options.sharding.order;
  const Kind last =
      order.schedule == fabric::PipelineSchedule::ZeroBubbleH1 ? Kind::Weights : Kind::Backward;
  double now = 0, most = 0;
  for (const fabric::PipelineStep& step :
       fabric::PipelineOrder(order.schedule, options.sharding.layout.pipeline, order.chunks,
                             static_cast<int>(options.passes), stage)) {
    const double chunk = bytes[static_cast<size_t>(step.chunk)];
    if (step.kind == Kind::Forward) most = std::max(most, now += chunk);
    if (step.kind == last) now -= chunk;
  }
  return most;
}

// StateBytes are those of each element, of whoever holds it.
struct StateBytes {
  double weight, gradient, optimizer;
};

// Mixed precision keeps masters in fp32. They are the shards of FSDP, which gathers them as 16
// bits, and other frameworks have weights in 16 bits besides. Megatron-LM adds up gradients in bf16
// as fp32, and has a copy of those in fp16 for the optimizer.
StateBytes StateOf(const RankMemoryOptions& options) {
  const ShardingKind kind = options.sharding.sharding.kind;
  const Precision precision = AllButProducts(options.compute.precision);
  const double moments = kFp32Bytes * options.optimizer_floats;
  if (!HasSixteenBits(precision)) return {kFp32Bytes, kFp32Bytes, moments};
  const double half = BytesOf(precision);
  const bool sixteen = precision == Precision::kFp16 || options.sixteen_bit_sums;
  const double gradient = sixteen ? half : kFp32Bytes;
  if (kind == ShardingKind::kFsdp || kind == ShardingKind::kHsdp) {
    return {kFp32Bytes, gradient, moments};
  }
  const bool copies = precision == Precision::kFp16 &&
                      (kind == ShardingKind::kNone || kind == ShardingKind::kMegatron);
  return {half, gradient, moments + kFp32Bytes * (copies ? 2 : 1)};
}

// Returns the elements of the largest `count` units that follow each other and are freed after use.
int64_t LargestWindow(std::span<const UnitOfModel> units, int count) {
  std::vector<int64_t> freed;
  for (const UnitOfModel& unit : units) {
    if (!unit.kept) freed.push_back(unit.elements);
  }
  int64_t sum = 0, largest = 0;
  for (size_t i = 0; i < freed.size(); ++i) {
    sum += freed[i];
    if (i >= static_cast<size_t>(count)) sum -= freed[i - static_cast<size_t>(count)];
    largest = std::max(largest, sum);
  }
  return largest;
}

// Adds the state of a stage's units.
void AddState(const RankMemoryOptions& options, std::span<const UnitOfModel> units,
              std::span<const Unit> layers, RankMemory& memory) {
  const ShardingOptions& sharding = options.sharding;
  const ShardingKind kind = sharding.sharding.kind;
  const int shards = ShardsIn(sharding, options.workers);
  const StateBytes state = StateOf(options);
  const double wire = BytesOf(options.compute.precision);
  const bool reduces_each =
      RulesOfStep(sharding).reducesEach && !(options.messages && options.passes > 1);
  int64_t all = 0, owned = 0, kept = 0, largest = 0;
  for (const UnitOfModel& unit : units) {
    all += unit.elements;
    owned +=
        ShardElements(sharding, unit, layers, ShardsIn(sharding, options.workers, unit.experts));
    largest = std::max(largest, unit.elements);
    if (unit.kept) kept += unit.elements;
    if (sharding.reshard == Reshard::kNode && options.node > 1) {
      memory.weights +=
          wire * static_cast<double>(ShardElements(sharding, unit, layers, options.node));
    }
  }
  const auto bytes = [](double each, int64_t elements) {
    return each * static_cast<double>(elements);
  };
  const bool sharded = shards > 1;
  memory.weights += bytes(state.weight, ShardsWeights(kind) && sharded ? owned : all);
  memory.gradients +=
      sharded && reduces_each ? bytes(state.gradient, owned + largest) : bytes(state.gradient, all);
  memory.optimizer += bytes(state.optimizer, sharded ? owned : all);
  if (ShardsWeights(kind) && sharded) {
    memory.gathered += bytes(wire, kept + LargestWindow(units, sharding.prefetch + 1));
  }
  memory.residuals += bytes(options.residual_bytes, all);
}

}  // namespace

double BytesKeptByPass(std::span<const OperationCost> operations, const ComputeOptions& compute,
                       const ParallelLayout& layout, int64_t samples) {
  const Keeper keeper(operations, compute, layout);
  return ActivationsOf(keeper, operations, {0, operations.size()}).kept *
         static_cast<double>(samples);
}

std::vector<RankMemory> MemoryOfStages(const RankMemoryOptions& options,
                                       std::span<const OperationCost> operations,
                                       std::span<const Unit> layers) {
  const ShardingOptions& sharding = options.sharding;
  const Keeper keeper(operations, options.compute, sharding.layout);
  const auto samples = static_cast<double>(options.batch);
  std::vector<RankMemory> stages;
  for (const auto& chunks : CutIntoStages(sharding.layout, sharding.order, operations)) {
    RankMemory& memory = stages.emplace_back();
    memory.stage = static_cast<int>(stages.size()) - 1;
    std::vector<double> kept;
    double working = 0;
    for (const OperationRange& range : chunks) {
      const KeptActivations chunk = ActivationsOf(keeper, operations, range);
      kept.push_back(samples * chunk.kept);
      working = std::max(working, samples * chunk.working);
    }
    memory.activations = MostInFlight(options, memory.stage, kept) + working;
    AddState(options,
             UnitsOfStage(sharding, options.workers, operations, layers, memory.stage, chunks),
             layers, memory);
  }
  return stages;
}

const RankMemory& LargestOf(const std::vector<RankMemory>& stages) {
  return *std::ranges::max_element(stages, {}, &RankMemory::Total);
}

StepFlops FlopsOf(std::span<const OperationCost> operations, RecomputeRule rule, int64_t elements,
                  int64_t tokens) {
  constexpr double kPasses = 3;  // the backward pass counts twice
  const std::vector<bool> again = ComputedAgain(operations, rule);
  double attention = 0;
  StepFlops flops;
  for (size_t i = 0; i < operations.size(); ++i) {
    const double forward = operations[i].forward_flops;
    flops.model += kPasses * forward;
    flops.hardware += again[i] ? forward : 0;
    if (operations[i].kind == "attention") attention += kPasses * forward;
  }
  flops.hardware += flops.model;
  constexpr double kOfWeight = 6;
  if (tokens > 0) {
    flops.six_n =
        kOfWeight * static_cast<double>(elements) * static_cast<double>(tokens) + attention;
  }
  return flops;
}

}  // namespace legacy
