// The memory that a training takes, estimated before it is made.
#pragma once

#include <span>
#include <string>

#include "compress/exchange.h"
#include "trainer/clock/operation_cost.h"
#include "trainer/training_options.h"

namespace legacy {

// TrainingMemory is the estimate, in bytes. It leaves out data, and what LibTorch takes itself.
struct TrainingMemory {
  double residuals = 0;    // what each worker keeps between steps: residuals, momentum
  double models = 0;       // weights, their mean gradient, the optimizer's state
  double messages = 0;     // of all workers, while they are added up
  double gradients = 0;    // of the workers that compute at the same time
  double activations = 0;  // of the same workers, or of an evaluation

  double Total() const { return residuals + models + messages + gradients + activations; }
  // Returns "6.1 GiB: residuals of 100 workers 4.2 GiB, models ...".
  std::string Text(int workers) const;
};

// Returns the bytes that a worker keeps of these units between steps by a scheme whose policy has
// that parameter: residuals, momentum. They are measured on small units.
double BytesKept(std::span<const Unit> units, const Scheme& scheme, double parameter);
// Returns the floats of the optimizer's state for an element.
double OptimizerFloats(const TrainingOptions& options);

// Estimates a training on the host whose policy has that parameter.
TrainingMemory EstimateMemory(const TrainingOptions& options, std::span<const Unit> units,
                              std::span<const OperationCost> costs, const Scheme& scheme,
                              double parameter);

}  // namespace legacy
