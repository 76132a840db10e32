#include "compress/exchange.h"

#include "base/error.h"

namespace legacy {

Probe Exchange::Measure(int, std::span<const float>) {
  throw Error("scheme: it has no levels for a policy to choose from within a step");
}

void Exchange::Choose(size_t) {
  throw Error("scheme: it has no levels for a policy to choose from within a step");
}

}  // namespace legacy
