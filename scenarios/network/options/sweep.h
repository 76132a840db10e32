// Sweeps are grids of option values.
#pragma once

#include <string>
#include <vector>

#include "scenarios/network/options/experiment_options.h"

namespace legacy {

// A Sweep varies one option.
struct Sweep {
  std::string name;                 // name of an option
  std::vector<std::string> values;  // one value at least
};

// Reads "bytes=1KB..1GB:x4" (from, to, times), "workers=4..64:+4" (plus), or a list:
// "bandwidth=1Gbps,10Gbps"; where values hold commas,
// "pattern=incast:4;poisson:load=0.5,cdf=websearch". Throws Error.
Sweep ParseSweep(const std::string& text);

// Returns every combination of values over `base`; the last sweep varies fastest. Throws Error
// where one option is swept twice.
std::vector<ExperimentOptions> Grid(const ExperimentOptions& base,
                                    const std::vector<Sweep>& sweeps);

}  // namespace legacy
