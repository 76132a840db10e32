// This prices what tensor, context, expert and pipeline parallelism add to steps of divided models.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
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
  if (transfers.all_gather) transfers.all_gather = fabric::CollectiveAlgorithm::RingAllGather;
  return transfers;
}

// ProductTimes are the seconds of a product in the forward pass, and of each of the two that
// its backward pass has: of the gradients of inputs, and of those of weights.
struct ProductTimes {
  double forward = 0, backward = 0;
};

// Returns the times of the products of operation `i`, with those of operations up to `end` that
// read the same inputs.
ProductTimes ProductsBeside(std::span<const OperationCost> operations,
                            std::span<const ProductTimes> times, size_t i, size_t end) {
  ProductTimes sum = times[i];
  for (size_t j = i + 1; operations[i].backward_sum > 0 && j < end; ++j) {
    const TensorCut cut = operations[j].cut;
    if (operations[j].backward_sum > 0 || cut == TensorCut::kNone || cut == TensorCut::kRows) break;
    if (cut != TensorCut::kColumns) continue;
    sum.forward += times[j].forward;
    sum.backward += times[j].backward;
  }
  return sum;
}

// SegmentSums list the collectives of activations in a segment of a stage. Amounts are numbers of
// one sample; equal collectives are one entry.
class SegmentSums {
 public:
  // A number has `bytes` in all samples; ranks are slowed down by `factors`, if any.
  SegmentSums(const TransferOptions& transfers, const ShardingOptions& sharding, int ranks,
              int stage, double bytes, std::span<const double> factors)
      : transfers_(transfers), sharding_(sharding), bytes_(bytes), factors_(factors) {
    for (const RankAxis axis : {RankAxis::kTensor, RankAxis::kContext, RankAxis::kExpert}) {
      groups_.push_back(GroupsInStage(sharding.layout, ranks, stage, axis));
    }
  }

  // Adds all of one operation; `again` is 1 where it is computed again, else 0. `beside` are its
  // ProductsBeside.
  void Add(const OperationCost& operation, int again, const ProductTimes& beside) {
    if (operation.forward_sum > 0) AddOutputs(operation, again, beside);
    if (operation.backward_sum > 0) AddGradients(operation, again, beside);
    // Keys and values go around, and in the backward pass with their gradients.
    if (sharding_.layout.context > 1 && operation.keys > 0) {
      Count(Keys(operation.keys), 1, again, 2);
    }
    if (sharding_.layout.expert == 1) return;
    // Gradients go the ways of tokens back.
    for (const bool there : {true, false}) {
      const double numbers = there ? operation.dispatch : operation.combine;
      if (numbers == 0) continue;
      Count(Tokens(operation, numbers, there), 1, again, 0);
      Count(Tokens(operation, numbers, !there), 0, 0, 1);
    }
  }

  // Returns those that were added since the last call.
  std::vector<fabric::TensorSums> Take() {
    std::vector<fabric::TensorSums> taken;
    for (auto& [key, sums] : std::exchange(sums_, {})) taken.push_back(std::move(sums));
    return taken;
  }

 private:
  static void Count(fabric::TensorSums& sums, int forward, int recompute, int backward) {
    sums.forward += forward;
    sums.recompute += recompute;
    sums.backward += backward;
  }

  const std::vector<std::vector<int>>& Groups(RankAxis axis) const {
    return groups_[static_cast<size_t>(axis)];
  }

  // Returns whether all sums of an operation run beside products. Tokens of experts are gathered by
  // what sends them (Megatron-LM, core/transformer/moe/token_dispatcher.py).
  bool OverlapsAll(const OperationCost& operation) const {
    const ParallelLayout& layout = sharding_.layout;
    return layout.overlap == SumOverlap::kAll && layout.sequence && operation.experts == 0;
  }

  // Adds the sums of outputs. With sequence parallelism each stands for the reduce-scatter of a
  // product's outputs and the gather of the next one's inputs, which OverlapsAll parts.
  void AddOutputs(const OperationCost& operation, int again, const ProductTimes& beside) {
    const double numbers = operation.forward_sum;
    const bool parted = OverlapsAll(operation) && operation.cut == TensorCut::kRows;
    if (!parted) return Count(Sums(numbers), 1, again, 0);
    Count(Scattered(numbers, beside.forward), 1, again, 0);
    Count(Gathered(numbers, beside.backward), 0, 0, 1);
  }

  // Adds the sums of gradients of inputs, unless there is no overlap beside the product that makes
  // the gradients of weights, which ZB-H1 makes later. With sequence parallelism they are
  // reduce-scatters. Inputs are gathered again before them, and the gradients of the outputs before
  // are gathered as they are needed.
  void AddGradients(const OperationCost& operation, int again, const ProductTimes& beside) {
    const ParallelLayout& layout = sharding_.layout;
    const double numbers = operation.backward_sum;
    if (layout.overlap == SumOverlap::kOff || operation.experts > 0) {
      return Count(Sums(numbers), 0, 0, 1);
    }
    const bool later = sharding_.order.schedule == fabric::PipelineSchedule::ZeroBubbleH1;
    const double weights = later ? 0 : beside.backward;
    if (!layout.sequence) return Count(Sums(numbers, weights), 0, 0, 1);
    if (OverlapsAll(operation)) {
      Count(Gathered(numbers, beside.forward), 1, again, 0);
    } else {
      Count(Gathered(numbers, 0), 0, 0, 1);
    }
    Count(Gathered(numbers, beside.backward), 0, 0, 1);
    Count(Scattered(numbers, weights), 0, 0, 1);
  }

  // Returns the entry of collectives that `make` makes of bytes and members, and beside which the
  // device computes for `beside` seconds.
  template <typename Make>
  fabric::TensorSums& Of(RankAxis axis, fabric::ShardedStream stream, double numbers, int kind,
                         double beside, const Make& make) {
    const auto bytes = static_cast<int64_t>(numbers * bytes_);
    const auto [entry, added] = sums_.try_emplace({axis, bytes, kind, beside});
    fabric::TensorSums& sums = entry->second;
    sums.stream = stream;
    if (beside > 0) sums.beside = SlowedTimes(beside, factors_);
    for (const std::vector<int>& group : Groups(axis)) {
      if (added) sums.sum.push_back(make(bytes, group));
    }
    return sums;
  }

  fabric::TensorSums& OfTensors(fabric::Payload payload, double numbers, double beside) {
    return Of(RankAxis::kTensor, fabric::ShardedStream::Tensor, numbers, static_cast<int>(payload),
              beside, [&](int64_t bytes, const std::vector<int>& group) {
                return GroupCollectiveOf(transfers_, payload, std::vector(group.size(), bytes),
                                         group);
              });
  }

  fabric::TensorSums& Sums(double numbers, double beside = 0) {
    return OfTensors(fabric::Payload::Sum, numbers, beside);
  }
  fabric::TensorSums& Gathered(double numbers, double beside) {
    return OfTensors(fabric::Payload::Concat, numbers / sharding_.layout.tensor, beside);
  }
  fabric::TensorSums& Scattered(double numbers, double beside) {
    return OfTensors(fabric::Payload::ScatteredSum, numbers, beside);
  }

  fabric::TensorSums& Keys(double numbers) {
    TransferOptions ring = transfers_;
    ring.all_gather = fabric::CollectiveAlgorithm::RingAllGather;
    return Of(RankAxis::kContext, fabric::ShardedStream::Context, numbers, 0, 0,
              [&](int64_t bytes, const std::vector<int>& group) {
                return GroupCollectiveOf(ring, fabric::Payload::Concat,
                                         std::vector(group.size(), bytes), group);
              });
  }

  // The way to experts, or back.
  fabric::TensorSums& Tokens(const OperationCost& operation, double numbers, bool there) {
    const int ranks = sharding_.layout.expert;
    const std::vector<double> shares =
        ExpertShares(sharding_.load, operation.experts, operation.used, ranks);
    return Of(RankAxis::kExpert, fabric::ShardedStream::Expert, numbers, there || shares.empty(), 0,
              [&](int64_t bytes, const std::vector<int>& group) {
                return ExchangeAmong(transfers_, Pairs(shares, bytes, there), group);
              });
  }

  // Returns what each rank of experts sends to each other.
  std::vector<int64_t> Pairs(const std::vector<double>& shares, int64_t bytes, bool there) const {
    const auto ranks = static_cast<size_t>(sharding_.layout.expert);
    std::vector<int64_t> pairs(ranks * ranks, bytes / static_cast<int64_t>(ranks));
    for (size_t i = 0; i < shares.size(); ++i) {
      const size_t to = there ? i : i % ranks * ranks + i / ranks;
      pairs[to] = static_cast<int64_t>(shares[i] * static_cast<double>(bytes));
    }
    return pairs;
  }

  const TransferOptions transfers_;
  const ShardingOptions& sharding_;
  const double bytes_;
  const std::span<const double> factors_;
  std::vector<std::vector<std::vector<int>>> groups_;  // by axis
  // By axis, bytes, kind of collective and seconds beside it.
  std::map<std::tuple<RankAxis, int64_t, int, double>, fabric::TensorSums> sums_;
};

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
  const int first = RanksOfStage(sharding_.layout, ranks, stage.number).front();
  for (fabric::ShardedUnit& unit : stage.traffic->units) {
    for (auto* groups :
         {&unit.gather, &unit.gatherAgain, &unit.first, &unit.reduce, &unit.replicas}) {
      *groups = InStage(sharding_.layout, ranks, stage.number, std::move(*groups));
    }
    for (fabric::CollectiveSpec& spec : unit.reduce) {
      if (spec.slices.empty() || stage.factors.empty()) continue;
      for (size_t i = 0; i < spec.bytes.size(); ++i) {
        const int rank = spec.members.empty() ? static_cast<int>(i) : spec.members[i];
        spec.hops.factors.push_back(stage.factors[static_cast<size_t>(rank - first)]);
      }
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

// Adds the sums of activations to the segments of a stage, the keys and values that ranks pass on,
// and the tokens that they send to experts.
void Clock::AddActivations(const StepWork& work, int ranks, const Stage& stage) const {
  const PassSeconds& passes = PassesOf(work.batch_size);
  std::vector<ProductTimes> products;
  for (size_t i = 0; i < operations_.size(); ++i) {
    const double backward = i < first_trained_ ? 0 : passes.backward[i] - passes.again[i];
    products.push_back({passes.forward[i], backward / 2});
  }
  SegmentSums sums(RingsOf(transfers()), sharding_, ranks, stage.number,
                   static_cast<double>(work.batch_size) * BytesOf(compute_.precision),
                   stage.factors);
  for (size_t c = 0; c < stage.chunks.size(); ++c) {
    ForEachSegment(stage, c, [&](fabric::ShardedSegment& segment, size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) {
        sums.Add(operations_[i], passes.again[i] > 0 ? 1 : 0,
                 ProductsBeside(operations_, products, i, to));
      }
      segment.sums = sums.Take();
    });
  }
}

}  // namespace legacy
