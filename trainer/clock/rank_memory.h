// The memory of a rank that trains a part of a model, by kind, and the FLOPs of its step. Computed
// from the operations of the shape that the clock prices. docs/parallel.md has the rules and their
// sources; buffers of libraries, and what is lost between allocations, are left out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/unit.h"
#include "trainer/clock/compute_options.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/clock/sharding.h"

namespace legacy {

// Returns the bytes that operations keep from the forward to the backward pass of one microbatch of
// `samples`, of which each rank of the layout has a part: the inputs of each operation, which those
// that divide a product by outputs share, masks of dropout, scores of attention that is not fused,
// and the results of a loss in fp32 (Korthikanti et al., MLSys 2023, section 4). Blocks that are
// computed again keep their inputs, and the results that are not computed again. `operations` are
// those of whole blocks.
double BytesKeptByPass(std::span<const OperationCost> operations, const ComputeOptions& compute,
                       const ParallelLayout& layout, int64_t samples);

// A RankMemory has the bytes of each rank of a stage.
struct RankMemory {
  int stage = 0;
  double weights = 0;
  double gradients = 0;    // that passes add up, and those of a unit before its reduction
  double optimizer = 0;    // masters in fp32 where weights have 16 bits, and moments
  double gathered = 0;     // weights of others while they are used
  double activations = 0;  // of all microbatches in flight, and of the block that runs again
  double residuals = 0;    // of compressed gradients

  double Total() const {
    return weights + gradients + optimizer + gathered + activations + residuals;
  }
};

// RankMemoryOptions are what memory depends on besides the model.
struct RankMemoryOptions {
  ShardingOptions sharding = {};
  ComputeOptions compute = {};
  int workers = 1;                // data-parallel ranks
  int node = 1;                   // those of a node (--reshard=node)
  int64_t batch = 1;              // samples of a microbatch
  int64_t passes = 1;             // microbatches of a step
  double optimizer_floats = 0;    // state of an element in fp32, besides masters
  double residual_bytes = 0;      // of an element
  bool sixteen_bit_sums = false;  // gradients in bf16 are added up in 16 bits
  bool messages = false;          // gradients are compressed, once all passes have added up
};

// Returns the memory of the ranks of each stage. `operations` and `layers` are the part of the
// model that ranks of a tensor have.
std::vector<RankMemory> MemoryOfStages(const RankMemoryOptions& options,
                                       std::span<const OperationCost> operations,
                                       std::span<const Unit> layers);
// Returns the one with the most bytes, the first of several.
const RankMemory& LargestOf(const std::vector<RankMemory>& stages);

// StepFlops are the FLOPs of one sample in forward and backward pass, of an undivided model.
struct StepFlops {
  double model = 0;     // of its products: thrice those of the forward pass, for MFU
  double hardware = 0;  // with what is computed again, for HFU
  // The form 6 N + 12 L h s of a token, N with embeddings; 0: samples have no tokens.
  double six_n = 0;
};
StepFlops FlopsOf(std::span<const OperationCost> operations, RecomputeRule rule, int64_t elements,
                  int64_t tokens);

}  // namespace legacy
