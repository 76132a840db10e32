#include "trainer/torch/portable_convolution.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "trainer/torch/one_thread.h"

namespace legacy {
namespace {

using torch::Tensor;

struct Shape {
  int64_t inputs, outputs, groups, pixels, taps, padding;
  int64_t stride = 1, dilation = 1;
};

struct Computed {
  Tensor output, input_gradient, weight_gradient, bias_gradient;
};

Computed Compute(const Shape& s, bool with_bias) {
  torch::manual_seed(1);
  const auto leaf = [](std::vector<int64_t> sizes) { return torch::randn(sizes).requires_grad_(); };
  const Tensor input = leaf({2, s.inputs, s.pixels, s.pixels});
  const Tensor weight = leaf({s.outputs, s.inputs / s.groups, s.taps, s.taps});
  const Tensor bias = with_bias ? leaf({s.outputs}) : Tensor();
  const Tensor output =
      torch::conv2d(input, weight, bias, s.stride, s.padding, s.dilation, s.groups);
  output.backward(torch::randn_like(output));
  return {output, input.grad(), weight.grad(), with_bias ? bias.grad() : torch::zeros({1})};
}

// Returns the outputs, each group convolved by itself without oneDNN.
Tensor OfLibTorch(const Shape& s) {
  torch::manual_seed(1);
  const Tensor input = torch::randn({2, s.inputs, s.pixels, s.pixels});
  const Tensor weight = torch::randn({s.outputs, s.inputs / s.groups, s.taps, s.taps});
  std::vector<Tensor> outputs;
  for (int64_t group = 0; group < s.groups; ++group) {
    outputs.push_back(at::slow_conv_dilated2d(input.chunk(s.groups, 1)[group].contiguous(),
                                              weight.chunk(s.groups, 0)[group], {s.taps, s.taps},
                                              {}, {s.stride, s.stride}, {s.padding, s.padding},
                                              {s.dilation, s.dilation}));
  }
  return torch::cat(outputs, 1);
}

// The second-level cache decides how oneDNN sums the first of these.
const Shape kOthers[] = {{48, 36, 12, 40, 5, 2},
                         {64, 64, 32, 14, 3, 1},
                         {6, 9, 3, 16, 3, 1},
                         {3, 32, 1, 20, 11, 5, 4},
                         {24, 24, 2, 12, 3, 2, 1, 2}};
const Shape kKept[] = {{3, 16, 1, 12, 3, 1},    {16, 24, 1, 9, 5, 2}, {16, 16, 16, 8, 3, 1},
                       {1, 16, 1, 16, 4, 0, 4}, {32, 32, 4, 8, 3, 1}, {12, 10, 1, 8, 1, 0}};

TEST(PortableConvolution, KeepsValuesAndComputesInGroupsWhatOneDnnHasNoKernelFor) {
  UseOneThread();
  std::vector<Computed> before;
  for (const Shape& shape : kOthers) before.push_back(Compute(shape, true));
  for (const Shape& shape : kKept) before.push_back(Compute(shape, true));
  UsePortableConvolutions();
  UsePortableConvolutions();  // once is enough
  size_t i = 0;
  const auto expect_close = [&](const Shape& shape) {
    const Computed now = Compute(shape, true), &then = before[i++];
    EXPECT_TRUE(torch::allclose(now.output, then.output, 1e-3, 1e-4)) << i;
    EXPECT_TRUE(torch::equal(now.input_gradient, then.input_gradient)) << i;
    EXPECT_TRUE(torch::equal(now.weight_gradient, then.weight_gradient)) << i;
    EXPECT_TRUE(torch::equal(now.bias_gradient, then.bias_gradient)) << i;
    return torch::equal(now.output, then.output);
  };
  for (const Shape& shape : kOthers) {
    expect_close(shape);
    EXPECT_TRUE(torch::equal(Compute(shape, false).output, OfLibTorch(shape))) << i;
  }
  for (const Shape& shape : kKept) EXPECT_TRUE(expect_close(shape)) << i;
}

}  // namespace
}  // namespace legacy
