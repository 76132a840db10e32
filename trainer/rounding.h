// Rounding of weights and gradients to the 16-bit formats of mixed precision. Values stay floats,
// which hold what the format can represent.
#pragma once

#include <span>

#include "trainer/clock/precision.h"

namespace legacy {

// Rounds finite values to nearest even. Values beyond the format's largest become the largest. In
// fp32 and TF32 nothing changes.
void RoundTo(Precision precision, std::span<float> values);

// Rounds a gradient in the same way. Returns false, and leaves all values, if one is not finite or,
// in fp16, would become infinite.
bool RoundGradient(Precision precision, std::span<float> values);

}  // namespace legacy
