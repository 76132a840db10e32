// Compression of the mean, by the option `where` of every codec. C is the codec, w a worker, N
// their number, g_w its gradient, r_w its residual and r that of the mean:
//
//   after-mean   u = C(mean g_w + r)              r' = what C leaves
//   server       the same, at a parameter server
//   both         u = C(mean C(g_w + r_w) + r)     r_w', r' = what each C leaves
//
// The optimizer gets u. With `after-mean`, as in LEGACY's programs for ImageNet and Transformer-XL,
// a dense all-reduce forms the mean (there DistributedDataParallel), and every worker compresses it
// alike: all workers draw as worker 0 does, and keep the same residual, so it exists once. Every
// value is sent, whatever the density: the bytes of a step are those of `dense`, and its time is at
// least that. `again` adds the second collective call of those programs, which changes no result:
// `gather` sends every worker's message to all (ImageNet), `dense` sums u again (Transformer-XL).
// Without `again`, a policy may choose among candidates: e = mean g_w + r is measured after the
// call (Exchange::Measure), alike at all workers, which therefore agree without a message.
//
// With `server` and `both` a parameter server compresses, and its answer to each worker is the
// message of u. It draws as a worker N would. Workers send all values to it, or with `both` their
// messages. The work of the server delays its answers (CollectiveCall::serve). Several servers have
// slices (schemes/served_slices.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

// A Where says what is compressed: each worker's gradient, or their mean.
enum class Where : uint8_t { kWorker, kAfterMean, kServer, kBoth };

// Their names in options.
inline constexpr std::array<std::string_view, 4> kPlaces = {"worker", "after-mean", "server",
                                                            "both"};

// An Again says which collective call follows where=after-mean.
enum class Again : uint8_t { kOff, kGather, kDense };

// Returns a scheme that compresses the mean with `scheme`, whose exchanges have one collective call
// of a known length; `where` is not kWorker. Throws Error for others, for schemes with momentum and
// for those whose sums are rounded on the way.
std::unique_ptr<Scheme> CompressedMean(std::unique_ptr<Scheme> scheme, Where where, Again again);

}  // namespace legacy
