// Readers of shapes and lists of layers as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compress/unit.h"

namespace legacy {

// Reads a shape such as "64x3x7x7". Throws Error naming `where` on anything else, and on more
// elements than a unit may have.
std::vector<int64_t> ParseShape(const std::string& text, const std::string& where);

// Reads lines "name shape", in the order of the flat gradient; empty lines and those that start
// with '#' are skipped. Throws Error naming file `name` and line.
std::vector<Unit> ParseLayers(std::string_view text, const std::string& name);
std::vector<Unit> OneLayer(const std::vector<int64_t>& shape);

// Returns the elements of all layers.
int64_t ElementsOf(const std::vector<Unit>& units);

}  // namespace legacy
