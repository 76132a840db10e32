// Any scheme after a start at which everything is sent: `dense_start=1000` sends all units whole,
// by all-reduce, in the steps below 1,000, and is the scheme from there on. So begin PowerSGD and
// L-GreCo in their authors' recipes. What the policy picks before that has no effect, and nothing
// enters the residual.
#pragma once

#include <memory>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

const OptionSpec& DenseStartOption();

// Throws Error for schemes that apply momentum before they compress: what they send at first is no
// gradient.
std::unique_ptr<Scheme> WithDenseStart(std::unique_ptr<Scheme> scheme, int64_t steps);

}  // namespace legacy
