// Layers of a trace, by the names that its lines give them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compress/unit.h"
#include "trainer/clock/ddp_trace_lines.h"

namespace legacy {

// Largest number of bytes; sums over all workers stay far below 2^63.
inline constexpr int64_t kMostLayerBytes = int64_t{1} << 44;

// DdpTraceLayers are the layers that a trace has declared so far.
class DdpTraceLayers {
 public:
  // Reads the current line, "layer NAME ELEMENTS" or "layer NAME SHAPE".
  Unit Read(const DdpTraceLines& lines);

  // Returns the positions of the layers of a word, "LAYER" or "FIRST..LAST".
  std::pair<int, int> Range(const DdpTraceLines& lines, const PlacedWord& word) const;
  // Returns the number of elements of layers [first, last].
  int64_t Elements(int first, int last) const {
    return elements_before_[last + 1] - elements_before_[first];
  }

 private:
  int Position(const DdpTraceLines& lines, const PlacedWord& word) const;

  std::map<std::string, int, std::less<>> position_of_;  // by name
  std::vector<int64_t> elements_before_ = {0};  // elements before each layer, then the sum of all
};

}  // namespace legacy
