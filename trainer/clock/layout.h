// A layout says how the ranks of a training divide a model besides sharding it: tensor parallelism
// divides tensors among ranks of a node (Megatron-LM, Shoeybi et al. 2019), context parallelism
// divides the positions of a sample (ring attention, Liu et al. 2023), and pipeline parallelism
// divides layers into stages (Narayanan et al., SC'21). What is left is data parallelism, whose
// ranks may divide experts (GShard, Lepikhin et al. 2021). docs/parallel.md has the rules and their
// sources.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/step/pipeline-order.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {

// A SumOverlap says beside which products tensor parallelism sums and gathers.
enum class SumOverlap : uint8_t {
  kOff,  // beside none; ranks keep the inputs of a pass that they have gathered
  // The backward pass of a product that is divided by outputs sums the gradients of its inputs
  // beside the product that makes those of its weights, and with `sequence` gathers its inputs
  // again beside the product that makes these gradients (Megatron-LM since 2022,
  // core/tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication).
  kOn,
  // With `sequence` also each gather beside the product that reads it, and each reduce-scatter
  // beside the product that it sums, part by part (Transformer Engine's userbuffers, TorchTitan's
  // asynchronous tensor parallelism).
  kAll,
};
inline constexpr std::array<const char*, 3> kSumOverlapTexts = {"off", "on", "all"};

// A ParallelLayout is the value of the option. Ranks are numbered as Megatron-LM does: those of a
// tensor follow each other, then those of a context, then those of data parallelism, and stages are
// outermost. Ranks of contexts and of data reduce gradients together, and are called data-parallel
// ranks; groups of consecutive ones divide experts.
struct ParallelLayout {
  int tensor = 1;
  int pipeline = 1;
  int context = 1;
  int expert = 1;
  // True: what tensor parallelism does not divide is divided by positions, so that no rank has all
  // activations (Korthikanti et al. 2022).
  bool sequence = true;
  SumOverlap overlap = SumOverlap::kOn;

  bool Divides() const { return tensor > 1 || pipeline > 1 || context > 1 || expert > 1; }
};

// Parses "none", or a list such as "tp=8,pp=4,cp=2,ep=8,sequence=off,overlap=off". Throws Error
// naming `key`.
ParallelLayout ParseParallel(const std::string& text, const std::string& key);

// A StageOrder is the order in which stages compute, and how many chunks each of them has.
struct StageOrder {
  fabric::PipelineSchedule schedule = fabric::PipelineSchedule::OneForwardOneBackward;
  int chunks = 1;
};

// Parses "1f1b", "interleaved:V", "gpipe" or "zb-h1". Throws Error naming `key`.
StageOrder ParseStageOrder(const std::string& text, const std::string& key);

// Returns the data-parallel ranks among all. Throws Error where the layout does not divide them.
int DataRanks(const ParallelLayout& layout, int ranks);

// Returns the ranks of a stage, in order.
std::vector<int> RanksOfStage(const ParallelLayout& layout, int ranks, int stage);

// Returns the collectives among data-parallel ranks 0, 1, ... as those among the ranks of a stage:
// one of each for each part of its tensors. The same list where the layout divides nothing.
std::vector<fabric::CollectiveSpec> InStage(const ParallelLayout& layout, int ranks, int stage,
                                            std::vector<fabric::CollectiveSpec> groups);

// Returns the collectives among every `parts`-th of some ranks as those among all of them, from
// rank `first` on: one of each for each of `parts` ranks that follow each other.
std::vector<fabric::CollectiveSpec> Interleaved(std::vector<fabric::CollectiveSpec> groups,
                                                int parts, int first = 0);

// A RankAxis says what the ranks of a group divide.
enum class RankAxis : uint8_t { kTensor, kContext, kExpert };

// Returns the groups of ranks of a stage that divide its tensors, positions or experts.
std::vector<std::vector<int>> GroupsInStage(const ParallelLayout& layout, int ranks, int stage,
                                            RankAxis axis);

// An OperationRange is operations [first, last) of a model.
using OperationRange = std::pair<size_t, size_t>;

// Returns the operations of each chunk of each stage: [stage][chunk]. Blocks are divided evenly;
// what is before them is the first stage's, and what is behind them the last one's. Throws Error
// where there are fewer blocks than parts.
std::vector<std::vector<OperationRange>> CutIntoStages(const ParallelLayout& layout,
                                                       const StageOrder& order,
                                                       std::span<const OperationCost> operations);

}  // namespace legacy
