// Update work is the device work of a step on whole gradients and weights, besides the passes of
// the model and compression: clipping, the optimizer, and what local steps need. The clock charges
// it (clock/step_work.h).
#pragma once

#include <cstdint>
#include <optional>

#include "compress/exchange.h"
#include "trainer/clock/step_work.h"

namespace legacy {

struct TrainingOptions;

// Returns the norm to which each worker clips its gradient: the lower one of the scheme's and the
// options'; nothing where it does not.
std::optional<double> WorkerClip(const Scheme& scheme, const TrainingOptions& options);

// Kernels that an update in 16 bits has besides the optimizer's: one pass over the mean gradient
// divides it by the loss scale and finds overflows, and one over the weights rounds them.
inline constexpr const char* kUnscaleKernel = "copy";
inline constexpr const char* kRoundKernel = "cast.encode";

// An UpdateJob says what a step does.
struct UpdateJob {
  const Scheme& scheme;
  const TrainingOptions& options;
  int64_t step = 0;
  bool exchanges = true;  // false: a local step without an exchange
  int64_t elements = 0;   // of the model
};

// Writes whole_gradient and update of the step.
//
// With data parallelism a step clips, where there is a limit; what updates the weights is known to
// the clock. With local steps every step clips and makes the worker's own update. A step with an
// exchange also computes the difference to the weights agreed on, before anything is encoded; and
// afterwards clips the mean, where there is a limit, makes the outer update, and copies the weights
// agreed on to the worker's. As in data parallelism, what follows an exchange is charged at the
// beginning of its own step.
void WriteUpdateWork(const UpdateJob& job, StepWork& work);

// Charges the casts of gradients that the backward pass has left in 16 bits. Schemes that send
// every value read them in place of fp32: those that send fp32 cast them, and the others copy 2
// bytes an element. All other schemes work on fp32, so that a cast precedes them. With local steps
// what is exchanged is fp32 anyway. `buckets` are those of Aggregation::Buckets().
void ChargeCasts(const Scheme& scheme, const TrainingOptions& options,
                 std::span<BucketWork> buckets);

}  // namespace legacy
