#include "compress/cpu/topk.h"
#include "compress/cuda/kernels/selection/dgc_kernels.h"
#include "compress/cuda/kernels/selection/topk_kernels.h"
#include "compress/cuda/kernels/vector_kernels.h"
#include "compress/schemes/memory.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::dgc_test {
namespace {

const std::vector<int64_t> kLayers = {1, 33, 0, 5000, 4096};
constexpr int kWorkers = 3;
constexpr double kLimit = 60;  // the gradients of two workers are longer

// Returns the layers of all workers.
SegmentTable Table() {
  std::vector<int64_t> lengths;
  for (int w = 0; w < kWorkers; ++w) lengths.insert(lengths.end(), kLayers.begin(), kLayers.end());
  return {test::Apart(lengths), kTile};
}

// Returns each worker's gradient as one segment.
SegmentTable Workers(const SegmentTable& table) {
  std::vector<Extent> extents;
  for (size_t w = 0; w < kWorkers; ++w) {
    const Extent first = table.extents()[w * kLayers.size()];
    const Extent last = table.extents()[(w + 1) * kLayers.size() - 1];
    extents.push_back({first.offset, last.offset + last.length - first.offset});
  }
  return {extents, kTile};
}

std::vector<float> Gradient(const SegmentTable& table, uint64_t step) {
  auto gradient = test::Normals(test::FlatSize(table), step);
  auto first = test::Part(gradient, Workers(table), 0);
  for (float& x : first) x *= 0.1f;
  return gradient;
}

// Returns the factor by which the trainer clips.
float Factor(std::span<const float> gradient) {
  const double norm = std::sqrt(cpu::SquaredNorm(gradient));
  return norm <= kLimit ? 1.0f : static_cast<float>(kLimit / norm);
}

struct State {
  std::vector<float> velocity, residual;
  std::vector<uint32_t> indices;
  std::vector<float> values;
};

// Takes a step of momentum, Top-K and masking.
void StepOnGpu(test::Device& device, const SegmentTable& table, const std::vector<float>& gradient,
               const std::vector<uint32_t>& k, const cpu::MomentumRule& options, State& state) {
  const test::Tables tables(table);
  const test::Buffer<float> gradients(gradient), velocity(state.velocity), residual(state.residual);
  const SegmentTable workers = Workers(table);
  const test::Tables worker_tables(workers);
  const test::Buffer<double> squares(kWorkers);
  const test::Buffer<float> factors(kWorkers);
  const test::Scratch sums([&](Workspace& workspace) { LayOutSums(workers, workspace); });
  Workspace sum_space = sums.workspace();
  LaunchSums<Square>(device, workers, worker_tables.view(), gradients.data(),
                     LayOutSums(workers, sum_space), squares.data());
  LaunchClipFactors(device, squares.data(), factors.data(), kWorkers, kLimit);
  LaunchMomentum(device, table, tables.view(),
                 {.gradient = gradients.data(),
                  .velocity = velocity.data(),
                  .residual = residual.data(),
                  .factors = factors.data(),
                  .layers = static_cast<int32_t>(kLayers.size())},
                 options);
  std::vector<int64_t> begin = {0};
  for (const uint32_t one : k) begin.push_back(begin.back() + one);
  const test::Buffer<uint32_t> ks(k), indices(begin.back());
  const test::Buffer<int64_t> begins(begin);
  const test::Buffer<float> values(begin.back());
  const TopKArrays arrays = {.residual = residual.data(),
                             .k = ks.data(),
                             .out = begins.data(),
                             .indices = indices.data(),
                             .values = values.data()};
  const auto lay_out = [&](Workspace& workspace) {
    return LayOutTopK(table, tables.view(), arrays, begin.back(), workspace);
  };
  const test::Scratch scratch(lay_out);
  Workspace workspace = scratch.workspace();
  LaunchTopK(device, lay_out(workspace), table.count(), table.tiles());
  LaunchClearSelected(device, tables.view(),
                      {begins.data(), ks.data(), indices.data(), values.data()}, begin.back(),
                      velocity.data(), residual.data());
  state = {velocity.Get(), residual.Get(), indices.Get(), values.Get()};
}

TEST(CudaDgc, StepsAreTheCpus) {
  const SegmentTable table = Table();
  std::vector<uint32_t> k;
  for (const Extent& extent : table.extents()) k.push_back((extent.length + 9) / 10);
  for (const bool nesterov : {false, true}) {
    std::vector<Memory> memories;
    for (const Extent& extent : table.extents()) {
      memories.emplace_back(MemoryOptions{.kind = MemoryKind::kMomentum, .nesterov = nesterov},
                            extent.length, 1);
    }
    State zero;
    zero.velocity.resize(test::FlatSize(table));
    zero.residual.resize(test::FlatSize(table));
    std::vector<State> expected;
    for (uint64_t step = 0; step < 4; ++step) {
      auto gradient = Gradient(table, step);
      State& state = expected.emplace_back(zero);
      for (size_t s = 0; s < memories.size(); ++s) {
        const float factor = Factor(test::Part(gradient, Workers(table), s / kLayers.size()));
        auto clipped = test::Part(gradient, table, s);
        std::vector<float> own(clipped.begin(), clipped.end());
        for (float& x : own) x *= factor;
        const auto residual = memories[s].Compensate(0, own);
        std::vector<float> values;
        const auto sent = cpu::SelectTopK(residual, k[s], &values);
        cpu::ClearAt(residual, sent);
        memories[s].MarkSent(0, sent);
        state.indices.insert(state.indices.end(), sent.begin(), sent.end());
        state.values.insert(state.values.end(), values.begin(), values.end());
        std::ranges::copy(residual, test::Part(state.residual, table, s).begin());
        std::ranges::copy(memories[s].Velocity(0), test::Part(state.velocity, table, s).begin());
      }
    }
    test::OnDevice([&](test::Device& device) {
      State state = zero;
      for (uint64_t step = 0; step < expected.size(); ++step) {
        StepOnGpu(device, table, Gradient(table, step), k, {.nesterov = nesterov}, state);
        EXPECT_EQ(state.indices, expected[step].indices) << step;
        EXPECT_TRUE(test::SameBits(state.values, expected[step].values)) << step;
        EXPECT_TRUE(test::SameBits(state.velocity, expected[step].velocity)) << step;
        EXPECT_TRUE(test::SameBits(state.residual, expected[step].residual)) << step;
      }
    });
  }
}

}  // namespace
}  // namespace legacy::cuda::dgc_test