// Sums by hops (hop_sum.h) of quantisers that work in buckets: mx, qsgd, maxmin. A message of a hop
// is a header (CodecId::kSlice) and one segment of the quantiser for each piece.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/quantiser.h"
#include "compress/schemes/hops/hop_sum.h"

namespace legacy {

// Codes pieces by a quantiser. Each worker encodes each piece once, with draws of its own.
class QuantiserHops : public HopCoder {
 public:
  // `messages` are the checked messages of all workers; empty ones have only zeros.
  QuantiserHops(const Quantiser& quantiser, const CodecContext& context, int64_t numel,
                std::span<const ByteSpan> messages)
      : quantiser_(quantiser), context_(context), numel_(numel), messages_(messages) {}

  int64_t Block() const override { return quantiser_.Bucket(); }
  int64_t PayloadBytes(HopRange range) const override {
    return *quantiser_.SegmentBytes(range.size(), context_.parameter);
  }
  void Own(int worker, HopRange range, std::span<float> values) const override;
  Bytes Encode(int worker, int piece, HopRange range, std::span<const float> sums) const override;
  void Decode(ByteSpan payload, HopRange range, std::span<float> sums) const override;

 private:
  const Quantiser& quantiser_;
  const CodecContext context_;
  int64_t numel_;
  std::span<const ByteSpan> messages_;
};

// Returns the pieces of a unit of a quantiser's codec.
std::vector<HopRange> QuantisedPieces(const Codec& codec, int64_t numel, HopOrder order,
                                      int workers);
// Returns what travels of these.
Hops QuantisedHops(const Codec& codec, std::span<const HopRange> pieces, double parameter,
                   HopOrder order, int workers, int64_t slice);
// Returns the number of values that a worker sends first, of which the largest counts.
int64_t FirstHopSize(HopOrder order, int workers, std::span<const HopRange> pieces);
// Returns the work of decoding so many pieces of `numel` values together.
WorkList GatheredWork(const Codec& codec, int64_t numel, double parameter, int pieces);

}  // namespace legacy
