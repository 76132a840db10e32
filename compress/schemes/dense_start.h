// A dense start sends everything before a scheme begins: `dense_start=1000` sends all units whole,
// by all-reduce, in the steps below 1,000, and uses the scheme from then on. The authors of
// PowerSGD and L-GreCo start in this way. During the start the policy's choices have no effect, and
// residuals stay zero.
#pragma once

#include <memory>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

// Returns the option "dense_start".
const OptionSpec& DenseStartOption();

// Returns the scheme after a dense start. Throws Error for schemes that apply momentum before they
// compress, because a dense start would mix momentum with gradients.
std::unique_ptr<Scheme> WithDenseStart(std::unique_ptr<Scheme> scheme, int64_t steps);

}  // namespace legacy
