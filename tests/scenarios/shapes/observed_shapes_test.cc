// The shapes that trainer/shapes/make_shapes.py derives from the papers have the costs that the
// models show when they run. Shapes leave out the weights of a normalisation.
#include <gtest/gtest.h>

#include "scenarios/options/model_shape.h"
#include "trainer/torch/models/model.h"

namespace legacy::observed_shapes_test {
namespace {

struct Pair {
  const char* shape;
  const char* model;
  int side;
  int classes;
  int dropped = 0;  // operations of dropout, which shapes leave out
};

class ObservedShapes : public testing::TestWithParam<Pair> {};

TEST_P(ObservedShapes, HaveTheSameCosts) {
  const Pair& pair = GetParam();
  const ModelShape shape = LoadModelShape(pair.shape);
  const std::vector<OperationCost> costs = CostsOf({.name = pair.model,
                                                    .channels = 3,
                                                    .height = pair.side,
                                                    .width = pair.side,
                                                    .classes = pair.classes});
  ASSERT_EQ(costs.size(), shape.costs.size() + static_cast<size_t>(pair.dropped));
  size_t next = 0;
  for (const OperationCost& seen : costs) {
    const bool same = next < shape.costs.size() && seen.kind == shape.costs[next].kind &&
                      seen.forward_flops == shape.costs[next].forward_flops &&
                      seen.forward_bytes == shape.costs[next].forward_bytes &&
                      (seen.weight_bytes == shape.costs[next].weight_bytes ||
                       (seen.kind == "batchnorm" && shape.costs[next].weight_bytes == 0)) &&
                      seen.parameters.size() == shape.costs[next].parameters.size();
    next += same ? 1 : 0;
  }
  EXPECT_EQ(next, shape.costs.size());
}

INSTANTIATE_TEST_SUITE_P(Models, ObservedShapes,
                         testing::Values(Pair{"resnet18-cifar", "resnet18", 32, 10},
                                         Pair{"resnet18", "resnet18", 224, 1000},
                                         Pair{"resnet50", "resnet50", 224, 1000},
                                         Pair{"resnet101", "resnet101", 224, 1000},
                                         Pair{"googlenet-cifar", "googlenet", 32, 10},
                                         Pair{"vgg16", "vgg16", 224, 1000, 2},
                                         Pair{"alexnet", "alexnet", 224, 1000, 2}),
                         [](const auto& instance) {
                           std::string name = instance.param.shape;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace legacy::observed_shapes_test
