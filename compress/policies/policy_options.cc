#include "compress/policies/policy_options.h"

namespace legacy {

int64_t EndsOfPeriods(int64_t total_steps, int64_t first, int64_t period) {
  return total_steps <= first ? 0 : (total_steps - 1 - first) / period + 1;
}

double NumberOrAuto(const OptionReader& options, std::string_view name, double automatic,
                    double minimum, double maximum) {
  return options.Text(name) == "auto" ? automatic : options.Number(name, minimum, maximum);
}

}  // namespace legacy
