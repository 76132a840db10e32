#include "compress/policy.h"

#include "base/error.h"

namespace legacy {

void Policy::Load(ByteSpan state) {
  if (!state.empty()) throw Error("policy " + std::string(Name()) + ": it has no state to load");
}

}  // namespace legacy
