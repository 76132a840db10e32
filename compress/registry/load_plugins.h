// Loads plugins (plugin.h).
#pragma once

#include <string>
#include <vector>

namespace legacy {

// The environment's variable that hands plugins on to child processes: absolute paths, ':' between.
inline constexpr const char* kPluginVariable = "LEGACY_PLUGINS";

// Loads the plugins that kPluginVariable names and those of "--plugin=FILE" and "--plugin FILE"
// among the arguments, each once, and sets the variable to all of them. Throws Error naming the
// file where it cannot be loaded, is no plugin, was compiled for another interface, or adds what
// the tables do not take (registry.h).
void LoadPlugins(int argc, const char* const* argv);

// Absolute paths of the plugins that are loaded, in that order.
const std::vector<std::string>& LoadedPlugins();

}  // namespace legacy
