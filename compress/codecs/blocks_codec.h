// The codec `blocks` sends the blocks of a gradient with the largest norms whole (Fei, Ho, Sahu,
// Canini, Sapio: Efficient Sparse Collective Communication and its Application to Accelerate
// Distributed Deep Learning (OmniReduce), SIGCOMM 2021, section 5). A unit of n elements has B =
// ceil(n / b) blocks of b, of which the last may be shorter; the ceil(density B) blocks with the
// largest Euclidean norms are sent, of equal norms the first ones.
//
// Message: an extended header whose parameter is 0 and whose count is that of blocks, their
// positions among all, and their fp32 values. The last block is filled with zeros to b values (or
// to n, if that is less), so that the length is known beforehand. If all blocks are sent, there are
// n values and no positions.
//
// It reads the values once, and again those that it sends. It is deterministic.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compress/codec.h"

namespace legacy {

// Returns ceil(density * blocks), at least 1 and at most `blocks`; 0 if there are none. The product
// is lowered by its rounding error, so that 1 % of 700 is 7.
int64_t KeptBlocks(int64_t blocks, double density);

inline constexpr int64_t kLargestBlock = 1 << 20;  // elements
// Bytes of the number of the next block, before a block of schemes/sparse/omnireduce.h.
inline constexpr int64_t kBlockOffsetBytes = sizeof(uint32_t);

// The blocks of a vector of `numel` elements, of which `kept` are sent.
struct BlockLayout {
  int64_t numel = 0;
  int64_t block = 1;  // elements, at most `numel`
  int64_t blocks = 0;
  int64_t kept = 0;

  bool All() const { return kept == blocks; }
  int64_t Values() const { return All() ? numel : kept * block; }
  int64_t Begin(uint32_t position) const { return position * block; }
  int64_t Size(uint32_t position) const { return std::min(block, numel - Begin(position)); }
};

// Returns the layout of `numel` elements in blocks of `block`, at that density.
BlockLayout LayoutBlocks(int64_t numel, int64_t block, double density);
// Returns the squared norm of each block.
std::vector<double> BlockSquares(std::span<const float> values, const BlockLayout& layout);

class BlocksCodec : public Codec {
 public:
  explicit BlocksCodec(int64_t block) : block_(block) {}
  std::string_view Name() const override { return "blocks"; }
  const ParameterSpec& Parameter() const override;
  bool Linear(int64_t, double) const override { return false; }
  bool AllowsErrorFeedback(double) const override { return true; }
  int64_t ElementsSent(int64_t numel, double density) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double density) const override;
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  WorkList DecodeWork(int64_t numel, double density) const override;
  WorkList FeedbackWork(int64_t numel, double density, Feeding feeding) const override;
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                             const CodecContext& context,
                             std::vector<uint32_t>* sent = nullptr) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
  std::vector<double> SquaredErrors(std::span<const float> values,
                                    std::span<const double> densities,
                                    const CodecContext& context) const override;
  WorkList ErrorWork(int64_t numel, std::span<const double> densities) const override;

 private:
  BlockLayout LayoutOf(int64_t numel, double density) const {
    return LayoutBlocks(numel, block_, density);
  }
  int64_t Payload(const BlockLayout& layout) const;  // bytes
  ExtendedHeader HeaderOf(const BlockLayout& layout, uint32_t unit) const;
  std::vector<uint32_t> Select(std::span<const float> values, const BlockLayout& layout,
                               uint32_t unit) const;
  Message Pack(std::span<const float> values, std::span<const uint32_t> positions,
               const BlockLayout& layout, uint32_t unit) const;

  int64_t block_;
};

}  // namespace legacy
