// This is the one exception type of compress/, trainer/ and scenarios/, for what the *user* did
// wrong. Mistakes of the program itself are asserts. Library code neither prints nor exits.
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
