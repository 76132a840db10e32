#include "scenarios/codec/layer_list.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/parse.h"
#include "compress/message.h"

namespace legacy {
namespace {

void Append(const std::string& name, const std::vector<int64_t>& shape, std::vector<Unit>& units) {
  Unit unit{.id = static_cast<uint32_t>(units.size()),
            .name = name,
            .shape = shape,
            .offset = ElementsOf(units),
            .numel = 1};
  for (const int64_t size : shape) unit.numel *= size;
  units.push_back(std::move(unit));
}

}  // namespace

std::vector<int64_t> ParseShape(const std::string& text, const std::string& where) {
  std::vector<int64_t> shape;
  int64_t numel = 1;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('x', begin), text.size());
    const std::string size = text.substr(begin, end - begin);
    int64_t value = 0;
    try {
      value = ParseInteger(size, where, 1, kMaxUnitElements);
    } catch (const Error&) {
      throw Error(where, text, "sizes of at least 1 with x between them, as in 64x3x7x7");
    }
    if (value > kMaxUnitElements / numel) {
      throw Error(where, text, "at most " + std::to_string(kMaxUnitElements) + " elements");
    }
    numel *= value;
    shape.push_back(value);
    begin = end + 1;
  }
  return shape;
}

std::vector<Unit> ParseLayers(std::string_view text, const std::string& name) {
  std::vector<Unit> units;
  std::istringstream lines{std::string(text)};
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = name + ":" + std::to_string(++number);
    std::istringstream words(line);
    std::string layer;
    std::string shape;
    std::string more;
    if (!(words >> layer) || layer.front() == '#') continue;
    if (!(words >> shape) || words >> more) {
      throw Error(where, line, "a layer's name and its shape, as in conv1.weight 64x3x7x7");
    }
    Append(layer, ParseShape(shape, where), units);
  }
  if (units.empty()) throw Error::Refusal(name + ": has no layers");
  return units;
}

std::vector<Unit> OneLayer(const std::vector<int64_t>& shape) {
  std::vector<Unit> units;
  Append("values", shape, units);
  return units;
}

int64_t ElementsOf(const std::vector<Unit>& units) {
  return units.empty() ? 0 : units.back().offset + units.back().numel;
}

}  // namespace legacy
