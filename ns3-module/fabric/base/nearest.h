// Names like one that was mistyped, for messages about unknown names.
#pragma once

#include "error.h"

#include <cstddef>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// Returns the number of edits (insert, remove, replace a letter) between two words (Levenshtein,
/// 1966).
std::size_t EditDistance(const std::string& a, const std::string& b);

/// Returns the name of `known` with the fewest edits from `name`, the first of several; "" for none
/// within half of the name's length.
std::string Nearest(const std::string& name, const std::vector<std::string>& known);

/// Returns the error of a value that is none of `known`: the nearest of them, all of them, and
/// `also`, other values that are allowed.
Error NotAmong(const std::string& option,
               const std::string& value,
               const std::vector<std::string>& known,
               const std::string& also = "");

} // namespace legacy::fabric
