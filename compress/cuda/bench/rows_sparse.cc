// Kernels that select, draw or add parts of vectors.
#include <algorithm>
#include <cmath>
#include <memory>

#include "compress/cuda/bench/setup.h"
#include "compress/cuda/kernels/selection/entries_kernels.h"
#include "compress/cuda/kernels/selection/random_subset_kernels.h"
#include "compress/cuda/kernels/selection/sampled_kernels.h"
#include "compress/cuda/kernels/selection/sparse_sum_kernels.h"
#include "compress/cuda/kernels/selection/threshold_kernels.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::bench {
namespace {

// -------------------------------------------------------------------------------------------------
// Top-K

Work TopK(const Case& c, uint32_t seed, Arena& arena, bool feedback) {
  const Tables tables(c, arena);
  Selection selection(c, 0, arena);
  selection.arrays.residual = Input(c, seed, arena);
  if (feedback) selection.arrays.gradient = Input(c, seed + kOtherSeed, arena);
  selection.arrays.indices = arena.New<uint32_t>(selection.kept);
  selection.arrays.values = arena.New<float>(selection.kept);
  const cuda::TopKJob job = LayOutTopK(tables, selection, arena);
  Work work = Runs([=](StreamDevice device) { LaunchTopK(tables, job, device); });
  if (feedback) work.restore = Restores(selection.arrays.residual, c.elements(), arena);
  return work;
}
Work TopKAlone(const Case& c, uint32_t seed, Arena& arena) { return TopK(c, seed, arena, false); }
Work TopKFeedback(const Case& c, uint32_t seed, Arena& arena) { return TopK(c, seed, arena, true); }

// -------------------------------------------------------------------------------------------------
// Thresholds that select the same elements as Top-K

// Returns the k-th largest magnitude of each vector of `gradient` + `residual`.
std::vector<float> KthMagnitudes(const Case& c, const Tables& tables, const float* gradient,
                                 const float* residual) {
  Arena arena;
  const int64_t n = c.elements();
  Selection selection(c, 0, arena);
  float* const sums = arena.New<float>(n);
  CopyFloats(residual, sums, n);
  StreamDevice now(nullptr);
  cuda::LaunchMap(now, cuda::AddRule{}, gradient, sums, n);
  selection.arrays.residual = sums;
  selection.arrays.indices = arena.New<uint32_t>(selection.kept);
  selection.arrays.values = arena.New<float>(selection.kept);
  SelectTopK(tables, selection, arena);
  const std::vector<float> values = Download(selection.arrays.values, selection.kept);
  std::vector<float> thresholds;
  size_t at = 0;
  for (const int64_t kept : c.EachKept()) {
    float least = std::abs(values[at]);
    for (int64_t i = 0; i < kept; ++i) least = std::min(least, std::abs(values[at++]));
    thresholds.push_back(least);
  }
  return thresholds;
}

Work Threshold(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const int64_t capacity = 2 * c.kept();
  const int32_t vectors = tables.table.count();
  float* const residual = Input(c, seed, arena);
  const float* const gradient = Input(c, seed + kOtherSeed, arena);
  const cuda::ThresholdArrays arrays = {
      .gradient = gradient,
      .residual = residual,
      .thresholds = arena.NewCopy(KthMagnitudes(c, tables, gradient, residual)),
      .capacity = capacity,
      .indices = arena.New<uint32_t>(capacity),
      .values = arena.New<float>(capacity),
      .begin = arena.New<int64_t>(vectors + 1),
      .count = arena.New<uint32_t>(vectors),
      .left_out = arena.New<int64_t>(1),
      .non_finite = arena.New<uint32_t>(vectors)};
  const cuda::ThresholdJob job = LayOut(arena, [&](Workspace& workspace) {
    return cuda::LayOutThreshold(tables.table, tables.segments, arrays, workspace);
  });
  Work work = Runs([=](StreamDevice device) { cuda::LaunchThreshold(device, job, tables.table); });
  work.restore = Restores(residual, c.elements(), arena);
  return work;
}

// Counts the elements that reach Top-K's threshold and lower ones, which DGC's rules do before they
// choose a threshold.
Work CountAtLeast(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const int32_t vectors = tables.table.count();
  float* const values = Input(c, seed, arena);
  const float* const zeros = arena.NewCopy(std::vector<float>(c.elements()));
  const float* const thresholds = arena.NewCopy(KthMagnitudes(c, tables, zeros, values));
  uint32_t* const counts = arena.New<uint32_t>(vectors * cuda::kSampledThresholds);
  uint32_t* const non_finite = arena.New<uint32_t>(vectors);
  return Runs([=](StreamDevice device) {
    cuda::LaunchCountAtLeast(device, tables.table, tables.segments, values, thresholds, counts,
                             non_finite);
  });
}

// -------------------------------------------------------------------------------------------------
// Random-K: draws positions, and takes the values there

Work RandomSubset(const Case& c, uint32_t seed, Arena& arena) {
  std::vector<cuda::SubsetUnit> units;
  std::vector<RandomKey> keys;
  int64_t offset = 0, out = 0;
  const std::vector<int64_t> kept = c.EachKept();
  for (size_t i = 0; i < kept.size(); ++i) {
    units.push_back({.n = c.lengths[i], .k = kept[i], .out = out, .offset = offset});
    keys.push_back({.seed = seed, .layer = static_cast<uint32_t>(i), .purpose = Purpose::kRandomK});
    offset += c.lengths[i];
    out += kept[i];
  }
  const auto table = std::make_shared<cuda::SubsetTable>(units);
  const cuda::Subsets subsets = Upload(*table, arena);
  const RandomKey* const on_device = arena.NewCopy(keys);
  uint32_t* const positions = arena.New<uint32_t>(out);
  float* const values = arena.New<float>(out);
  float* const flat = Input(c, seed, arena);
  uint32_t* const non_finite = arena.New<uint32_t>(table->count());
  const cuda::SubsetJob job = LayOut(arena, [&](Workspace& workspace) {
    return cuda::LayOutSubsets(*table, subsets, on_device, positions, workspace);
  });
  return Runs([=](StreamDevice device) {
    cuda::LaunchSubsets(device, *table, job);
    cuda::LaunchTake(device, *table, subsets, positions, flat, /*clear=*/false, values, non_finite);
  });
}
// A bitmap of all elements is written and read twice. For each selected element a sector of 32
// bytes is read, and its position and value are written.
double RandomSubsetBytes(const Case& c) {
  return 0.375 * static_cast<double>(c.elements()) + 40 * static_cast<double>(c.kept());
}

// -------------------------------------------------------------------------------------------------
// Storing quantisation errors at the positions that Top-K selected

Work PutEntries(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  Selection selection(c, 0, arena);
  const int64_t kept = selection.kept;
  float* const flat = Input(c, seed, arena);
  selection.arrays.residual = flat;
  selection.arrays.indices = arena.New<uint32_t>(kept);
  selection.arrays.values = arena.New<float>(kept);
  SelectTopK(tables, selection, arena);
  const cuda::PackedLists lists = {selection.arrays.out, selection.arrays.k,
                                   selection.arrays.indices, selection.arrays.values};
  return Runs([=](StreamDevice device) {
    cuda::LaunchPutEntries(device, tables.segments, lists, kept, flat);
  });
}
// For each entry, position and value are read, and a sector of 32 bytes is written.
double PutEntriesBytes(const Case& c) { return 40 * static_cast<double>(c.kept()); }

// -------------------------------------------------------------------------------------------------
// The sum of the Top-K selections of kWorkers workers

constexpr int32_t kWorkers = 8;

Work SparseSum(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const int64_t kept = c.kept();
  uint32_t* const indices = arena.New<uint32_t>(kWorkers * kept);
  float* const values = arena.New<float>(kWorkers * kept);
  std::vector<int64_t> begin;
  std::vector<uint32_t> count;
  for (int32_t w = 0; w < kWorkers; ++w) {
    Arena temporary;
    Selection selection(c, w * kept, temporary);
    selection.arrays.residual = Input(c, seed + kOtherSeed * w, temporary);
    selection.arrays.indices = indices;
    selection.arrays.values = values;
    SelectTopK(tables, selection, temporary);
    int64_t at = w * kept;
    for (const int64_t of_a_vector : c.EachKept()) {
      begin.push_back(at);
      count.push_back(static_cast<uint32_t>(of_a_vector));
      at += of_a_vector;
    }
  }
  const cuda::PackedLists lists = {arena.NewCopy(begin), arena.NewCopy(count), indices, values};
  float* const sum = Input(c, seed, arena);
  const cuda::SparseSumOptions options = {.workers = kWorkers, .divisor = kWorkers};
  return Runs([=](StreamDevice device) {
    cuda::LaunchSparseSum(device, tables.table, tables.segments, lists, options, sum);
  });
}
double SparseSumBytes(const Case& c) {
  return Floats<2>(c) + 8.0 * kWorkers * static_cast<double>(c.kept());
}

}  // namespace

std::vector<Row> SparseRows() {
  return {{"topk.feedback", nullptr, nullptr, true, KeptBytes<3>, TopKFeedback},
          {"topk", "topk.encode", Elements, true, KeptBytes<1>, TopKAlone},
          {"threshold.feedback", nullptr, nullptr, true, KeptBytes<3>, Threshold},
          {"sampled.count", nullptr, nullptr, true, Floats<1>, CountAtLeast},
          {"random-subset", nullptr, nullptr, true, RandomSubsetBytes, RandomSubset},
          {"entries.put", nullptr, nullptr, true, PutEntriesBytes, PutEntries},
          {"sparse-sum-of-8", nullptr, nullptr, true, SparseSumBytes, SparseSum}};
}

}  // namespace legacy::bench
