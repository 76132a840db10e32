#include "compress/schemes/hops/ring_sum.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "compress/cpu/vector.h"

namespace legacy {

void RingSum(const PartwiseQuantiser& quantiser, std::span<const ByteSpan> segments,
             std::span<float> sum) {
  const auto workers = std::ssize(segments);
  const auto numel = std::ssize(sum);
  assert(workers > 0);
  std::array<float, PartwiseQuantiser::kPart> buffer;
  Bytes rounded;
  for (int64_t owner = 0; owner < workers; ++owner) {
    const int64_t end = numel * (owner + 1) / workers;
    // Parts stay in the cache while they go round the ring.
    for (int64_t begin = numel * owner / workers; begin < end;) {
      const int64_t count = std::min(PartwiseQuantiser::kPart, end - begin);
      const auto partial = sum.subspan(begin, count);
      const auto own = std::span(buffer).first(count);
      quantiser.DecodePart(segments[(owner + 1) % workers], numel, 0, begin, partial);
      for (int64_t hop = 2; hop <= workers; ++hop) {
        quantiser.DecodePart(segments[(owner + hop) % workers], numel, 0, begin, own);
        cpu::Add(own, partial);
        rounded.clear();
        quantiser.Encode(partial, 0, {}, rounded);
        quantiser.DecodePart(rounded, count, 0, 0, partial);
      }
      begin += count;
    }
  }
}

}  // namespace legacy
