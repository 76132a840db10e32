// Sharding says which part of weights, gradients and optimizer states a worker holds, and in what
// order a framework gathers weights and reduces gradients because of that. It changes no number of
// a training whose gradients are summed value by value, and so it is a matter of the clock.
// Methods: ZeRO (Rajbhandari et al., SC'20), FSDP (Zhao et al., VLDB'23), Megatron-LM's distributed
// optimizer. docs/sharding.md has the rules and their sources.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compress/unit.h"
#include "ns3-module/fabric/step/sharded.h"
#include "trainer/clock/experts.h"
#include "trainer/clock/layout.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/step_work.h"
#include "trainer/clock/transfers.h"

namespace legacy {

// A ShardingKind says what is sharded, and among whom.
enum class ShardingKind : uint8_t {
  kNone,
  kZero1,     // optimizer states
  kZero2,     // and gradients
  kZero3,     // and weights
  kFsdp,      // all of them, by units of the model
  kHsdp,      // the same among S consecutive workers, with copies among the others
  kMegatron,  // optimizer states, in buckets of one buffer
};

// A Sharding is the value of the option.
struct Sharding {
  ShardingKind kind = ShardingKind::kNone;
  int shards = 0;  // workers that hold one copy together; 0: all
};

// Returns true if workers hold a part of the weights alone between passes.
bool ShardsWeights(ShardingKind kind);

// Parses "none", "zero1", "zero2", "zero3", "fsdp", "hsdp:S" or "megatron". Throws Error naming
// `key`.
Sharding ParseSharding(const std::string& text, const std::string& key);

// ShardingRules are the order in which a framework issues gathers and reductions.
enum class ShardingRules : uint8_t {
  kAuto,  // those of the sharding's own framework
  kFsdp2,
  kFsdp1,
  kZero,
  kMegatron,
};
ShardingRules ParseShardingRules(const std::string& text, const std::string& key);

// A Reshard says what happens to weights after their forward pass.
enum class Reshard : uint8_t {
  kOn,    // they are freed, and gathered again for the backward pass
  kOff,   // they stay until the backward pass
  kNode,  // they are gathered again inside the node, from a second copy of shards there (hpZ)
};
Reshard ParseReshard(const std::string& text, const std::string& key);

// ShardUnits say which tensors are gathered and reduced together.
struct ShardUnits {
  enum class Kind : uint8_t {
    kAuto,   // as the rules have them
    kBlock,  // a repeated block each; the rest of the model is the root's
    kModel,  // all
    kBytes,  // consecutive operations of that many bytes of fp32
  };
  Kind kind = Kind::kAuto;
  int64_t bytes = 0;
};
ShardUnits ParseShardUnits(const std::string& text, const std::string& key);

// A CollectiveTimes says how the collectives of a sharded step are timed.
enum class CollectiveTimes : uint8_t {
  kAuto,      // together, where that is at most kMostFlowsTogether flows
  kTogether,  // all flows of a step share the network
  kAlone,     // each collective is simulated once by itself
};
CollectiveTimes ParseCollectiveTimes(const std::string& text, const std::string& key);
inline constexpr double kMostFlowsTogether = 1 << 18;

// ShardingOptions are all choices.
struct ShardingOptions {
  Sharding sharding = {};
  ShardingRules rules = ShardingRules::kAuto;
  ShardUnits units = {};
  Reshard reshard = Reshard::kOn;
  int prefetch = 1;  // units gathered ahead
  CollectiveTimes collectives = CollectiveTimes::kAuto;
  ParallelLayout layout = {};
  StageOrder order = {};
  ExpertLoad load = {};

  // Returns true if ranks hold parts of the model, so that a step is no step of buckets.
  bool DividesModel() const { return sharding.kind != ShardingKind::kNone || layout.Divides(); }
};

// Throws Error on combinations without a meaning. In what follows, workers are data-parallel ranks.
void CheckSharding(const ShardingOptions& options, int workers);

// Returns how many workers hold a copy of the model together; of each part that the layout divides
// it into. Each of the ranks that divide `experts` holds others, so that fewer hold the same ones.
int ShardsIn(const ShardingOptions& options, int workers, bool experts = false);

// Returns whether gathered weights are copied out of a buffer, and gradients into one.
bool CopiesBuffers(const ShardingOptions& options);

// A UnitOfModel is what is gathered and reduced together.
struct UnitOfModel {
  std::vector<int> layers;  // positions in the model's parameter order
  int64_t elements = 0;
  bool kept = false;     // its weights stay from the forward to the backward pass
  bool experts = false;  // it has experts that ranks divide among each other
};

// A ShardedModel has the units of a model in the order of their first use, and the unit of each
// operation of the forward pass.
struct ShardedModel {
  std::vector<UnitOfModel> units;
  std::vector<int> unit_of_operation;
};

// Cuts a model, or the part of it that these operations are. Those without blocks are cut by bytes.
// Experts that ranks divide are units of their own.
ShardedModel CutModel(const ShardingOptions& options, int workers,
                      std::span<const OperationCost> operations, std::span<const Unit> layers);

// Returns the elements of a unit that each of `shards` workers holds, with padding: FSDP2 cuts each
// tensor along its first dimension into ceil(rows / shards) rows, ZeRO-3 pads each tensor, and the
// others pad the unit.
int64_t ShardElements(const ShardingOptions& options, const UnitOfModel& unit,
                      std::span<const Unit> layers, int shards);

// Returns whether a tensor is cut into slices of as many rows; else they have as many values.
bool CutsByRows(const ShardingOptions& options);

// Returns the collectives that carry a call of messages to the owners of slices, one for each copy
// of the model; none where a copy has one owner. Throws Error where a server aggregates.
std::vector<fabric::CollectiveSpec> ToOwners(const TransferOptions& transfers, const SentCall& call,
                                             int workers);

// Returns the all-gathers of messages of which the owner of slice j has `bytes[j]`, one for each
// copy of the model; none where a copy has one owner.
std::vector<fabric::CollectiveSpec> FromOwners(const TransferOptions& transfers,
                                               std::span<const int64_t> bytes, int workers);

// WireBytes are the bytes of a value in gathers and in reductions.
struct WireBytes {
  double weight = 4;
  double gradient = 4;
};

// Returns a step that has its rules alone: when what is gathered, and what waits for what.
fabric::ShardedTraffic RulesOfStep(const ShardingOptions& options);

// Returns the units of a model with their collectives among workers, without device times.
std::vector<fabric::ShardedUnit> UnitTraffic(const ShardingOptions& options,
                                             const TransferOptions& transfers, int workers,
                                             const ShardedModel& model,
                                             std::span<const Unit> layers, const WireBytes& wire);

}  // namespace legacy
