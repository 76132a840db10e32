// This is the project's only exception type. It reports mistakes of the *user*; mistakes of the
// program itself are asserts. Library code neither prints nor exits.
#pragma once

#include <stdexcept>
#include <string>

namespace legacy {

// An Error says that something failed, or, where it is a refusal, that something which was given is
// not allowed: a value, a name, a file's content. Programs end with a different exit status for
// each (base/programs/program.h).
class Error : public std::runtime_error {
 public:
  // Something failed.
  explicit Error(const std::string& message) : Error(message, false) {}
  // A refusal: what() reads "<where>: <option>: got <value>; allowed: <allowed>", with the empty
  // parts left out.
  Error(const std::string& option, const std::string& value, const std::string& allowed)
      : Error(option + ": got '" + value + "'; allowed: " + allowed, true) {}
  // Returns a refusal with a text of its own.
  static Error Refusal(const std::string& message) { return {message, true}; }

  bool IsRefusal() const { return refusal_; }
  // Returns the same error with `place` before its text.
  Error Within(const std::string& place) const { return {place + what(), refusal_}; }

 private:
  Error(const std::string& message, bool refusal)
      : std::runtime_error(message), refusal_(refusal) {}

  bool refusal_;
};

}  // namespace legacy
