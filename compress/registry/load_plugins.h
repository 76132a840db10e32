// Loads plugins (plugin.h).
#pragma once

#include <string>
#include <vector>

namespace legacy {

// Environment variable that passes plugins to child processes: absolute paths separated by ':'.
inline constexpr const char* kPluginVariable = "LEGACY_PLUGINS";

// Loads the plugins that kPluginVariable names and those of "--plugin=FILE" and "--plugin FILE"
// among the arguments, each once, and sets the variable to all of them. Throws Error naming the
// file if it cannot be loaded, is not a plugin, was compiled for another interface, or adds rows
// that the tables do not take (registry.h).
void LoadPlugins(int argc, const char* const* argv);

// Returns the absolute paths of the loaded plugins, in the order of loading.
const std::vector<std::string>& LoadedPlugins();

}  // namespace legacy
