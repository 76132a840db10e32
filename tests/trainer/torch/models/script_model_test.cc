// TorchScript modules: what they compute, what is wrong with them, and trainings with them.
#include "trainer/torch/models/script_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"

namespace legacy::script_model_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Classification& Glyphs() {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return task;
}

std::string FileOf(const std::string& name) {
  return (std::filesystem::path(testing::TempDir()) / ("script-" + name + ".pt")).string();
}

// Saves a module with weights "inner.weight" [10, 784] and "bias" [10], a buffer, and this forward.
std::string Saved(const std::string& name, const std::string& forward) {
  torch::jit::Module inner("Inner"), module("Outer");
  inner.register_parameter(
      "weight", torch::linspace(-0.1, 0.1, 7840).view({10, 784}).set_requires_grad(true), false);
  inner.define("def forward(self, x):\n  return torch.matmul(x, self.weight.t())\n");
  module.register_module("inner", inner);
  module.register_parameter("bias", torch::zeros({10}).set_requires_grad(true), false);
  module.register_buffer("seen", torch::zeros({1}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(forward);
  module.save(FileOf(name));
  return FileOf(name);
}

constexpr const char* kLinear =
    "def forward(self, x):\n"
    "  self.seen.add_(1)\n"
    "  return self.inner.forward(x.flatten(1)) + self.bias\n";
constexpr const char* kDropout =
    "def forward(self, x):\n"
    "  return torch.dropout(self.inner.forward(x.flatten(1)), 0.5, self.training) + self.bias\n";

TEST(ScriptModel, HasTheModulesParametersAndBuffers) {
  const ModelRequest request = Glyphs().RequestFor(Saved("linear", kLinear), 1);
  const auto model = MakeModel(request);
  std::vector<std::string> names;
  for (const Unit& layer : LayersOf(*model)) names.push_back(layer.name);
  EXPECT_THAT(names, ElementsAre("bias", "inner.weight"));
  const auto shared = ShareParameters(*model, request);
  const torch::NoGradGuard no_grad;
  const torch::Tensor images = torch::ones({2, 1, 28, 28});
  const float seen = shared->buffers().front().item<float>();
  model->parameters().front().fill_(1);
  EXPECT_TRUE(shared->Forward(images).equal(model->Forward(images)));
  model->Forward(images);
  EXPECT_EQ(shared->buffers().front().item<float>(), seen + 1);  // its own
  double flops = 0;
  for (const OperationCost& cost : CostsOf(request)) flops += cost.forward_flops;
  EXPECT_EQ(flops, 2 * 7840);
}

// An operation is counted by its own arguments even if the interpreter still holds others.
TEST(ScriptModel, CostsAreThoseOfTheOperationsAlone) {
  const std::string file = Saved("nested",
                                 "def forward(self, x):\n"
                                 "  y = x.flatten(1)\n"
                                 "  return self.inner.forward(torch.relu(y)) * 2 + "
                                 "torch.linear(y, self.inner.weight, self.bias)\n");
  double flops = 0;
  for (const OperationCost& cost : CostsOf(Glyphs().RequestFor(file, 1))) {
    flops += cost.forward_flops;
  }
  EXPECT_EQ(flops, 4 * 7840);
}

// A module and a model of our own with the same weights train alike.
TEST(ScriptModel, TrainsAsBuiltInModelsDo) {
  const auto weights = [&](const std::string& file, int threads) {
    TrainingOptions options;
    options.workers = 3;
    options.batch_size = 8;
    options.threads = threads;
    options.schedule.learning_rate = 0.02;
    Training training(options, Glyphs(), Glyphs().RequestFor(file, 1), MakeUniformPolicy(0.1),
                      MakeScheme("topk"));
    const double before = training.Evaluate().loss;
    for (int step = 0; step < 20; ++step) training.Step();
    EXPECT_LT(training.Evaluate().loss, before);
    return training.Weights();
  };
  const std::string file = Saved("linear", kLinear);
  EXPECT_EQ(weights(file, 1), weights(file, 2));
  const std::string dropout = Saved("dropout", kDropout);
  const auto one = weights(dropout, 1);
  torch::manual_seed(77);
  EXPECT_EQ(one, weights(dropout, 2));
}

TEST(ScriptModel, WhatCannotBeTrainedIsSaidInOneMessage) {
  const auto refuses = [](const std::string& file, const std::string& got,
                          const std::string& allowed) {
    EXPECT_THAT([&] { MakeModel(Glyphs().RequestFor(file, 1)); },
                ThrowsMessage<Error>(AllOf(HasSubstr(file), HasSubstr(got), HasSubstr(allowed))));
  };
  refuses("nowhere.pt", "'nowhere.pt'", "a TorchScript file that is there");
  std::ofstream(FileOf("text")) << "no module";
  refuses(FileOf("text"), "", "torch.jit.script(model).save");
  refuses(Saved("shape", "def forward(self, x):\n  return self.inner.forward(x.flatten(1)).t()\n"),
          "[10 x 2]", "[2 x 10]");
  refuses(Saved("unused", "def forward(self, x):\n  return self.inner.forward(x.flatten(1))\n"),
          "parameter bias", "take part");
  refuses(Saved("detached",
                "def forward(self, x):\n  return (self.inner.forward(x.flatten(1)) + "
                "self.bias).detach()\n"),
          "no gradient of the logits", "take part");
  refuses(Saved("tuple",
                "def forward(self, x):\n  return (self.inner.forward(x.flatten(1)), self.bias)\n"),
          "Tuple", "one tensor, the logits");
  refuses(Saved("fails", "def forward(self, x):\n  return self.inner.forward(x) + self.bias\n"),
          "forward of Float [2 x 1 x 28 x 28]", "logits [2 x 10]");
  torch::jit::Module empty("Empty");
  empty.define("def forward(self, x):\n  return x\n");
  empty.save(FileOf("empty"));
  refuses(FileOf("empty"), "no parameters", "at least one");
}

}  // namespace
}  // namespace legacy::script_model_test
