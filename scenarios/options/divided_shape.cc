#include "scenarios/options/divided_shape.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

constexpr const char* kParallelKey = "clock.parallel";

// Divides the operations and tensors of a shape.
class Divider {
 public:
  Divider(ModelShape& shape, const ParallelLayout& layout)
      : shape_(shape), parts_(layout.tensor), sequence_(layout.sequence) {}

  void Divide() {
    TensorCut before = TensorCut::kNone;
    for (OperationCost& operation : shape_.costs) {
      // What is divided by outputs reads what all workers have, and each has a part of its
      // gradient.
      const bool enters = operation.cut == TensorCut::kColumns && before == TensorCut::kNone;
      before = operation.cut;
      if (enters) operation.backward_sum = Inputs(operation);
      Divide(operation);
    }
    int64_t offset = 0;
    for (Unit& layer : shape_.layers) {
      layer.numel = 1;
      for (const int64_t size : layer.shape) layer.numel *= size;
      layer.offset = std::exchange(offset, offset + layer.numel);
    }
  }

 private:
  double Part(double whole) const { return std::ceil(whole / parts_); }
  static double Inputs(const OperationCost& operation) {
    const MatrixProduct& product = operation.products.front();
    return product.rows * product.inner;
  }

  // Divides a size of each tensor of an operation that has it: outputs are the first one, as
  // PyTorch's layers have them.
  void CutTensors(const OperationCost& operation, size_t size) {
    for (const int layer : operation.parameters) {
      std::vector<int64_t>& shape = shape_.layers[static_cast<size_t>(layer)].shape;
      if (size < shape.size()) shape[size] = (shape[size] + parts_ - 1) / parts_;
    }
  }

  void Divide(OperationCost& operation) {
    switch (operation.cut) {
      case TensorCut::kNone:
        if (sequence_) DivideCosts(operation);
        return;
      case TensorCut::kColumns:
        for (MatrixProduct& product : operation.products) product.columns = Part(product.columns);
        CutTensors(operation, 0);
        break;
      case TensorCut::kRows:
        operation.forward_sum = Outputs(operation);
        for (MatrixProduct& product : operation.products) product.inner = Part(product.inner);
        CutTensors(operation, 1);
        break;
      case TensorCut::kHeads:
        for (MatrixProduct& product : operation.products) {
          if (std::fmod(product.count, parts_) != 0) {
            throw Error(kParallelKey, "tp=" + std::to_string(parts_),
                        "a divisor of the " + std::to_string(std::llround(product.count)) +
                            " heads of " + shape_.name);
          }
          product.count /= parts_;
        }
        break;
      case TensorCut::kNumbers:
        break;
      case TensorCut::kWords:
        operation.forward_sum = Words(operation);
        break;
    }
    DivideCosts(operation);
  }

  static double Outputs(const OperationCost& operation) {
    const MatrixProduct& product = operation.products.front();
    return product.rows * product.columns;
  }

  // Divides the first table by words, and returns the numbers that are summed: the rows that a
  // sample looks up, or three numbers a word of the loss (the largest, the sum, the one asked for).
  double Words(const OperationCost& operation) {
    constexpr double kNumbersOfLoss = 3;
    const auto tokens = static_cast<double>(shape_.tokens);
    if (operation.parameters.empty()) return kNumbersOfLoss * tokens;
    std::vector<int64_t>& table =
        shape_.layers[static_cast<size_t>(operation.parameters.front())].shape;
    table.front() = (table.front() + parts_ - 1) / parts_;
    return tokens * static_cast<double>(table.back());
  }

  // A product reads all inputs, or writes all outputs, whatever part of it is computed.
  void DivideCosts(OperationCost& operation) const {
    const double whole = operation.forward_flops;
    operation.forward_flops /= parts_;
    operation.weight_bytes /= parts_;
    operation.masks /= parts_;
    if (operation.products.empty() || operation.cut == TensorCut::kHeads || whole == 0) {
      operation.forward_bytes /= parts_;
      return;
    }
    const MatrixProduct& part = operation.products.front();
    const double divided = operation.cut == TensorCut::kColumns ? part.columns : part.inner;
    const double kept = operation.cut == TensorCut::kColumns ? part.inner : part.columns;
    operation.forward_bytes *= (divided + kept) / (divided * parts_ + kept);
  }

  ModelShape& shape_;
  const int parts_;
  const bool sequence_;
};

}  // namespace

ModelShape DivideTensors(ModelShape shape, const ParallelLayout& layout) {
  if (layout.tensor == 1) return shape;
  if (std::ranges::all_of(shape.costs,
                          [](const auto& one) { return one.cut == TensorCut::kNone; })) {
    throw Error(kParallelKey, "tp=" + std::to_string(layout.tensor),
                "tp=1: the shape " + shape.name +
                    " does not say how its operations are divided (docs/shapes.md, tensor)");
  }
  Divider(shape, layout).Divide();
  return shape;
}

ModelShape DividedShape(const Scenario& scenario) {
  ModelShape shape = DivideTensors(LoadModelShape(scenario.layers), *scenario.parallel);
  CutIntoStages(*scenario.parallel, *scenario.pipeline, shape.costs);
  return shape;
}

}  // namespace legacy
