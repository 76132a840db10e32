#include "trainer/clock/ddp_trace_layers.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace legacy {
namespace {

// Reads a number of elements, or the sizes of all dimensions with x between them.
std::vector<int64_t> ReadShape(const DdpTraceLines& lines, const PlacedWord& word) {
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (size_t begin = 0; begin <= word.text.size();) {
    const size_t end = std::min(word.text.find('x', begin), word.text.size());
    const PlacedWord size = {word.text.substr(begin, end - begin), word.column + begin};
    shape.push_back(lines.Whole(size, "elements", 1, UINT32_MAX / elements));
    elements *= shape.back();
    begin = end + 1;
  }
  return shape;
}

}  // namespace

Unit DdpTraceLayers::Read(const DdpTraceLines& lines) {
  lines.RequireValues(2, 2, "layer NAME ELEMENTS or layer NAME SHAPE, as in 64x3x7x7");
  const std::string name(lines.Value(0).text);
  if (name.find("..") != std::string::npos) {
    lines.Fail(lines.Value(0), "layer", "a name without '..', which stands between first and last");
  }
  const size_t position = elements_before_.size() - 1;
  if (!position_of_.try_emplace(name, static_cast<int>(position)).second) {
    lines.Fail(lines.Value(0), "layer", "each name once");
  }
  Unit layer;
  layer.id = static_cast<uint32_t>(position);
  layer.name = name;
  layer.shape = ReadShape(lines, lines.Value(1));
  layer.numel =
      std::accumulate(layer.shape.begin(), layer.shape.end(), int64_t{1}, std::multiplies<>());
  layer.offset = elements_before_.back();
  elements_before_.push_back(elements_before_.back() + layer.numel);
  if (elements_before_.back() > kMostLayerBytes) {
    lines.Fail(lines.Value(1), "elements",
               "at most " + std::to_string(kMostLayerBytes) + " in all layers");
  }
  return layer;
}

std::pair<int, int> DdpTraceLayers::Range(const DdpTraceLines& lines,
                                          const PlacedWord& word) const {
  const size_t dots = word.text.find("..");
  const PlacedWord first = {word.text.substr(0, dots), word.column};
  if (dots == std::string_view::npos) return {Position(lines, first), Position(lines, first)};
  return {Position(lines, first),
          Position(lines, {word.text.substr(dots + 2), word.column + dots + 2})};
}

int DdpTraceLayers::Position(const DdpTraceLines& lines, const PlacedWord& word) const {
  const auto found = position_of_.find(word.text);
  if (found == position_of_.end()) lines.Fail(word, "layer", "names of layers given before");
  return found->second;
}

}  // namespace legacy
