// Which nodes of a map become nodes of a topology, and by what names. Internal to fabric/.
#pragma once

#include "network-map.h"

#include <string>
#include <vector>

namespace legacy::fabric
{

/// Gives every node a name of its own. A number after a name is increased where another node has
/// that name already.
std::vector<std::string> NameMapNodes(const NetworkMap& map, ImportReport& report);

/// Returns 1 for each node of the largest component (of two equally large ones, that of the earlier
/// node), and 0 for the others. Throws Error, with file and line, where there are others and
/// `refuse` is true.
std::vector<char> KeepLargestComponent(const NetworkMap& map,
                                       const std::vector<std::string>& names,
                                       bool refuse,
                                       ImportReport& report);

} // namespace legacy::fabric
