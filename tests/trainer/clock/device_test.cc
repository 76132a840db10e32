#include "trainer/clock/device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "trainer/clock/clock.h"
#include "trainer/clock/profile.h"

namespace legacy::device_test {
namespace {

// 10 processors of 1 GFLOP/s at 16 bits, and memory of 1 GB/s.
Device Toy() {
  return {.processors = 10,
          .product_flops_per_second = {{Precision::kFp32, 1e9}, {Precision::kBf16, 1e10}},
          .product_efficiency = 1,
          .scalar_efficiency = 1,
          .attention_efficiency = 0.5,
          .attention_efficiency_2024 = 0.5,
          .attention_efficiency_2025 = 0.5,
          .sustained = 1,
          .bytes_per_second = 1e9,
          .memory_efficiency = 1};
}

double Teraflops(const Device& device, double rows, double columns, double inner) {
  return 2e-12 * rows * columns * inner /
         ProductSeconds(device, Precision::kFp16, rows, columns, inner, 1);
}

// Ten tiles of 256 x 128 are one wave, and eleven are two.
TEST(Device, ProductsTakeWholeWavesOfTiles) {
  const Device device = Toy();
  const double wave = 2 * 256 * 128 * 4096 / 1e9;
  const auto seconds = [&](double rows) {
    return ProductSeconds(device, Precision::kBf16, rows, 128, 4096, 1);
  };
  EXPECT_DOUBLE_EQ(seconds(2560), wave);
  EXPECT_DOUBLE_EQ(seconds(20 * 256), 2 * wave);
  EXPECT_GT(seconds(2561), 1.05 * wave) << "a row more needs more than its share";
  EXPECT_LE(seconds(11 * 256), 2 * wave);
  EXPECT_DOUBLE_EQ(ProductSeconds(device, Precision::kBf16, 256, 128, 4096, 10), wave);
  EXPECT_DOUBLE_EQ(ProductSeconds(device, Precision::kFp32, 2560, 128, 4096, 1), 10 * wave);
}

// A result of one tile has a long inner dimension cut, so that several processors work on it.
TEST(Device, LongInnerDimensionsAreCut) {
  Device device = Toy();
  device.bytes_per_second = 1e15;
  const double whole = 2.0 * 256 * 128 * 65536 / 1e9;
  const double cut = ProductSeconds(device, Precision::kBf16, 256, 128, 65536, 1);
  EXPECT_LT(cut, whole / 5);
  EXPECT_GE(cut, whole / 10);
}

// Sustained fp16 products of an A100 80GB: Azure's AI-benchmarking-guide, ND_A100_v4.
TEST(Device, ProductsOfAnA100AreWithinAQuarterOfMeasuredOnes) {
  const Device device = *LoadProfile("a100-sxm-80").device;
  const std::vector<std::pair<double, double>> measured = {
      {1024, 119.4}, {2048, 221.8}, {4096, 228.0}, {8192, 253.7}, {16384, 256.5}};
  for (const auto& [size, teraflops] : measured) {
    EXPECT_LT(std::abs(std::log(Teraflops(device, size, size, size) / teraflops)), 0.25) << size;
  }
  EXPECT_LT(std::abs(std::log(Teraflops(device, 802816, 192, 768) / 157.8)), 0.3);
}

OperationCost Attention(double tokens, double heads, double size) {
  const double products = 2 * tokens * tokens * size * heads;
  return {.kind = "attention",
          .forward_flops = 2 * products,
          .forward_bytes = 4 * 4 * tokens * heads * size,
          .products = {{tokens, tokens, size, heads, true}, {tokens, size, tokens, heads, true}}};
}

// Forward and backward pass of attention as products in fp16, of 16k tokens and a width of 2048, as
// the pictures of flash-attention's repository print them; FLOPs as there.
TEST(Device, AttentionAsProductsIsWithinAThirdOfMeasuredOnes) {
  struct Measured {
    const char* profile;
    double head_size, tokens, teraflops;
  };
  const std::vector<Measured> measured = {
      {"a100-sxm-80", 64, 512, 36},  {"a100-sxm-80", 64, 1024, 40},  {"a100-sxm-80", 64, 4096, 45},
      {"a100-sxm-80", 128, 512, 53}, {"a100-sxm-80", 128, 2048, 76}, {"h100-sxm", 64, 512, 62},
      {"h100-sxm", 64, 2048, 81},    {"h100-sxm", 128, 1024, 120},   {"h100-sxm", 128, 2048, 145}};
  const ComputeOptions options = {.precision = Precision::kFp16, .kernels = KernelEra::k2022};
  for (const Measured& one : measured) {
    const Device device = *LoadProfile(one.profile).device;
    const double samples = 16384 / one.tokens;
    const OperationCost attention = Attention(one.tokens, 2048 / one.head_size, one.head_size);
    const double seconds = ForwardSecondsOn(device, options, attention, samples) +
                           BackwardSecondsOn(device, options, attention, samples);
    const double teraflops = 3.5e-12 * samples * attention.forward_flops / seconds;
    EXPECT_LT(std::abs(std::log(teraflops / one.teraflops)), 0.33)
        << one.profile << " " << one.head_size << " " << one.tokens << ": " << teraflops;
  }
}

TEST(Device, ErasDifferInWhatAttentionMoves) {
  const Device device = *LoadProfile("a100-sxm-80").device;
  const OperationCost attention = Attention(1024, 12, 64);
  const auto seconds = [&](KernelEra era) {
    return ForwardSecondsOn(device, {.precision = Precision::kBf16, .kernels = era}, attention, 8);
  };
  EXPECT_GT(seconds(KernelEra::k2020), seconds(KernelEra::k2022));
  EXPECT_GT(seconds(KernelEra::k2022), 2 * seconds(KernelEra::k2023));
  EXPECT_GT(seconds(KernelEra::k2023), 2 * seconds(KernelEra::k2024));
  EXPECT_EQ(seconds(KernelEra::k2024), seconds(KernelEra::kCompiled));
  EXPECT_EQ(seconds(KernelEra::k2024), seconds(KernelEra::k2025)) << "A100 has no newer one";
}

// TFLOP/s of fused attention with heads of 128 and a causal mask, forward and backward together, of
// which half of the scores count (scenarios/whole_steps/devices.md).
TEST(Device, CausalAttentionReachesMeasuredRates) {
  struct Measured {
    const char* profile;
    KernelEra kernels;
    double tokens, teraflops;
  };
  for (const Measured& one : {Measured{"a100-sxm-80", KernelEra::k2023, 2048, 69},
                              {"a100-sxm-80", KernelEra::k2023, 8192, 80},
                              {"a100-sxm-80", KernelEra::k2024, 2048, 155},
                              {"a100-sxm-80", KernelEra::k2024, 8192, 182},
                              {"h100-sxm", KernelEra::k2024, 2048, 265},
                              {"h100-sxm", KernelEra::kCompiled, 8192, 308}}) {
    Device device = *LoadProfile(one.profile).device;
    device.sustained = 1;  // in a short burst
    OperationCost attention = Attention(one.tokens, 16, 128);
    attention.causal = true;
    const ComputeOptions options = {.precision = Precision::kFp16, .kernels = one.kernels};
    const double seconds = ForwardSecondsOn(device, options, attention, 1) +
                           BackwardSecondsOn(device, options, attention, 1);
    const double teraflops = 3.5e-12 * attention.forward_flops / 2 / seconds;
    EXPECT_LT(std::abs(std::log(teraflops / one.teraflops)), 0.17)
        << one.profile << " " << one.tokens << ": " << teraflops;
  }
}

TEST(Device, MemoryBoundsOperationsByTheSizeOfNumbers) {
  const Device device = Toy();
  const OperationCost norm = {.kind = "batchnorm", .forward_bytes = 4000};
  EXPECT_DOUBLE_EQ(ForwardSecondsOn(device, {}, norm, 10), 40e-6);
  EXPECT_DOUBLE_EQ(ForwardSecondsOn(device, {.precision = Precision::kBf16}, norm, 10), 20e-6);
  EXPECT_DOUBLE_EQ(BackwardSecondsOn(device, {}, norm, 10), 80e-6);
  const OperationCost conv = {.kind = "conv", .forward_bytes = 4000};
  const ComputeOptions first = {.precision = Precision::kBf16, .layout = Layout::kChannelsFirst};
  EXPECT_DOUBLE_EQ(ForwardSecondsOn(device, first, conv, 10), 60e-6) << "copied before and after";
}

// A result of 10 x 100 numbers, to which a bias is added: written and read again in the forward
// pass of 2020, and summed in the backward pass.
TEST(Device, BiasesAreAddedApartWhereKernelsDoNotJoinThem) {
  const Device device = Toy();
  OperationCost plain = {.kind = "linear", .products = {{.rows = 1, .columns = 100, .inner = 1}}};
  OperationCost biased = plain;
  biased.products.front().bias = true;
  const auto added = [&](KernelEra era, bool backward) {
    const ComputeOptions options = {.precision = Precision::kBf16, .kernels = era};
    return backward ? BackwardSecondsOn(device, options, biased, 10) -
                          BackwardSecondsOn(device, options, plain, 10)
                    : ForwardSecondsOn(device, options, biased, 10) -
                          ForwardSecondsOn(device, options, plain, 10);
  };
  const double pass = 10 * 100 * 2 / 1e9;  // seconds
  EXPECT_NEAR(added(KernelEra::k2020, false), 2 * pass, 1e-12);
  EXPECT_NEAR(added(KernelEra::k2023, false), 0, 1e-12);
  EXPECT_NEAR(added(KernelEra::k2020, true), pass, 1e-12);
  EXPECT_NEAR(added(KernelEra::k2023, true), pass, 1e-12);
  plain.kind = biased.kind = "conv";
  EXPECT_NEAR(added(KernelEra::k2023, false), 2 * pass, 1e-12);
  EXPECT_NEAR(added(KernelEra::kCompiled, false), 0, 1e-12);
}

// 500 numbers are read and written.
TEST(Device, LossesComputeInFp32) {
  const Device device = Toy();
  const OperationCost loss = {.kind = "loss", .forward_bytes = 4000};
  const ComputeOptions half = {.precision = Precision::kBf16};
  EXPECT_DOUBLE_EQ(ForwardSecondsOn(device, {}, loss, 10), 40e-6);
  EXPECT_DOUBLE_EQ(BackwardSecondsOn(device, {}, loss, 10), 80e-6);
  EXPECT_DOUBLE_EQ(ForwardSecondsOn(device, half, loss, 10), (40 + 30) * 1e-6) << "and a cast";
  EXPECT_DOUBLE_EQ(BackwardSecondsOn(device, half, loss, 10), (80 + 30) * 1e-6);
  const ComputeOptions compiled = {.precision = Precision::kBf16, .kernels = KernelEra::kCompiled};
  EXPECT_DOUBLE_EQ(ForwardSecondsOn(device, compiled, loss, 10), 20e-6) << "joined with it";
}

// A linear layer of a block with inputs of 4096 x 256 and 256 x 2560 numbers: products at twice the
// rate of bf16, and casts of both inputs, in the backward pass of the result's gradient too.
TEST(Device, LinearLayersOfBlocksMultiplyInFp8) {
  Device device = Toy();
  device.product_flops_per_second[Precision::kBf16Fp8] = 2e10;
  device.fp8_efficiency = 1;
  OperationCost linear = {
      .kind = "linear", .products = {{.rows = 2048, .columns = 2560, .inner = 256}}, .block = 0};
  const ComputeOptions wide = {.precision = Precision::kBf16};
  const ComputeOptions narrow = {.precision = Precision::kBf16Fp8};
  const double factors = 4096 * 256 + 256 * 2560, result = 4096 * 2560;
  EXPECT_NEAR(ForwardSecondsOn(device, narrow, linear, 2),
              ForwardSecondsOn(device, wide, linear, 2) / 2 + 5e-9 * factors, 1e-9);
  EXPECT_NEAR(BackwardSecondsOn(device, narrow, linear, 2),
              BackwardSecondsOn(device, wide, linear, 2) / 2 + 5e-9 * (factors + result), 1e-9);
  // Transformer Engine casts each of them once, and writes it in both orders.
  const ComputeOptions engine = {.precision = Precision::kBf16Fp8, .kernels = KernelEra::k2025};
  EXPECT_NEAR(ForwardSecondsOn(device, engine, linear, 2),
              ForwardSecondsOn(device, wide, linear, 2) / 2 + 6e-9 * 4096 * 256, 1e-9);
  EXPECT_NEAR(BackwardSecondsOn(device, engine, linear, 2),
              BackwardSecondsOn(device, wide, linear, 2) / 2 + 6e-9 * result, 1e-9);
  linear.block = kNoBlock;
  EXPECT_EQ(ForwardSecondsOn(device, narrow, linear, 2), ForwardSecondsOn(device, wide, linear, 2))
      << "heads stay as they are";
}

TEST(Device, Fp8IsPricedWhereADataSheetHasIt) {
  EXPECT_NO_THROW(LoadProfile("h100-sxm").CheckPrecision(Precision::kBf16Fp8));
  for (const char* profile : {"a100-sxm-80", "cpu-reference"}) {
    EXPECT_THROW(LoadProfile(profile).CheckPrecision(Precision::kBf16Fp8), Error) << profile;
  }
}

Profile ToyProfile() {
  Profile profile;
  profile.name = "toy";
  profile.device = Toy();
  profile.kernels[kOptimizerKernel] = {0, 0};
  profile.kernels["accumulate"] = {0, 0};
  return profile;
}

// A block of a norm, an activation and a product, and a head.
std::vector<OperationCost> BlockAndHead() {
  return {{.kind = "batchnorm", .forward_bytes = 3e6, .parameters = {0}, .block = 0},
          {.kind = "elementwise", .forward_bytes = 2e6, .block = 0},
          {.kind = "linear", .forward_flops = 1e6, .parameters = {1}, .block = 0},
          {.kind = "linear", .forward_flops = 5e6, .parameters = {2}}};
}

double ComputeSecondsWith(const Profile& profile, const ComputeOptions& options) {
  const std::vector<int64_t> numels = {1, 1, 1};
  return Clock(profile, BlockAndHead(), numels, {}, {kOptimizerKernel}, options).ComputeSeconds(1);
}

TEST(Device, WhatIsComputedAgainIsChargedInTheBackwardPass) {
  const Profile profile = ToyProfile();
  const double once = ComputeSecondsWith(profile, {});
  EXPECT_DOUBLE_EQ(once, 3 * (3e-3 + 2e-3 + 1e-3 + 5e-3));
  EXPECT_DOUBLE_EQ(ComputeSecondsWith(profile, {.recompute = Recompute::kFull}), once + 6e-3);
  EXPECT_DOUBLE_EQ(ComputeSecondsWith(profile, {.recompute = Recompute::kSelective}), once)
      << "there is no attention";
}

TEST(Device, CompiledChainsMoveWhatTheirLargestOperationMoves) {
  EXPECT_DOUBLE_EQ(ComputeSecondsWith(ToyProfile(), {.kernels = KernelEra::kCompiled}),
                   3 * (3e-3 + 1e-3 + 5e-3));
}

// The host launches 4 operations, then twice as many; the device waits for each part.
TEST(Device, StepsEndNoSoonerThanTheHostHasLaunchedThem) {
  Profile profile = ToyProfile();
  profile.device->host_seconds = 10e-3;
  EXPECT_DOUBLE_EQ(ComputeSecondsWith(profile, {}), 120e-3);
  const std::vector<int64_t> numels = {1, 1, 1};
  const Clock clock(profile, BlockAndHead(), numels);
  StepWork work{.step = 0, .workers = 1, .batch_size = 1};
  work.buckets.push_back({{2}, 1, {}});
  work.buckets.push_back({{0, 1}, 2, {}});
  const PricedStep step = clock.Price(work, {});
  EXPECT_EQ(step.traffic.buckets[0].ready[0], 60'000'000);
  EXPECT_EQ(step.traffic.buckets[1].ready[0], 120'000'000);
  EXPECT_EQ(step.compute[0], 120'000'000);
  profile.device->host_seconds = 1e-6;
  EXPECT_DOUBLE_EQ(ComputeSecondsWith(profile, {}), 33e-3) << "hidden";
}

TEST(Device, PrecisionsWithoutAPriceAreRefused) {
  const auto complaint = [](const char* name, Precision precision) -> std::string {
    try {
      LoadProfile(name).CheckPrecision(precision);
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(complaint("v100-sxm", Precision::kBf16),
            "profile 'v100-sxm': precision: got 'bf16'; allowed: fp32, fp16");
  EXPECT_EQ(complaint("h100", Precision::kFp16),
            "profile 'h100': precision: got 'fp16'; allowed: fp32, tf32");
  EXPECT_EQ(complaint("a100-datasheet", Precision::kBf16), "none");
  EXPECT_EQ(complaint("b200", Precision::kTf32), "none");
}

TEST(Device, ProfilesReadBackTheirOwnText) {
  const Profile profile = LoadProfile("mi300x");
  EXPECT_EQ(FormatProfile(ParseProfile(FormatProfile(profile), "again")), FormatProfile(profile));
  EXPECT_EQ(profile.device->processors, 304);
}

}  // namespace
}  // namespace legacy::device_test
