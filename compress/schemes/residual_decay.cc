#include "compress/schemes/residual_decay.h"

#include "base/error.h"
#include "base/number.h"

namespace legacy {

const OptionSpec& ResidualDecayOption() {
  static const OptionSpec option = {"decay", "1", "0 to 1",
                                    "factor on the residual before the next gradient is added"};
  return option;
}

void CheckResidualDecay(const Scheme& scheme, double decay) {
  if (scheme.Traits().residual_decay == decay) return;
  throw Error("option decay of " + std::string(scheme.Name()), FormatNumber(decay),
              "1, as it keeps no residual of this kind");
}

}  // namespace legacy
