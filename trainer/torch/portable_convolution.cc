#include "trainer/torch/portable_convolution.h"

#include <torch/library.h>
#include <torch/torch.h>

#include <algorithm>
#include <vector>

namespace legacy {
namespace {

using torch::Tensor;

// Arguments of aten::mkldnn_convolution, in their order.
struct Convolution {
  Tensor input, weight, bias;  // bias: undefined where there is none
  std::vector<int64_t> padding, stride, dilation;
  int64_t groups = 1;

  int64_t Channels() const { return weight.size(1); }  // inputs of a group
};

constexpr size_t kArguments = 7;

Convolution ArgumentsOf(const torch::jit::Stack& stack) {
  const auto at = [&](size_t i) { return stack[stack.size() - kArguments + i]; };
  Convolution c{at(0).toTensor(),    at(1).toTensor(),    Tensor(),     at(3).toIntVector(),
                at(4).toIntVector(), at(5).toIntVector(), at(6).toInt()};
  if (!at(2).isNone()) c.bias = at(2).toTensor();
  return c;
}

// Returns true if oneDNN has a kernel with AVX2 (jit_avx2_conv_fwd_kernel_f32::init_conf of oneDNN
// 2.6; it is a little stricter). If a group has one channel, and in three dimensions, matrix
// products do not divide their sums.
bool HasKernel(const Convolution& c) {
  constexpr int64_t kVector = 8, kPixels = 3, kWidth = 7;  // of a kernel: channels, pixels, taps
  const int64_t sides = c.weight.dim() - 2;
  if (c.Channels() == 1 || sides > 2) return true;
  if (c.groups > 1 && (c.Channels() % kVector != 0 || c.weight.size(0) / c.groups % kVector != 0)) {
    return false;
  }
  for (int64_t side = 0; side < sides; ++side) {
    const int64_t window = (c.weight.size(side + 2) - 1) * c.dilation[side] + 1;
    if (window <= c.padding[side]) return false;
  }
  const int64_t window = (c.weight.size(sides + 1) - 1) * c.dilation[sides - 1] + 1;
  const int64_t padding = c.padding[sides - 1];
  const int64_t width = (c.input.size(sides + 1) + 2 * padding - window) / c.stride[sides - 1] + 1;
  const auto all = [](const std::vector<int64_t>& values, int64_t value) {
    return std::ranges::all_of(values, [=](int64_t v) { return v == value; });
  };
  return padding <= std::min(kPixels, width) &&
         (c.weight.size(sides + 1) <= kWidth || all(c.padding, 0) || all(c.stride, 1));
}

// Returns the convolution as LibTorch computes it with BLAS, one group after the other.
Tensor InGroups(const Convolution& c) {
  std::vector<Tensor> outputs;
  const std::vector<Tensor> inputs = c.input.chunk(c.groups, 1);
  const std::vector<Tensor> weights = c.weight.chunk(c.groups, 0);
  for (int64_t group = 0; group < c.groups; ++group) {
    const Tensor& weight = weights[group];
    const Tensor bias = c.bias.defined() ? c.bias.chunk(c.groups, 0)[group] : Tensor();
    outputs.push_back(at::slow_conv_dilated2d(inputs[group].contiguous(), weight.contiguous(),
                                              weight.sizes().slice(2), bias, c.stride, c.padding,
                                              c.dilation));
  }
  return outputs.size() == 1 ? outputs.front() : torch::cat(outputs, 1);
}

// Replaces aten::mkldnn_convolution. LibTorch's own kernel is called by way of a device that has no
// other one.
void Compute(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const Convolution convolution = ArgumentsOf(*stack);
  if (convolution.weight.dim() != 4 || HasKernel(convolution)) {
    operation.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), stack);
    return;
  }
  torch::jit::drop(*stack, kArguments);
  stack->emplace_back(InGroups(convolution));
}

}  // namespace

void UsePortableConvolutions() {
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__,
                                __LINE__);
  static const bool once = [] {
    library.impl("mkldnn_convolution", torch::CppFunction::makeFromBoxedFunction<&Compute>());
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace legacy
