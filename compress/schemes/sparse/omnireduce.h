// OmniReduce sends the blocks of a gradient that are not zero to aggregators, which stream the sum
// of the blocks that any worker has to all (Fei, Ho, Sahu, Canini, Sapio: Efficient Sparse
// Collective Communication and its Application to Accelerate Distributed Deep Learning, SIGCOMM
// 2021, sections 3 and 5). A unit of n elements has B = ceil(n / b) blocks of b, of which the last
// may be shorter.
//
//   density 1   all blocks that have a value other than zero: the mean is that of dense gradients
//   less        of these, the ceil(density B) with the largest Euclidean norms, of equal ones the
//               first; the others stay in the residual
//
// The first block always travels, as aggregators learn from it that a worker takes part. The mean
// is the sum of what was sent, in the order of the workers, divided by their number.
//
// Message: an extended header whose parameter is 1 and whose count is that of blocks; then, for
// each block, the number of the next one (u32; 2^32 - 1: none) and its fp32 values. The sum that
// comes back has the same form, with all blocks that any worker has sent.
//
// It reads the values once, and again those that it sends. It is deterministic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compress/codecs/blocks_codec.h"
#include "compress/exchange.h"
#include "compress/schemes/exchange_base.h"

namespace legacy {

struct OmniReduceOptions {
  int64_t block = 256;  // elements
  int64_t slots = 256;  // blocks that an aggregator sums at once
  bool error_feedback = true;
  double residual_decay = 1;

  MemoryOptions Memory() const {
    return {.kind = error_feedback ? MemoryKind::kResidual : MemoryKind::kNone,
            .decay = static_cast<float>(residual_decay)};
  }
};

// Returns the blocks that are sent of `values`, ascending.
std::vector<uint32_t> OmniBlocks(std::span<const float> values, const BlockLayout& layout);

// Returns the header of a message with so many blocks.
ExtendedHeader OmniHeader(const Unit& unit, int64_t blocks);

// Describes the call of a step.
class OmniReduceStep {
 public:
  // `feeds`: there are residuals.
  OmniReduceStep(const OmniReduceOptions& options, const BlockLayout& layout, int active,
                 bool feeds)
      : options_(options), layout_(layout), active_(active), feeds_(feeds) {}

  // Returns the call in which workers send `sent` values, as their mean, and get the blocks of
  // `sum` values, whose message has `sum_bytes`.
  CollectiveCall Call(int64_t sent, int64_t sum, int64_t sum_bytes) const;
  // Returns the call to expect, in which blocks are not zero and workers' choices independent: of a
  // density d, N workers have a part 1 - (1 - d)^N.
  PlannedCall Expected() const;

 private:
  const OmniReduceOptions& options_;
  BlockLayout layout_;
  int active_;
  bool feeds_;
};

class OmniReduceExchange : public ExchangeBase {
 public:
  OmniReduceExchange(const OmniReduceOptions& options, const Unit& unit, int workers);

  void Begin(const UnitStep& context) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void Complete(CollectiveCall& call) const override;
  void FinishCall() override { open_ = false; }
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override;

  Bytes Save() const override;
  void Load(ByteSpan state) override;
  void SaveShared(StateWriter& out) const override;
  void LoadShared(StateReader& in) override;

 private:
  bool Feeds() const { return memory().Keeps() && (feeds_ || !layout_.All()); }
  OmniReduceStep Step() const { return {options_, layout_, ActiveWorkers(), Feeds()}; }
  int64_t MeanSent() const { return (sent_ + ActiveWorkers() / 2) / ActiveWorkers(); }
  std::vector<uint32_t> CheckedBlocks(ByteSpan message) const;

  OmniReduceOptions options_;
  // State that all workers share: true once a step has left blocks in residuals. Before, gradients
  // are sent as they are.
  bool feeds_ = false;

  // State of the step.
  BlockLayout layout_;
  bool open_ = false;
  std::vector<float> sum_;
  std::vector<uint8_t> present_;  // 1 for blocks of the sum
  int64_t sent_ = 0;              // values of all workers
};

class OmniReduceScheme : public Scheme {
 public:
  explicit OmniReduceScheme(const OmniReduceOptions& options) : options_(options) {}
  std::string_view Name() const override { return "omnireduce"; }
  const OmniReduceOptions& options() const { return options_; }
  const ParameterSpec& Parameter() const override;
  SchemeTraits Traits() const override { return {.residual_decay = options_.residual_decay}; }
  int64_t ElementsSent(const Unit& unit, double density) const override {
    return std::min(unit.numel, LayoutOf(unit.numel, density).Values());
  }
  std::optional<int64_t> MessageBytes(const Unit&, double) const override { return std::nullopt; }
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double density,
                                                        int active_workers,
                                                        const LinkEstimate&) const override;
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> densities,
                                    const RandomKey& random) const override;
  WorkList ErrorWork(const Unit& unit, std::span<const double> densities) const override {
    return {{.kernel = "blocks.norm", .elements = 2 * unit.numel * std::ssize(densities)}};
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    CheckExchange(unit, workers);
    return std::make_unique<OmniReduceExchange>(options_, unit, workers);
  }
  // Throws Error if it is no density.
  BlockLayout LayoutOf(int64_t numel, double density) const;

 private:
  OmniReduceOptions options_;
};

}  // namespace legacy
