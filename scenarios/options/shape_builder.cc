#include "scenarios/options/shape_builder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "compress/message.h"
#include "scenarios/codec/layer_list.h"

namespace legacy {
namespace {

constexpr size_t kMostTensors = 1'000'000;

}  // namespace

void ShapeBuilder::AddTensor(const std::string& name, const std::string& shape,
                             const std::string& key) {
  if (name.empty()) throw Error(key, name, "a name");
  if (!names_.insert(name).second) throw Error(key, name, "each name once");
  if (shape_.layers.size() == kMostTensors) {
    throw Error(key, name, "at most " + std::to_string(kMostTensors) + " tensors");
  }
  Unit unit{.id = static_cast<uint32_t>(shape_.layers.size()),
            .name = name,
            .shape = ParseShape(shape, key),
            .offset = ElementsOf(shape_.layers),
            .numel = 1};
  for (const int64_t size : unit.shape) unit.numel *= size;
  parameters_.push_back(static_cast<int>(unit.id));
  elements_ += static_cast<double>(unit.numel);
  shape_.layers.push_back(std::move(unit));
}

const Unit* ShapeBuilder::Weight() const {
  const auto found = std::ranges::find_if(
      parameters_, [&](int position) { return shape_.layers[position].shape.size() > 1; });
  return found == parameters_.end() ? nullptr : &shape_.layers[*found];
}

bool ShapeBuilder::HasBias() const {
  const auto vectors = std::ranges::count_if(
      parameters_, [&](int position) { return shape_.layers[position].shape.size() == 1; });
  return vectors > 0 && std::ssize(parameters_) - vectors <= 1;
}

void ShapeBuilder::AddOperation(OperationCost operation) {
  operation.parameters = std::exchange(parameters_, {});
  elements_ = 0;
  shape_.costs.push_back(std::move(operation));
}

ModelShape ShapeBuilder::Take(const std::string& where) {
  if (shape_.layers.empty()) throw Error::Refusal(where + ": has no parameter tensors");
  return std::move(shape_);
}

}  // namespace legacy
