// Compares a step's kernels, run block by block, with the host's own loops: the bits are the same.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "compress/cpu/vector.h"
#include "compress/cuda/device/host_device.h"
#include "tests/compress/test_data.h"
#include "trainer/cuda/step_kernels_on.h"
#include "trainer/optimizer.h"

namespace legacy::step_kernels_test {
namespace {

std::vector<Unit> Layers(const std::vector<int64_t>& numels) {
  std::vector<Unit> layers;
  for (const int64_t numel : numels) {
    Unit unit;
    unit.offset = layers.empty() ? 0 : layers.back().offset + layers.back().numel;
    unit.numel = numel;
    layers.push_back(unit);
  }
  return layers;
}

const std::vector<int64_t> kNumels = {5000, 1, 31, 4096, 12345, 10};
constexpr int64_t kAll = 5000 + 1 + 31 + 4096 + 12345 + 10;

template <class Check>
void InAllOrders(Check check) {
  for (const auto order :
       {cuda::Order::kForward, cuda::Order::kBackward, cuda::Order::kScattered}) {
    StepKernelsOn<cuda::HostDevice> kernels(cuda::HostDevice(order), Layers(kNumels));
    check(kernels);
  }
}

TEST(StepKernels, TheOptimizersStepHasTheBitsOfTheHost) {
  const auto gradient = test::Normals(kAll, 1);
  for (const SgdOptions& options : {SgdOptions{0, 0, false}, SgdOptions{0, 1e-2, false},
                                    SgdOptions{0.9, 5e-4, false}, SgdOptions{0.9, 5e-4, true}}) {
    auto expected = test::Normals(kAll, 2);
    const auto sgd = MakeOptimizer(kAll, options);
    for (int step = 0; step < 3; ++step) sgd->Update(expected, gradient, {.learning_rate = 0.1});
    InAllOrders([&](StepKernels& kernels) {
      auto weights = test::Normals(kAll, 2);
      std::vector<float> velocity(kAll);
      for (int step = 0; step < 3; ++step) {
        kernels.Update(KindOf(options), RatesOf(options, 0.1),
                       {gradient.data(), weights.data(), velocity.data()});
      }
      EXPECT_EQ(weights, expected);
    });
  }
}

TEST(StepKernels, ClippingHasTheBitsOfTheHost) {
  const auto gradient = test::Normals(kAll, 3);
  const double norm = std::sqrt(cpu::SquaredNorm(gradient));
  for (const double limit : {norm / 3, norm, norm * 2}) {
    auto expected = gradient;
    if (norm > limit) cpu::Scale(expected, static_cast<float>(limit / norm));
    InAllOrders([&](StepKernels& kernels) {
      auto clipped = gradient;
      kernels.Clip(clipped.data(), limit);
      EXPECT_EQ(clipped, expected);
    });
  }
}

TEST(StepKernels, WhatIsNotFiniteIsFoundInItsLayer) {
  auto gradient = test::Normals(kAll, 4);
  gradient[5000] = -std::numeric_limits<float>::infinity();
  gradient[5032 + 7] = std::nanf("");
  gradient[5032 + 4000] = std::nanf("");
  InAllOrders([&](StepKernels& kernels) {
    std::vector<uint32_t> largest(kNumels.size()), first(kNumels.size());
    kernels.FindLargest(gradient.data(), largest.data(), first.data());
    constexpr uint32_t kNone = 0xFFFFFFFF;
    EXPECT_EQ(first, (std::vector<uint32_t>{kNone, 0, kNone, 7, kNone, kNone}));
    EXPECT_TRUE(std::isinf(std::bit_cast<float>(largest[1])));
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(largest[3])));
    EXPECT_EQ(std::bit_cast<float>(largest[2]), cpu::AbsMax(std::span(gradient).subspan(5001, 31)));
  });
}

}  // namespace
}  // namespace legacy::step_kernels_test