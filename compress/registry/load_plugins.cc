#include "compress/registry/load_plugins.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/files/plain_file.h"
#include "compress/registry/plugin.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOption = "--plugin";

std::vector<std::string>& Loaded() {
  static std::vector<std::string> files;
  return files;
}

std::vector<std::string> FilesOfEnvironment() {
  std::vector<std::string> files;
  const char* variable = std::getenv(kPluginVariable);
  std::istringstream list(variable == nullptr ? "" : variable);
  for (std::string file; std::getline(list, file, ':');) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

std::vector<std::string> FilesOfArguments(int argc, const char* const* argv) {
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") break;
    if (argument == kOption && i + 1 < argc) files.emplace_back(argv[++i]);
    if (argument.starts_with(kOption) && argument.substr(kOption.size()).starts_with('=')) {
      files.emplace_back(argument.substr(kOption.size() + 1));
    }
  }
  return files;
}

template <typename Function>
Function* Symbol(void* plugin, const char* name, const std::string& file) {
  void* symbol = dlsym(plugin, name);
  if (symbol == nullptr) {
    throw Error(std::string(kOption), file, "a plugin: LEGACY_PLUGIN(tables) {...} makes one");
  }
  return reinterpret_cast<Function*>(symbol);
}

void CheckInterface(void* plugin, const std::string& file) {
  auto* interface = Symbol<const char*()>(plugin, LEGACY_PLUGIN_INTERFACE_SYMBOL, file);
  if (std::string_view(interface()) == LEGACY_PLUGIN_INTERFACE) return;
  throw Error("plugin " + file + ": interface", interface(),
              std::string(LEGACY_PLUGIN_INTERFACE) + "; ./waf plugin compiles it again");
}

void Load(const std::string& given) {
  std::error_code none;
  const fs::path path = fs::canonical(given, none);
  if (none)
    throw Error(std::string(kOption), given, "a file that can be read" + NoteOfMissing(given));
  const std::string& file = path.native();
  if (!MayRead(file)) throw Error(std::string(kOption), given, "a plain file");
  if (std::ranges::find(Loaded(), file) != Loaded().end()) return;
  // The plugin stays loaded, because the tables hold its functions until the program ends.
  void* plugin = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) throw Error("plugin " + given + " cannot be loaded: " + dlerror());
  CheckInterface(plugin, given);
  auto* add = Symbol<void(const MethodTables&)>(plugin, LEGACY_PLUGIN_SYMBOL, given);
  try {
    add(MethodTables(path.filename().native()));
  } catch (const std::exception& error) {
    throw Error("plugin " + given + ": " + error.what());
  }
  Loaded().push_back(file);
}

}  // namespace

void LoadPlugins(int argc, const char* const* argv) {
  for (const std::string& file : FilesOfEnvironment()) Load(file);
  for (const std::string& file : FilesOfArguments(argc, argv)) Load(file);
  std::string list;
  for (const std::string& file : Loaded()) list += (list.empty() ? "" : ":") + file;
  if (!list.empty()) setenv(kPluginVariable, list.c_str(), 1);
}

const std::vector<std::string>& LoadedPlugins() { return Loaded(); }

}  // namespace legacy
