// This is the project's only exception type. It reports mistakes of the *user*; mistakes of the
// program itself are asserts. Library code neither prints nor exits.
#pragma once

#include <stdexcept>
#include <string>

namespace legacy {

// what() reads "<where>: <option>: got <value>; allowed: <allowed>", with the empty parts left out.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  Error(const std::string& option, const std::string& value, const std::string& allowed)
      : std::runtime_error(option + ": got '" + value + "'; allowed: " + allowed) {}
};

}  // namespace legacy
