#include "compress/schemes/sparse/omnireduce.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "compress/density.h"

namespace legacy {
namespace {

constexpr int64_t kMostSlots = 1 << 20;

}  // namespace

const ParameterSpec& OmniReduceScheme::Parameter() const {
  static const ParameterSpec spec = [] {
    ParameterSpec density = DensityParameter();
    density.help = "fraction of the blocks that is sent; 1: all that are not zero";
    return density;
  }();
  return spec;
}

BlockLayout OmniReduceScheme::LayoutOf(int64_t numel, double density) const {
  CheckParameter(Parameter(), density);
  return LayoutBlocks(numel, options_.block, density);
}

std::optional<std::vector<PlannedCall>> OmniReduceScheme::ExpectedCalls(const Unit& unit,
                                                                        double density,
                                                                        int active_workers,
                                                                        const LinkEstimate&) const {
  const BlockLayout layout = LayoutOf(unit.numel, density);
  const bool feeds = options_.error_feedback && !layout.All();
  return std::vector{OmniReduceStep(options_, layout, active_workers, feeds).Expected()};
}

std::vector<double> OmniReduceScheme::SquaredErrors(const Unit&, std::span<const float> values,
                                                    std::span<const double> densities,
                                                    const RandomKey&) const {
  std::vector<double> errors;
  for (const double density : densities) {
    const BlockLayout layout = LayoutOf(std::ssize(values), density);
    std::vector<double> squares = BlockSquares(values, layout);
    for (const uint32_t position : OmniBlocks(values, layout)) squares[position] = 0;
    errors.push_back(0);
    for (const double square : squares) errors.back() += square;
  }
  return errors;
}

CollectiveCall OmniReduceStep::Call(int64_t sent, int64_t sum, int64_t sum_bytes) const {
  CollectiveCall call;
  call.reduction = Reduction::kSum;
  call.collective = Collective::kBlockSparse;
  if (feeds_ && options_.Memory().Decays()) AddWork(Work{"copy", layout_.numel}, call.encode);
  if (feeds_) AddWork(Work{"accumulate", layout_.numel}, call.encode);
  AddWork({{"blocks.norm", layout_.numel}, {"blocks.select", layout_.blocks}}, call.encode);
  AddWork(Work{"copy", sent}, call.encode);
  if (feeds_) AddWork(Moved(int64_t{sizeof(float)} * sent), call.encode);  // cleared
  // Each worker adds up a shard of all messages, as an aggregator; then it writes the mean, which
  // is zero where no worker has a block.
  call.decode = {{.kernel = "accumulate", .elements = sent, .launches = active_}, {"copy", sum}};
  AddWork(Moved(int64_t{sizeof(float)} * (layout_.numel - sum)), call.decode);
  call.pull = sum_bytes;
  // Those of all units, which share slots.
  call.blocks = BlockStream{.bytes = kBlockOffsetBytes + int64_t{sizeof(float)} * options_.block,
                            .slots = options_.slots};
  return call;
}

PlannedCall OmniReduceStep::Expected() const {
  const auto all = static_cast<double>(layout_.blocks);
  const double none = layout_.blocks > 0
                          ? std::pow(1 - static_cast<double>(layout_.kept) / all, active_)
                          : 0.0;  // blocks that no worker has
  const auto joined = static_cast<int64_t>(std::llround(all * (1 - none)));
  const int64_t sent = std::min(layout_.numel, layout_.Values());
  const int64_t sum = std::min(layout_.numel, joined * layout_.block);
  const auto bytes = [](int64_t blocks, int64_t values) {
    return kExtendedHeaderBytes + kBlockOffsetBytes * blocks + int64_t{sizeof(float)} * values;
  };
  return {.call = Call(sent, sum, bytes(joined, sum)), .bytes = bytes(layout_.kept, sent)};
}

SchemeRow OmniReduceRow() {
  static const std::vector<OptionSpec> options = {
      {"block", "256", "1 to 1048576", "number of consecutive elements that are sent together"},
      {"slots", "256", "1 to 1048576",
       "number of blocks that an aggregator sums at once: a worker sends a block when the sum of "
       "the one before it in its slot has arrived"}};
  return {{.name = "omnireduce",
           .help = "sends blocks that are not zero to aggregators, which stream their sums; below "
                   "density 1, those with the largest norms",
           .paper = "Fei et al., Efficient Sparse Collective Communication and its Application to "
                    "Accelerate Distributed Deep Learning (OmniReduce), SIGCOMM 2021",
           .options = options},
          "block-sparse sum",
          [](const OptionReader& own, std::span<const Stage> rest,
             const SchemeOptions& scheme) -> std::unique_ptr<Scheme> {
            if (!rest.empty()) throw Error("scheme omnireduce: it takes no second stage");
            return std::make_unique<OmniReduceScheme>(
                OmniReduceOptions{.block = own.Integer("block", 1, kLargestBlock),
                                  .slots = own.Integer("slots", 1, kMostSlots),
                                  .error_feedback = scheme.error_feedback,
                                  .residual_decay = scheme.residual_decay});
          }};
}

}  // namespace legacy
