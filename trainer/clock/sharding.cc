#include "trainer/clock/sharding.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "base/units.h"

namespace legacy {

bool ShardsWeights(ShardingKind kind) {
  return kind == ShardingKind::kZero3 || kind == ShardingKind::kFsdp || kind == ShardingKind::kHsdp;
}

namespace {

constexpr int64_t kValueBytes = 4;  // fp32
// DeepSpeed's reduce_bucket_size and allgather_bucket_size, in elements.
constexpr int64_t kZeroBucket = 500'000'000;
// Megatron-Core's buckets have max(4e7, 1e6 times the data-parallel ranks) elements.
constexpr int64_t kMegatronBucket = 40'000'000, kMegatronBucketOfRank = 1'000'000;

// Rules say what one framework does in which order.
struct Rules {
  bool frees_after_use;  // a gather waits until earlier weights were used, not only unpacked
  bool one_reduction;    // a reduction begins when the one before has ended, and the device waits
  bool keeps_last;       // the last block's weights stay for the backward pass
  bool copies;           // weights are copied out of, and gradients into, a buffer
};

Rules RulesOf(ShardingRules rules) {
  switch (rules) {
    case ShardingRules::kFsdp2:
      return {false, true, true, true};
    case ShardingRules::kFsdp1:
    case ShardingRules::kZero:
      return {true, false, false, false};
    case ShardingRules::kAuto:
    case ShardingRules::kMegatron:
      break;
  }
  return {false, false, false, false};
}

ShardingRules RulesFor(const ShardingOptions& options) {
  if (options.rules != ShardingRules::kAuto) return options.rules;
  switch (options.sharding.kind) {
    case ShardingKind::kFsdp:
    case ShardingKind::kHsdp:
      return ShardingRules::kFsdp2;
    case ShardingKind::kNone:  // with tensor or pipeline parallelism
    case ShardingKind::kMegatron:
      return ShardingRules::kMegatron;
    default:
      return ShardingRules::kZero;
  }
}

// Returns the bytes of fp32 at which a unit closes; 0: a block each.
int64_t UnitBytes(const ShardingOptions& options, int workers, bool has_blocks) {
  switch (options.units.kind) {
    case ShardUnits::Kind::kBytes:
      return options.units.bytes;
    case ShardUnits::Kind::kModel:
      return INT64_MAX;
    case ShardUnits::Kind::kBlock:
      return 0;
    case ShardUnits::Kind::kAuto:
      break;
  }
  if (ShardsWeights(options.sharding.kind) && has_blocks) return 0;
  if (RulesFor(options) == ShardingRules::kMegatron) {
    return kValueBytes *
           std::max(kMegatronBucket, kMegatronBucketOfRank * static_cast<int64_t>(workers));
  }
  return kValueBytes * kZeroBucket;
}

// Returns the unit of each operation by blocks. What is outside blocks is the root's, unit 0, or
// where there is no root, a unit of its own before and after blocks.
std::vector<int> UnitsByBlock(std::span<const OperationCost> operations, bool has_root) {
  std::vector<int> units;
  int blocks = 0;
  for (const OperationCost& operation : operations) {
    blocks = std::max(blocks, operation.block + 1);
    const int outside = has_root || blocks == 0 ? 0 : blocks + 1;
    units.push_back(operation.block == kNoBlock ? outside : operation.block + 1);
  }
  return units;
}

// Returns the same by bytes: units close in backward order, as buckets do. With `fused`, tensors
// that are divided by outputs and read the same inputs are one tensor.
std::vector<int> UnitsByBytes(std::span<const OperationCost> operations,
                              std::span<const Unit> layers, int64_t bytes, bool fused) {
  const auto continues = [&](size_t i) {
    return fused && operations[i].cut == TensorCut::kColumns && operations[i].backward_sum == 0;
  };
  std::vector<int> units(operations.size());
  int unit = 0;
  int64_t filled = 0;
  for (size_t i = operations.size(); i-- > 0;) {
    units[i] = unit;
    for (const int layer : operations[i].parameters) filled += kValueBytes * layers[layer].numel;
    if (filled < bytes || i == 0 || continues(i)) continue;
    ++unit;
    filled = 0;
  }
  return units;
}

// Gives operations without parameters, and units without elements, to the unit before or after.
void JoinEmptyUnits(std::span<const OperationCost> operations, std::vector<int>& units) {
  std::vector<bool> has(1 + *std::ranges::max_element(units), false);
  for (size_t i = 0; i < operations.size(); ++i) {
    if (!operations[i].parameters.empty()) has[units[i]] = true;
  }
  int last = -1;
  for (int& unit : units) {
    if (has[unit]) {
      last = unit;
    } else if (last >= 0) {
      unit = last;
    }
  }
  const auto first = std::ranges::find_if(units, [&](int unit) { return has[unit]; });
  std::fill(units.begin(), first, first == units.end() ? 0 : *first);
}

std::vector<int> RankRange(int first, int count, int stride) {
  std::vector<int> members;
  for (int i = 0; i < count; ++i) members.push_back(first + i * stride);
  return members;
}

// Makes the collectives of a payload in all groups: `count` groups of consecutive workers, or of
// workers that are `stride` apart.
std::vector<fabric::CollectiveSpec> InGroups(const TransferOptions& transfers,
                                             fabric::Payload payload, int64_t bytes, int workers,
                                             int size, int stride) {
  std::vector<fabric::CollectiveSpec> groups;
  if (size == 1) return groups;
  for (int g = 0; g < workers / size; ++g) {
    const int first = stride == 1 ? g * size : g;
    groups.push_back(GroupCollectiveOf(transfers, payload,
                                       std::vector(static_cast<size_t>(size), bytes),
                                       RankRange(first, size, stride)));
    if (size == workers) groups.back().members.clear();  // all
  }
  return groups;
}

}  // namespace

Sharding ParseSharding(const std::string& text, const std::string& key) {
  constexpr std::array kTexts = {"none", "zero1", "zero2", "zero3", "fsdp", "hsdp:S", "megatron"};
  const std::string hsdp = "hsdp:";
  if (text.starts_with(hsdp)) {
    return {ShardingKind::kHsdp,
            static_cast<int>(ParseInteger(text.substr(hsdp.size()), key, 2, 1 << 20))};
  }
  if (text == "hsdp" || text == "hsdp:S") {
    throw Error(key, text, "hsdp:S, with the number of workers that hold one copy, as in hsdp:8");
  }
  return {ParseChoice<ShardingKind>(text, key, kTexts), 0};
}

ShardingRules ParseShardingRules(const std::string& text, const std::string& key) {
  constexpr std::array kTexts = {"auto", "fsdp2", "fsdp1", "zero", "megatron"};
  return ParseChoice<ShardingRules>(text, key, kTexts);
}

Reshard ParseReshard(const std::string& text, const std::string& key) {
  constexpr std::array kTexts = {"on", "off", "node"};
  return ParseChoice<Reshard>(text, key, kTexts);
}

ShardUnits ParseShardUnits(const std::string& text, const std::string& key) {
  if (text == "auto") return {ShardUnits::Kind::kAuto, 0};
  if (text == "block") return {ShardUnits::Kind::kBlock, 0};
  if (text == "model") return {ShardUnits::Kind::kModel, 0};
  try {
    return {ShardUnits::Kind::kBytes, ParseBytes(text, key)};
  } catch (const Error&) {
    throw Error(key, text, "auto, block, model, or a size such as 100MB");
  }
}

CollectiveTimes ParseCollectiveTimes(const std::string& text, const std::string& key) {
  constexpr std::array kTexts = {"auto", "together", "alone"};
  return ParseChoice<CollectiveTimes>(text, key, kTexts);
}

namespace {

// Throws Error where ranks that divide experts cannot shard them.
void CheckExpertShards(const ShardingOptions& options, int shards) {
  const int expert = options.layout.expert;
  if (expert == 1) return;
  const std::string ranks = "ep=" + std::to_string(expert);
  if (options.sharding.kind == ShardingKind::kHsdp && shards % expert != 0) {
    throw Error("clock.sharding", "hsdp:" + std::to_string(shards),
                "a multiple of the ranks that divide experts (clock.parallel: " + ranks + ")");
  }
  const bool large = options.units.kind == ShardUnits::Kind::kModel ||
                     options.units.kind == ShardUnits::Kind::kBytes;
  if (large && ShardsWeights(options.sharding.kind)) {
    throw Error("clock.units", "units of several blocks",
                "auto or block where zero3, fsdp or hsdp gathers experts apart (clock.parallel: " +
                    ranks + ")");
  }
}

}  // namespace

void CheckSharding(const ShardingOptions& options, int workers) {
  const ShardingKind kind = options.sharding.kind;
  const int shards = ShardsIn(options, workers);
  if (kind == ShardingKind::kHsdp && (shards >= workers || workers % shards != 0)) {
    throw Error("clock.sharding", "hsdp:" + std::to_string(shards),
                "a divisor of the " + std::to_string(workers) +
                    " workers that is smaller; fsdp shards over all");
  }
  if (options.reshard != Reshard::kOn && !ShardsWeights(kind)) {
    throw Error("clock.reshard", options.reshard == Reshard::kOff ? "off" : "node",
                "on, as only zero3, fsdp and hsdp free weights after their use");
  }
  if (options.reshard == Reshard::kNode && kind == ShardingKind::kHsdp) {
    throw Error("clock.reshard", "node", "on or off with hsdp");
  }
  const bool fits =
      options.rules == ShardingRules::kAuto ||
      (options.rules == ShardingRules::kMegatron) == (kind == ShardingKind::kMegatron);
  if (kind != ShardingKind::kNone && !fits) {
    throw Error("clock.rules", "rules of another sharding",
                "megatron for megatron; fsdp2, fsdp1 and zero for the others");
  }
  CheckExpertShards(options, shards);
}

int ShardsIn(const ShardingOptions& options, int workers, bool experts) {
  if (options.sharding.kind == ShardingKind::kNone) return 1;
  const int shards = options.sharding.shards > 0 ? options.sharding.shards : workers;
  return experts ? shards / options.layout.expert : shards;
}

bool CopiesBuffers(const ShardingOptions& options) {
  return ShardsWeights(options.sharding.kind) && RulesOf(RulesFor(options)).copies;
}

ShardedModel CutModel(const ShardingOptions& options, int workers,
                      std::span<const OperationCost> operations, std::span<const Unit> layers) {
  const bool has_blocks =
      std::ranges::any_of(operations, [](const auto& one) { return one.block != kNoBlock; });
  if (options.units.kind == ShardUnits::Kind::kBlock && !has_blocks) {
    throw Error("clock.units", "block", "auto, model or a size: the model has no repeated blocks");
  }
  const int64_t bytes = UnitBytes(options, workers, has_blocks);
  std::vector<int> units =
      bytes == 0
          ? UnitsByBlock(operations, RulesFor(options) != ShardingRules::kZero)
          : UnitsByBytes(operations, layers, bytes,
                         options.layout.tensor > 1 && options.layout.overlap != SumOverlap::kOff);
  for (size_t i = 0; i < units.size(); ++i) {
    const bool apart = options.layout.expert > 1 && operations[i].experts > 0;
    units[i] = 2 * units[i] + (apart ? 1 : 0);
  }
  JoinEmptyUnits(operations, units);
  // Numbers in the order of first use.
  ShardedModel model;
  std::vector<int> number(1 + *std::ranges::max_element(units), -1);
  for (size_t i = 0; i < operations.size(); ++i) {
    int& unit = number[units[i]];
    if (unit < 0) {
      unit = static_cast<int>(model.units.size());
      model.units.emplace_back().experts = units[i] % 2 == 1;
    }
    model.unit_of_operation.push_back(unit);
    for (const int layer : operations[i].parameters) {
      model.units[unit].layers.push_back(layer);
      model.units[unit].elements += layers[layer].numel;
    }
  }
  // In a pipeline, FSDP gathers weights once for all microbatches.
  if (options.reshard == Reshard::kOff || options.layout.pipeline > 1) {
    for (UnitOfModel& unit : model.units) unit.kept = true;
  } else if (bytes == 0 && options.reshard == Reshard::kOn) {
    model.units.front().kept = RulesFor(options) != ShardingRules::kZero;  // the root
    for (auto last = model.units.rbegin(); RulesOf(RulesFor(options)).keeps_last; ++last) {
      last->kept = true;
      if (!last->experts) break;
    }
  }
  return model;
}

int64_t ShardElements(const ShardingOptions& options, const UnitOfModel& unit,
                      std::span<const Unit> layers, int shards) {
  const auto part = [&](int64_t whole) { return (whole + shards - 1) / shards; };
  const bool by_rows = CutsByRows(options);
  const bool by_tensor = by_rows || options.sharding.kind == ShardingKind::kZero3;
  if (!by_tensor) return part(unit.elements);
  int64_t elements = 0;
  for (const int layer : unit.layers) {
    const Unit& tensor = layers[layer];
    const int64_t rows = by_rows && !tensor.shape.empty() ? tensor.shape.front() : tensor.numel;
    elements += part(rows) * (tensor.numel / std::max<int64_t>(1, rows));
  }
  return elements;
}

bool CutsByRows(const ShardingOptions& options) {
  return RulesFor(options) == ShardingRules::kFsdp2;
}

std::vector<fabric::CollectiveSpec> ToOwners(const TransferOptions& transfers, const SentCall& call,
                                             int workers) {
  const OwnedSlices& slices = *call.owned;
  const int size = slices.Members();
  std::vector<fabric::CollectiveSpec> groups;
  for (int first = 0; size > 1 && first < workers; ++first) {
    if (first / slices.stride % size != 0) continue;  // it is in the group of one before
    std::vector<int> members = RankRange(first, size, slices.stride);
    if (call.hops) {
      if (size == workers) members.clear();  // all
      groups.push_back(
          HopsToOwners(transfers, *call.hops, size, call.bytes.front(), std::move(members)));
      continue;
    }
    std::vector<int64_t> pairs;
    for (const int sender : members) {
      for (const int receiver : members) {
        pairs.push_back(
            slices.bytes.empty()
                ? call.pair_bytes[static_cast<size_t>(sender) * static_cast<size_t>(workers) +
                                  static_cast<size_t>(receiver)]
                : slices.bytes[static_cast<size_t>(receiver % slices.owners)]);
      }
    }
    if (size == workers) members.clear();  // all
    groups.push_back(ExchangeAmong(transfers, std::move(pairs), std::move(members)));
  }
  return groups;
}

std::vector<fabric::CollectiveSpec> FromOwners(const TransferOptions& transfers,
                                               std::span<const int64_t> bytes, int workers) {
  const auto owners = static_cast<int>(bytes.size());
  std::vector<fabric::CollectiveSpec> groups;
  for (int first = 0; owners > 1 && first < workers; first += owners) {
    groups.push_back(GroupCollectiveOf(transfers, fabric::Payload::Concat,
                                       {bytes.begin(), bytes.end()}, RankRange(first, owners, 1)));
    if (owners == workers) groups.back().members.clear();  // all
  }
  return groups;
}

fabric::ShardedTraffic RulesOfStep(const ShardingOptions& options) {
  const ShardingKind kind = options.sharding.kind;
  const Rules rules = RulesOf(RulesFor(options));
  fabric::ShardedTraffic step;
  step.schedule = options.order.schedule;
  step.prefetch = options.prefetch;
  step.freesAfterUse = rules.frees_after_use;
  step.oneReduction = rules.one_reduction;
  // DeepSpeed's overlap_comm is on in stage 3 alone.
  step.reductionsBlock = RulesFor(options) == ShardingRules::kZero && !ShardsWeights(kind);
  // Several passes of a pipeline are on their way at once, and so it reduces after the last one.
  step.reducesEach = options.layout.pipeline == 1 && kind != ShardingKind::kNone &&
                     kind != ShardingKind::kZero1 && kind != ShardingKind::kMegatron;
  if (!ShardsWeights(kind)) {
    step.gathers = kind == ShardingKind::kMegatron && options.prefetch > 0
                       ? fabric::GatherTime::StepBegin
                       : fabric::GatherTime::StepEnd;
  }
  return step;
}

std::vector<fabric::ShardedUnit> UnitTraffic(const ShardingOptions& options,
                                             const TransferOptions& all, int all_workers,
                                             const ShardedModel& model,
                                             std::span<const Unit> layers, const WireBytes& wire) {
  std::vector<fabric::ShardedUnit> units;
  for (const UnitOfModel& unit : model.units) {
    const int parts = unit.experts ? options.layout.expert : 1;
    TransferOptions transfers = all;
    transfers.group = std::max(1, all.group / parts);
    const int workers = all_workers / parts;  // that have the same of it
    const int shards = ShardsIn(options, all_workers, unit.experts);
    const int64_t shard = ShardElements(options, unit, layers, shards);
    const auto weights = static_cast<int64_t>(wire.weight * static_cast<double>(shard));
    const auto gradients = static_cast<int64_t>(wire.gradient * static_cast<double>(shard));
    fabric::ShardedUnit& traffic = units.emplace_back();
    traffic.kept = unit.kept;
    const auto in_copies = [&](fabric::Payload payload, int64_t bytes) {
      return InGroups(transfers, payload, bytes, workers, shards, 1);
    };
    traffic.gather = in_copies(fabric::Payload::Concat, weights);
    traffic.reduce = in_copies(fabric::Payload::ScatteredSum, shards * gradients);
    std::vector<fabric::CollectiveSpec> sums =
        InGroups(transfers, fabric::Payload::Sum, gradients, workers, workers / shards, shards);
    // Where nothing is sharded, the sum over copies is all that is reduced.
    (shards == 1 ? traffic.reduce : traffic.replicas) = std::move(sums);
    if (options.reshard == Reshard::kNode && transfers.group > 1 &&
        workers % transfers.group == 0) {
      const int64_t part = ShardElements(options, unit, layers, transfers.group);
      traffic.gatherAgain = InGroups(transfers, fabric::Payload::Concat,
                                     static_cast<int64_t>(wire.weight * static_cast<double>(part)),
                                     workers, transfers.group, 1);
    }
    if (parts == 1) continue;
    for (auto* groups :
         {&traffic.gather, &traffic.gatherAgain, &traffic.reduce, &traffic.replicas}) {
      *groups = Interleaved(std::move(*groups), parts);
    }
  }
  return units;
}

}  // namespace legacy
