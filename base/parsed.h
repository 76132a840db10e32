// Parsed values keep the text that they were given as.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/parse.h"
#include "base/units.h"

namespace legacy {

// A Parsed is the value that the text of an option stands for, together with that text, which is
// what is printed. It is parsed once, when it is set. `Parse(text, key)` returns the value; it
// throws an Error naming `key`.
template <auto Parse>
class Parsed {
 public:
  using Value = std::decay_t<std::invoke_result_t<decltype(Parse), std::string, std::string>>;

  Parsed(const char* text) : Parsed(text, text) {}  // defaults in the code
  Parsed(std::string text, const std::string& key)
      : value_(Parse(text, key)), text_(std::move(text)) {}

  const Value& operator*() const { return value_; }
  const Value* operator->() const { return &value_; }
  const std::string& text() const { return text_; }

  friend bool operator==(const Parsed& a, const Parsed& b) { return a.text_ == b.text_; }
  bool operator==(const char*) const = delete;  // would parse at each comparison

 private:
  Value value_;
  std::string text_;
};

// Returns nothing for "": the value of an option that was not given.
template <auto Parse>
auto Given(const std::string& text, const std::string& key) {
  using Value = std::decay_t<std::invoke_result_t<decltype(Parse), std::string, std::string>>;
  return text.empty() ? std::optional<Value>() : std::optional<Value>(Parse(text, key));
}

// Returns the values of a list: "1KB,2KB".
template <auto Parse>
auto ListOf(const std::string& text, const std::string& key) {
  std::vector<std::decay_t<std::invoke_result_t<decltype(Parse), std::string, std::string>>> values;
  for (const std::string& item : SplitList(text)) values.push_back(Parse(item, key));
  return values;
}

using Rate = Parsed<ParseRate>;   // bits per second
using Time = Parsed<ParseTime>;   // nanoseconds
using Size = Parsed<ParseBytes>;  // bytes
using GivenRate = Parsed<Given<ParseRate>>;
using GivenTime = Parsed<Given<ParseTime>>;
using GivenSize = Parsed<Given<ParseBytes>>;

}  // namespace legacy
