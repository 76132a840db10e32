// The sum that a ring all-reduce forms in the messages' own 16-bit format, as NCCL's does in fp16
// and bf16: every partial sum is rounded to that format before it travels to the next worker.
#pragma once

#include <span>

#include "compress/quantiser.h"

namespace legacy {

// Writes the sum of the workers' `segments`, one of sum.size() checked values each, in the order of
// the ring. The values are cut into as many slices as there are workers, whose lengths differ by at
// most one: slice s begins at floor(s n / N). Worker s owns slice s. Its right neighbour sends its
// own values of the slice first; each worker adds its own to what it receives and rounds the sum,
// and the owner comes last. Sums are formed in fp32 and rounded as `quantiser` does.
void RingSum(const PartwiseQuantiser& quantiser, std::span<const ByteSpan> segments,
             std::span<float> sum);

}  // namespace legacy
