// Sums by hops: an all-reduce whose partial sums are decoded, added to in fp32 and encoded again by
// every worker on the way, as collectives in MX or FP8 formats are ("OCP Microscaling Formats",
// version 1.0; DynamiQ, SIGCOMM 2026).
//
//   pieces     whole blocks of the coder, in ranges whose lengths differ by one block at most; the
//              first ranges are the longer ones
//   ring       N pieces. Worker p sends its own piece p; workers p + 1, p + 2, ... add their own
//              values to what they receive and send the sum. The last of them, worker p - 1,
//              encodes it once more, and these bytes travel to all workers.
//   butterfly  P pieces, the largest power of two that is not above N. Workers P .. N - 1 give
//   their
//              values to worker w - P. The others exchange halves of their range at distances P / 2
//              .. 1, of which the worker with the lower number keeps the lower half, until each has
//              one piece of the sum. It encodes that, and these bytes travel back to all.
//
// All workers decode the same bytes, so they have the same sums. Where each worker owns a piece
// (owners/owned_hops.h), the sum of piece p ends with worker p, who keeps it as it is: a ring then
// begins with worker p + 1.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

// Values begin .. end - 1 of a unit.
struct HopRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

// Encodes pieces of sums to payloads without headers, and decodes them.
class HopCoder {
 public:
  virtual ~HopCoder() = default;
  // Returns the number of values that pieces are multiples of.
  virtual int64_t Block() const = 0;
  // Returns the bytes of the values of a range that begins at a block.
  virtual int64_t PayloadBytes(HopRange range) const = 0;
  // Writes what others decode of the worker's own values, as its message has them.
  virtual void Own(int worker, HopRange range, std::span<float> values) const = 0;
  // Returns the payload of a piece of a sum that `worker` sends. Throws Error if a sum is not
  // finite.
  virtual Bytes Encode(int worker, int piece, HopRange range,
                       std::span<const float> sums) const = 0;
  // Decodes it. Throws Error for bytes that Encode does not write.
  virtual void Decode(ByteSpan payload, HopRange range, std::span<float> sums) const = 0;
};

// Returns the number of pieces among that many workers.
int HopPieces(HopOrder order, int workers);
// Returns the ranges of the pieces of `numel` values; the last ones may be empty.
std::vector<HopRange> HopRanges(int64_t numel, int64_t block, int pieces);
// Returns the range of the first message of a worker, which has only its own values in it; empty if
// its first message already has another worker's.
HopRange FirstHop(HopOrder order, int worker, int workers, std::span<const HopRange> pieces);

// Returns the payloads of the pieces of the sum, by the workers that have all of it: worker p - 1
// of a ring has piece p, and worker p of a butterfly. `own` are the values of each worker.
std::vector<Bytes> ReduceByHops(HopOrder order, const HopCoder& coder,
                                std::span<const std::span<const float>> own,
                                std::span<const HopRange> pieces);
// Returns the sum of all values of the coder that the worker `owner` forms, after whom nobody
// encodes it. In a butterfly, workers are a power of two.
std::vector<float> SumOfOwner(HopOrder order, const HopCoder& coder,
                              std::span<const std::span<const float>> own, int owner);
// Returns true if a worker sends its own values alone, before it has others', of a piece of that
// owner.
bool SendsOwnFirst(HopOrder order, int worker, int owner, int workers);
// Writes the sum that all workers decode of these payloads.
void GatherPieces(const HopCoder& coder, std::span<const HopRange> pieces,
                  std::span<const Bytes> payloads, std::span<float> sum);

// Returns what travels of these pieces: messages of up to `slice` bytes of payload, or of one
// block, and headers of `header` bytes. `work` is that of Hops.
Hops HopsOf(HopOrder order, const HopCoder& coder, std::span<const HopRange> pieces, int workers,
            int64_t slice, int64_t header, WorkList work);

// Return the option "slice", and read it.
const OptionSpec& SliceOption();
int64_t ReadSlice(const OptionReader& options);

}  // namespace legacy
