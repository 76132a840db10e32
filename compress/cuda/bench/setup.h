// Setup that rows share: inputs, tables and scratch memory of a case on the device, selections by
// Top-K, bytes moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compress/cuda/bench/rows.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/selection/topk_kernels.h"

namespace legacy::bench {

using cuda::StreamDevice;
using cuda::Workspace;

// Added to a case's own seed for a second input.
inline constexpr uint32_t kOtherSeed = 1000;

inline int64_t Elements(const Case& c) { return c.elements(); }
inline int64_t Kept(const Case& c) { return c.kept(); }

// Returns the bytes of `floats` floats per element, read or written.
template <int floats>
double Floats(const Case& c) {
  return 4.0 * floats * static_cast<double>(c.elements());
}
// Adds a position and a value for each selected element.
template <int floats>
double KeptBytes(const Case& c) {
  return Floats<floats>(c) + 8.0 * static_cast<double>(c.kept());
}

inline float* Input(const Case& c, uint32_t seed, Arena& arena) {
  float* const values = arena.New<float>(c.elements());
  FillInput(c.input, seed, values, c.elements());
  return values;
}

// Uploads a table and returns the view of the device's copy.
template <class Table>
auto Upload(const Table& table, Arena& arena) {
  std::vector<std::byte> image(table.Bytes());
  table.Write(image.data());
  return table.View(arena.NewCopy(image));
}

// The tables of a case's vectors, on the host and on the device.
struct Tables {
  Tables(const Case& c, Arena& arena) : table(c.Table()), segments(Upload(table, arena)) {}
  cuda::SegmentTable table;
  cuda::Segments segments;
};

// Returns layout(workspace), with as much scratch memory as it requests.
template <class Layout>
auto LayOut(Arena& arena, Layout layout) {
  const size_t bytes = Workspace::BytesFor(layout);
  Workspace workspace(arena.New<std::byte>(static_cast<int64_t>(bytes)), bytes);
  return layout(workspace);
}

// Returns the work of a kernel that overwrites nothing that it reads.
inline Work Runs(std::function<void(StreamDevice)> run) {
  return {.restore = {}, .run = std::move(run)};
}

// Room for the selected elements of a case's vectors, packed from index `first` on.
struct Selection {
  Selection(const Case& c, int64_t first, Arena& arena) {
    std::vector<uint32_t> k;
    std::vector<int64_t> begin = {first};
    for (const int64_t of_a_vector : c.EachKept()) {
      k.push_back(static_cast<uint32_t>(of_a_vector));
      begin.push_back(begin.back() + of_a_vector);
    }
    arrays.k = arena.NewCopy(k);
    arrays.out = arena.NewCopy(begin);
    kept = begin.back() - first;
  }
  cuda::TopKArrays arrays;
  int64_t kept = 0;
};

inline cuda::TopKJob LayOutTopK(const Tables& tables, const Selection& selection, Arena& arena) {
  return LayOut(arena, [&](Workspace& workspace) {
    return cuda::LayOutTopK(tables.table, tables.segments, selection.arrays, selection.kept,
                            workspace);
  });
}

inline void LaunchTopK(const Tables& tables, const cuda::TopKJob& job, StreamDevice device) {
  cuda::LaunchTopK(device, job, tables.table.count(), tables.table.tiles());
}

// Selects once, on the default stream.
inline void SelectTopK(const Tables& tables, const Selection& selection, Arena& arena) {
  LaunchTopK(tables, LayOutTopK(tables, selection, arena), StreamDevice(nullptr));
}

// Saves the present contents of `residual`; the result restores them before each turn.
inline std::function<void()> Restores(float* residual, int64_t n, Arena& arena) {
  const int64_t bytes = n * static_cast<int64_t>(sizeof(float));
  float* const saved = arena.New<float>(n);
  CopyBytes(residual, saved, bytes);
  return [=] { CopyBytes(saved, residual, bytes); };
}

}  // namespace legacy::bench
