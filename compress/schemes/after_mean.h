// Compression after averaging: `where=after-mean` all-reduces gradients densely, and compresses
// their mean at every worker alike, as LEGACY's programs for ImageNet and Transformer-XL do, which
// compress what DistributedDataParallel has averaged.
//
//   gbar = mean of g (dense all-reduce);  e = gbar + r;  u = decode(encode(e));  r' = e - u
//
// All workers have gbar, draw as worker 0 does, and keep the same residual, so it exists once. The
// optimizer gets u. Every value is sent, whatever the density: the bytes of a step are those of
// `dense`, and its time is at least that. `again` adds the second collective call of those
// programs, which changes no result: `gather` sends every worker's message to all (ImageNet),
// `dense` sums u again (Transformer-XL).
#pragma once

#include <memory>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

// An Again says which collective call follows the compression of the mean.
enum class Again : uint8_t { kOff, kGather, kDense };

// Returns a scheme that compresses the mean with `scheme`, whose exchanges have one collective call
// of a known length. Throws Error for others, for schemes with momentum and for those whose sums
// are rounded on the way.
std::unique_ptr<Scheme> AfterMean(std::unique_ptr<Scheme> scheme, Again again);

}  // namespace legacy
