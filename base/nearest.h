// Messages about names that are not known say what may be meant.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"

namespace legacy {

// Returns the number of letters to insert, remove, replace or swap with the next one between two
// words (the optimal string alignment).
size_t EditDistance(const std::string& a, const std::string& b);

// Returns the entry of `known` that `name` may stand for: the same word but for hyphens and
// capitals, the one that has this name in other programs ("lr" for "learning-rate"), or, of three
// letters or more, the one nearest by edit distance; "" where none is near.
std::string Nearest(const std::string& name, const std::vector<std::string>& known);

// Returns "; did you mean NEAREST?", or "" where none is near.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& known);

// Returns the error of a value that is not one of `known`. It names all of them, or, where they are
// many, `list`, the command that prints them; then `also`, other values that are allowed.
Error NotAmong(const std::string& option, const std::string& value,
               const std::vector<std::string>& known, const std::string& list = "",
               const std::string& also = "");

}  // namespace legacy
