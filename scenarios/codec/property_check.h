// Tools of the checks of methods' properties (method_check.h): failures, hostile bytes, and a
// process of its own for each property.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "base/random.h"
#include "compress/message.h"
#include "scenarios/codec/method_check.h"

namespace legacy {

// A Violated is thrown where a property does not hold, and says how.
class Violated : public std::exception {
 public:
  explicit Violated(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// Throws Violated with text() where the property does not hold.
void Expect(bool holds, const std::function<std::string()>& text);

// Returns true where call() throws Error.
bool Refused(const std::function<void()>& call);

// Returns `bytes` with bits flipped, cut, lengthened, or drawn again.
Bytes Mutated(Bytes bytes, RandomStream& stream);

// Runs a check in a process of its own, so that a property whose check crashes, or does not end
// within a minute, is reported as one that does not hold.
CheckedProperty TryApart(const std::string& name, const std::function<std::string()>& check);

}  // namespace legacy
