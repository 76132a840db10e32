// This prices what tensor and pipeline parallelism add to steps of divided models.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "trainer/clock/sharded_clock.h"

namespace legacy {
namespace {

// Returns the numbers that pass from a block to the next one, for one sample: those that the first
// product of a block reads.
double BoundaryNumbers(std::span<const OperationCost> operations) {
  for (const OperationCost& operation : operations) {
    if (operation.block == kNoBlock || operation.products.empty()) continue;
    const MatrixProduct& product = operation.products.front();
    return product.rows * product.inner;
  }
  return 0;
}

// Returns the layer whose weights the head shares, or nothing.
std::optional<int> TiedLayer(std::span<const OperationCost> operations) {
  const bool tied = std::ranges::any_of(operations, [](const OperationCost& operation) {
    return operation.kind == "linear" && operation.block == kNoBlock &&
           operation.parameters.empty() && operation.weight_bytes > 0;
  });
  if (!tied || operations.front().parameters.empty()) return std::nullopt;
  return operations.front().parameters.front();
}

// Returns the options of sums within a model, which are rings unless algorithms are chosen.
TransferOptions RingsOf(TransferOptions transfers) {
  if (transfers.all_reduce) transfers.all_reduce = fabric::CollectiveAlgorithm::RingAllReduce;
  return transfers;
}

}  // namespace

TransferOptions InData(const ParallelLayout& layout, TransferOptions transfers) {
  transfers.group = std::max(1, transfers.group / layout.tensor);
  return transfers;
}

std::vector<UnitOfModel> UnitsOfStage(const ShardingOptions& options, int workers,
                                      std::span<const OperationCost> operations,
                                      std::span<const Unit> layers, int stage,
                                      std::span<const OperationRange> chunks,
                                      std::vector<std::vector<int>>* unit_of) {
  std::vector<UnitOfModel> units;
  for (const auto& [first, last] : chunks) {
    ShardedModel part = CutModel(options, workers, operations.subspan(first, last - first), layers);
    const auto before = static_cast<int>(units.size());
    for (int& unit : part.unit_of_operation) unit += before;
    if (unit_of) unit_of->push_back(std::move(part.unit_of_operation));
    std::ranges::move(part.units, std::back_inserter(units));
  }
  const std::optional<int> tied = TiedLayer(operations);
  if (tied && stage > 0 && stage + 1 == options.layout.pipeline) {
    units.back().layers.push_back(*tied);
    units.back().elements += layers[static_cast<size_t>(*tied)].numel;
  }
  return units;
}

Clock::Stage Clock::CutStage(const StepWork& work, int number,
                             std::vector<OperationRange> chunks) const {
  Stage stage;
  stage.number = number;
  stage.chunks = std::move(chunks);
  stage.model.units = UnitsOfStage(sharding_, work.workers, operations_, layers_, number,
                                   stage.chunks, &stage.unit_of);
  return stage;
}

// Makes the collectives of units, which are among data-parallel ranks, those of the stage's ranks.
void Clock::PlaceInStage(int ranks, const Stage& stage) const {
  for (fabric::ShardedUnit& unit : stage.traffic->units) {
    for (auto* groups :
         {&unit.gather, &unit.gatherAgain, &unit.first, &unit.reduce, &unit.replicas}) {
      *groups = InStage(sharding_.layout, ranks, stage.number, std::move(*groups));
    }
  }
}

// Adds what stages send to each other, and the sum of the gradients of weights that two of them
// have.
void Clock::AddPipeline(const StepWork& work, int ranks, const WireBytes& wire,
                        fabric::ShardedTraffic& step) const {
  const ParallelLayout& layout = sharding_.layout;
  // Ranks that share positions, or scatter and gather them, send a part each.
  const double each = layout.sequence ? layout.tensor : 1;
  step.messageBytes =
      static_cast<int64_t>(BoundaryNumbers(operations_) * static_cast<double>(work.batch_size) *
                           BytesOf(compute_.precision) / each);
  const std::optional<int> tied = TiedLayer(operations_);
  if (!tied) return;
  const auto bytes = static_cast<int64_t>(
      wire.gradient * static_cast<double>(layers_[static_cast<size_t>(*tied)].numel));
  const std::vector<int> first = RanksOfStage(layout, ranks, 0);
  const std::vector<int> last = RanksOfStage(layout, ranks, layout.pipeline - 1);
  for (size_t i = 0; i < first.size(); ++i) {
    step.tied.push_back(GroupCollectiveOf(RingsOf(transfers()), fabric::Payload::Sum,
                                          {bytes, bytes}, {first[i], last[i]}));
  }
}

// Adds the sums of activations to the segments of a stage.
void Clock::AddTensorSums(const StepWork& work, int ranks, const Stage& stage) const {
  if (sharding_.layout.tensor == 1) return;
  const auto groups = TensorGroups(sharding_.layout, ranks, stage.number);
  const PassSeconds& passes = PassesOf(work.batch_size);
  for (size_t c = 0; c < stage.chunks.size(); ++c) {
    ForEachSegment(stage, c, [&](fabric::ShardedSegment& segment, size_t from, size_t to) {
      std::map<int64_t, fabric::TensorSums> sums;  // by bytes
      const auto of = [&](double numbers) -> fabric::TensorSums& {
        return sums[static_cast<int64_t>(numbers * static_cast<double>(work.batch_size) *
                                         BytesOf(compute_.precision))];
      };
      for (size_t i = from; i < to; ++i) {
        const OperationCost& operation = operations_[i];
        if (operation.forward_sum > 0) {
          fabric::TensorSums& sum = of(operation.forward_sum);
          ++sum.forward;
          sum.recompute += passes.again[i] > 0 ? 1 : 0;
        }
        if (operation.backward_sum > 0) ++of(operation.backward_sum).backward;
      }
      for (auto& [bytes, sum] : sums) {
        for (const std::vector<int>& group : groups) {
          sum.sum.push_back(GroupCollectiveOf(RingsOf(transfers()), fabric::Payload::Sum,
                                              std::vector(group.size(), bytes), group));
        }
        segment.sums.push_back(std::move(sum));
      }
    });
  }
}

}  // namespace legacy
