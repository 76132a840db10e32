// A dense start sends everything before a scheme begins: `dense_start=1000` sends all units whole,
// by all-reduce, in the steps below 1,000, and is the scheme from there on. PowerSGD and L-GreCo
// begin so in their authors' recipes. What the policy picks before that has no effect, and nothing
// enters the residual.
#pragma once

#include <memory>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

// Returns the option "dense_start".
const OptionSpec& DenseStartOption();

// Returns the scheme behind a dense start. Throws Error for schemes that apply momentum before they
// compress, as what they send at first is no gradient.
std::unique_ptr<Scheme> WithDenseStart(std::unique_ptr<Scheme> scheme, int64_t steps);

}  // namespace legacy
