// Methods that a plugin can define (registry/plugin.h) are pluggable. Errors of a plugin's method
// name the plugin, and are thrown before its results reach other code.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "compress/work.h"

namespace legacy {

// Knows the plugin that it comes from.
class Pluggable {
 public:
  // Returns the file of the plugin that the method comes from; empty for the toolkit's own methods.
  const std::string& plugin() const { return plugin_; }
  void SetPlugin(std::string file) { plugin_ = std::move(file); }

 protected:
  ~Pluggable() = default;

 private:
  std::string plugin_;
};

// Throws Error "plugin FILE: METHOD: what" about a plugin's method.
template <typename Method>
[[noreturn]] void BlamePlugin(const Method& method, const std::string& what) {
  throw Error("plugin " + method.plugin() + ": " + std::string(method.Name()) + ": " + what);
}

// Returns call(). Exceptions of a plugin's method become an Error that names the plugin, the method
// and `function`; errors of the toolkit's own methods pass.
template <typename Method, typename Call>
decltype(auto) InPlugin(const Method& method, const char* function, Call&& call) {
  if (method.plugin().empty()) return call();
  try {
    return call();
  } catch (const Error&) {  // error of the input, or one that names the plugin already
    throw;
  } catch (const std::exception& error) {
    BlamePlugin(method, std::string(function) + " threw: " + error.what());
  } catch (...) {
    BlamePlugin(method, std::string(function) + " threw something that is not a std::exception");
  }
}

// Returns the work (Work or WorkList) that call() declares. Throws Error, as InPlugin does, if a
// plugin's method declares negative work.
template <typename Method, typename Call>
auto WorkOf(const Method& method, const char* function, Call&& call) {
  auto work = InPlugin(method, function, call);
  if (method.plugin().empty()) return work;
  const std::string fault = FaultIn(work);
  if (!fault.empty()) BlamePlugin(method, std::string(function) + " declares " + fault);
  return work;
}

}  // namespace legacy
