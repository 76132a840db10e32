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

}  // namespace legacy
