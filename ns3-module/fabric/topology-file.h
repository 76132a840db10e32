// Topology files: the parameters of a named topology as YAML.
//
//   type: leaf-spine        # as on the command line
//   leaves: 4               # a parameter of the type
//   rate: 1Gbps             # of all links: rate, delay, queue
//   spine: {delay: 5us}     # of one tier; on the command line "spine.delay=5us"
#pragma once

#include "settings.h"

#include <string>

namespace legacy::fabric
{

/// Reads and flattens it: nested keys are joined by '.'. Throws Error with file, line and column on
/// anything malformed; what the keys mean is checked by who reads them.
Settings LoadTopologyFile(const std::string& path);

} // namespace legacy::fabric
