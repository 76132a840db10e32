// Times by formula, as FedScale computes them.
#pragma once

#include "engine.h"

#include <cstdint>
#include <memory>

namespace legacy::fabric
{

/// Makes the engine in which a transfer takes bits / bandwidth of its client (formula.cc).
std::unique_ptr<Engine> MakeFormulaEngine(const EngineRequest& request);

/// Returns the time of `steps` local steps: 3 batch steps (ms a sample).
TimeNs FormulaWork(int64_t batch, int64_t steps, double millisecondsPerSample);

} // namespace legacy::fabric
