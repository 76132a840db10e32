// However a module's file lays out its weights and buffers, they train as those with a plain layout
// do.
#include <gtest/gtest.h>

#include "compress/policy.h"
#include "tests/trainer/torch/models/script_module.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/training.h"

namespace legacy::script_layout_test {
namespace {

using test::Weights;

struct Course {
  std::vector<double> losses;
  std::vector<float> weights;
  double tested = 0;

  bool operator==(const Course&) const = default;
};

// Trains a module that has these weights of an MLP, of a convolution, and this buffer.
Course Follow(const std::string& name, const torch::Tensor& first, const torch::Tensor& second,
              const torch::Tensor& conv, const torch::Tensor& buffer) {
  torch::jit::Module module("Layout");
  const test::Named parameters = {{"conv", conv}, {"first", first}, {"second", second}};
  for (const auto& [key, tensor] : parameters) {
    module.register_parameter(key, torch::Tensor(tensor).set_requires_grad(true), false);
  }
  module.register_buffer("factors", buffer);
  module.define(
      "def forward(self, x):\n"
      "  y = torch.relu(torch.conv2d(x, self.conv, None, [4, 4])).flatten(1)\n"
      "  y = torch.tanh(torch.linear(y, self.first) * (1 + self.factors.sum(0)))\n"
      "  return torch.linear(y, self.second)\n");
  const std::string file = test::SaveScript(module, "layout-" + name);
  TrainingOptions options;
  options.workers = 2;
  options.batch_size = 4;
  options.threads = 2;
  options.seed = 4;
  options.schedule.learning_rate = 0.02;
  options.sgd.momentum = 0.9;
  options.evaluation_batch = 50;
  const Task& task = test::SomeImages();
  Training training(options, task, task.RequestFor(file, 1), MakeUniformPolicy(0.1),
                    MakeScheme("topk"));
  Course course;
  for (int step = 0; step < 18; ++step) course.losses.push_back(training.Step().loss);
  course.weights = training.Weights();
  course.tested = training.Evaluate().loss;
  std::filesystem::remove(file);
  return course;
}

TEST(ScriptLayout, EveryLayoutTrainsAsThePlainOne) {
  constexpr int64_t kInner = 12, kOuter = 6 * 7 * 7;
  const torch::Tensor row = Weights({1, kOuter});
  const torch::Tensor first = row.expand({kInner, kOuter}).contiguous();
  const torch::Tensor second = Weights({10, kInner}, 1);
  const torch::Tensor conv = Weights({6, 3, 2, 2}, 1).narrow(1, 0, 1).contiguous();
  const torch::Tensor buffer = Weights({4, 1}, 1).expand({4, kInner}).contiguous();
  const Course plain = Follow("plain", first, second, conv, buffer);
  EXPECT_NE(plain.losses.back(), plain.losses.front());

  const auto transposed = [](const torch::Tensor& tensor) { return tensor.t().contiguous().t(); };
  const auto sliced = [](const torch::Tensor& tensor) {
    const torch::Tensor wide = torch::full({tensor.size(0), 2 * tensor.size(1) + 1}, 7.0);
    const torch::Tensor slice = wide.slice(1, 1, 2 * tensor.size(1), 2);
    slice.copy_(tensor);
    return slice;
  };
  EXPECT_EQ(Follow("transposed", transposed(first), transposed(second), conv, transposed(buffer)),
            plain);
  EXPECT_EQ(Follow("sliced", sliced(first), sliced(second), conv, sliced(buffer)), plain);
  EXPECT_EQ(Follow("expanded", row.expand({kInner, kOuter}), second, conv,
                   Weights({4, 1}, 1).expand({4, kInner})),
            plain);
  // Two slices of one storage whose elements alternate, and one that begins within it.
  const torch::Tensor storage = torch::zeros({24, kOuter});
  storage.slice(0, 0, 24, 2).copy_(first);
  storage.slice(0, 1, 21, 2).narrow(1, 5, kInner).copy_(second);
  EXPECT_EQ(Follow("aliased", storage.slice(0, 0, 24, 2),
                   storage.slice(0, 1, 21, 2).narrow(1, 5, kInner), conv, buffer),
            plain);
  const torch::Tensor channels =
      Weights({6, 3, 2, 2}, 1).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(Follow("channels-last", first, second, channels.narrow(1, 0, 1), buffer), plain);
}

}  // namespace
}  // namespace legacy::script_layout_test
