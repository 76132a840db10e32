#include "scenarios/options/divided_shape.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"

namespace legacy {
namespace {

constexpr const char* kParallelKey = "clock.parallel";

// Sets sizes and offsets of layers by their shapes.
void CountElements(ModelShape& shape) {
  int64_t offset = 0;
  for (Unit& layer : shape.layers) {
    layer.numel = 1;
    for (const int64_t size : layer.shape) layer.numel *= size;
    layer.offset = std::exchange(offset, offset + layer.numel);
  }
}

double Inputs(const OperationCost& operation) {
  const MatrixProduct& product = operation.products.front();
  return product.rows * product.inner * product.count;
}

double Outputs(const OperationCost& operation) {
  const MatrixProduct& product = operation.products.front();
  return product.rows * product.columns * product.count;
}

// An ExpertDivider divides the experts of a shape.
class ExpertDivider {
 public:
  // Ranks have `samples` samples of a batch, or their part of each.
  ExpertDivider(ModelShape& shape, const ParallelLayout& layout, const ExpertLoad& load,
                double samples)
      : shape_(shape),
        layout_(layout),
        load_(load),
        tokens_(samples * static_cast<double>(shape.tokens) / layout.context) {}

  void Divide() {
    std::vector<OperationCost>& costs = shape_.costs;
    for (size_t from = 0; from < costs.size(); ++from) {
      if (costs[from].experts == 0) continue;
      size_t to = from;
      while (to < costs.size() && costs[to].experts > 0 && costs[to].block == costs[from].block) {
        ++to;
      }
      DivideRun(std::span(costs).subspan(from, to - from));
      from = to - 1;
    }
    CountElements(shape_);
  }

 private:
  // Divides operations that follow each other: tokens travel to the first one, and from the last.
  void DivideRun(std::span<OperationCost> run) {
    const auto product = [](const OperationCost& one) { return !one.products.empty(); };
    const auto first = std::ranges::find_if(run, product);
    if (first == run.end()) return;
    const auto last = std::ranges::find_if(run.rbegin(), run.rend(), product);
    // With sequence parallelism each rank of a tensor sends a part of the positions.
    const double parts = layout_.sequence ? layout_.tensor : 1;
    const double sent = load_.kind == ExpertLoad::Kind::kCapacity ? Share(*first) : 1;
    if (layout_.expert > 1) {
      first->dispatch = Inputs(*first) * sent / parts;
      last->combine = Outputs(*last) * sent / parts;
    }
    for (OperationCost& operation : run) Divide(operation);
  }

  double Share(const OperationCost& operation) const {
    return SlowestShare(load_, operation.experts, operation.used, layout_.expert, tokens_);
  }

  void Divide(OperationCost& operation) const {
    const int ranks = layout_.expert;
    if (operation.experts % ranks != 0) {
      throw Error(
          kParallelKey, "ep=" + std::to_string(ranks),
          "a divisor of the " + std::to_string(operation.experts) + " experts of " + shape_.name);
    }
    const double share = Share(operation);
    operation.forward_flops *= share;
    operation.forward_bytes *= share;
    operation.weight_bytes /= ranks;
    for (MatrixProduct& product : operation.products) {
      product.rows *= ranks;
      if (share != 1) product.rows = std::round(product.rows * share);  // whole tokens
      product.count /= ranks;
    }
    for (const int layer : operation.parameters) {
      shape_.layers[static_cast<size_t>(layer)].shape.front() /= ranks;
    }
  }

  ModelShape& shape_;
  const ParallelLayout& layout_;
  const ExpertLoad& load_;
  const double tokens_;  // of a rank
};

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
    CountElements(shape_);
  }

 private:
  double Part(double whole) const { return std::ceil(whole / parts_); }

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
        operation.keys /= parts_;
        break;
      case TensorCut::kNumbers:
        break;
      case TensorCut::kWords:
        operation.forward_sum = Words(operation);
        break;
    }
    DivideCosts(operation);
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

// Moves the experts of each block behind its other operations, so that their weights, which other
// ranks hold, are gathered once for the block.
void MoveExpertsBack(ModelShape& shape) {
  for (auto from = shape.costs.begin(); from != shape.costs.end();) {
    const auto to = std::find_if(from, shape.costs.end(),
                                 [&](const auto& one) { return one.block != from->block; });
    std::stable_partition(from, to, [](const auto& one) { return one.experts == 0; });
    from = to;
  }
}

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

ModelShape DivideContext(ModelShape shape, const ParallelLayout& layout) {
  const int parts = layout.context;
  if (parts == 1) return shape;
  if (shape.tokens % parts != 0 || shape.tokens == 0) {
    throw Error(kParallelKey, "cp=" + std::to_string(parts),
                shape.tokens == 0 ? "cp=1: samples of " + shape.name + " have no tokens"
                                  : "a divisor of the " + std::to_string(shape.tokens) +
                                        " tokens of a sample of " + shape.name);
  }
  shape.tokens /= parts;
  for (OperationCost& operation : shape.costs) {
    for (double* amount : {&operation.forward_flops, &operation.keys, &operation.forward_sum,
                           &operation.backward_sum, &operation.dispatch, &operation.combine}) {
      *amount /= parts;
    }
    if (operation.kind == "attention") {
      // Queries of a part are multiplied with each part of the keys, which are read each time.
      for (MatrixProduct& product : operation.products) {
        product.rows /= parts;
        double& keys = &product == &operation.products.front() ? product.columns : product.inner;
        keys /= parts;
        product.count *= parts;
      }
      continue;
    }
    operation.forward_bytes /= parts;
    for (MatrixProduct& product : operation.products) product.rows /= parts;
  }
  return shape;
}

ModelShape DivideExperts(ModelShape shape, const ParallelLayout& layout, const ExpertLoad& load,
                         int samples) {
  const bool any =
      std::ranges::any_of(shape.costs, [](const auto& one) { return one.experts > 0; });
  if (!any && layout.expert > 1) {
    throw Error(kParallelKey, "ep=" + std::to_string(layout.expert),
                "ep=1: the shape " + shape.name + " has no experts (docs/shapes.md, experts)");
  }
  if (!any && load.kind != ExpertLoad::Kind::kBalanced) {
    throw Error("clock.experts", load.text,
                "balanced: the shape " + shape.name + " has no experts");
  }
  if (any) ExpertDivider(shape, layout, load, samples).Divide();
  return shape;
}

ModelShape DividedShape(const Scenario& scenario) {
  const ParallelLayout& layout = *scenario.parallel;
  ModelShape shape =
      DivideExperts(LoadModelShape(scenario.layers), layout, *scenario.experts, scenario.batch);
  shape = DivideContext(DivideTensors(std::move(shape), layout), layout);
  if (layout.expert > 1) MoveExpertsBack(shape);
  CutIntoStages(layout, *scenario.pipeline, shape.costs);
  return shape;
}

}  // namespace legacy
