// All methods that a plugin may bring (registry/plugin.h) are pluggable, and their mistakes are
// told by the plugin's name, before anything that it made reaches others.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "base/error.h"

namespace legacy {

// A Pluggable knows which plugin it comes from.
class Pluggable {
 public:
  // The file of the plugin that the method comes from; empty for the toolkit's own.
  const std::string& plugin() const { return plugin_; }
  void SetPlugin(std::string file) { plugin_ = std::move(file); }

 protected:
  ~Pluggable() = default;

 private:
  std::string plugin_;
};

// Throws Error "plugin FILE: METHOD: what", where the method is a plugin's.
template <typename Method>
[[noreturn]] void BlamePlugin(const Method& method, const std::string& what) {
  throw Error("plugin " + method.plugin() + ": " + std::string(method.Name()) + ": " + what);
}

// Returns call(). What a plugin's method throws becomes an Error that names the plugin, the method
// and `function`; errors of the toolkit's own methods pass.
template <typename Method, typename Call>
decltype(auto) InPlugin(const Method& method, const char* function, Call&& call) {
  if (method.plugin().empty()) return call();
  try {
    return call();
  } catch (const Error&) {  // of the input, or already blamed
    throw;
  } catch (const std::exception& error) {
    BlamePlugin(method, std::string(function) + " threw: " + error.what());
  } catch (...) {
    BlamePlugin(method, std::string(function) + " threw what is no std::exception");
  }
}

}  // namespace legacy
