// Requantised sums are quantised twice: every worker sends each slice to its owner, which quantises
// the slice's mean again and sends it to all. Slices are as equal as the quantiser's buckets allow.
#pragma once

#include <span>

#include "compress/quantiser.h"

namespace legacy {

// Replaces `mean` by the values that all workers decode: slice i is quantised by the i-th of
// `owners`, encoded to a message (CodecId::kSlice) and decoded from its bytes. Slices are cut at
// multiples of `bucket` values. Draws are those of sender `workers` + i, a number that no worker
// has.
void Requantise(const Quantiser& quantiser, int64_t bucket, int owners, int workers,
                const CodecContext& context, std::span<float> mean);

// Returns the work of one worker: decoding its slice of every message, encoding the slice's mean,
// and decoding all slices of the mean.
WorkList RequantiseWork(const Codec& codec, int64_t numel, double parameter, int owners);

}  // namespace legacy
