// JSON input is read in one place. Text that would exhaust the stack is refused before it is
// parsed, and numbers are checked before they become sizes or indices.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace legacy {

// Greatest depth to which lists and objects may be nested. Our own files need less than ten.
// Copying, writing and comparing documents recurse once for each level.
inline constexpr int kMostJsonDepth = 64;

// Returns one JSON document. Throws Error "WHERE: byte N: not valid JSON" (or: which level is too
// deep, which number too large, which key an object has twice: readers would take either).
nlohmann::json ParseJson(std::string_view text, const std::string& where);
// Does the same, and keeps the members of objects in the order of the text.
nlohmann::ordered_json ParseOrderedJson(std::string_view text, const std::string& where);

// Returns a whole number within [least, most]. Throws Error "WHAT: got '...'; allowed: a whole
// number from LEAST to MOST" on anything else: fractions, texts, numbers that a 64-bit integer
// cannot hold.
int64_t WholeNumber(const nlohmann::json& value, const std::string& what, int64_t least,
                    int64_t most);

// Returns the number, or null where it is not finite, as JSON has no such numbers.
nlohmann::json NumberOrNull(double value);

// Returns `value` as messages show it: its first characters, and of lists and objects only what
// they are.
std::string Shown(const nlohmann::json& value);

}  // namespace legacy
