// Rows share the setup: inputs, tables and scratch of a case on the device, selections by Top-K,
// bytes moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compress/cuda/bench/rows.h"
#include "compress/cuda/kernels/selection/topk.h"

namespace legacy::bench {

using cuda::Stream;

inline constexpr uint32_t kOtherSeed = 1000;  // beside a case's own, for a second input

inline int64_t Elements(const Case& c) { return c.elements(); }
inline int64_t Kept(const Case& c) { return c.kept(); }

// Bytes of `floats` floats for each element, read or written.
template <int floats>
double Floats(const Case& c) {
  return 4.0 * floats * static_cast<double>(c.elements());
}
// And a position and a value for each one kept.
template <int floats>
double KeptBytes(const Case& c) {
  return Floats<floats>(c) + 8.0 * static_cast<double>(c.kept());
}

inline float* Input(const Case& c, uint32_t seed, Arena& arena) {
  float* const values = arena.New<float>(c.elements());
  FillInput(c.input, seed, values, c.elements());
  return values;
}

// The tables of a case's vectors, on the host and on the device.
struct Tables {
  Tables(const Case& c, Arena& arena) : table(c.Table()) {
    std::vector<int64_t> words(table.Bytes() / sizeof(int64_t));
    table.Write(words.data());
    segments = table.View(arena.NewCopy(words));
  }
  cuda::SegmentTable table;
  cuda::Segments segments;
};

struct Scratch {
  Scratch(size_t size, Arena& arena)
      : memory(arena.New<std::byte>(static_cast<int64_t>(size))), bytes(size) {}
  void* memory;
  size_t bytes;
};

// A kernel that nothing has to be restored for.
inline Work Runs(std::function<void(Stream)> run) { return {.restore = {}, .run = std::move(run)}; }

// Room for what is selected of a case's vectors, which lie packed from `first` on.
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

inline void SelectTopK(const Tables& tables, const Selection& selection, const Scratch& scratch,
                       Stream stream) {
  cuda::SelectTopK(tables.table, tables.segments, selection.arrays, selection.kept, scratch.memory,
                   scratch.bytes, stream);
}

inline Scratch TopKScratch(const Tables& tables, int64_t kept, Arena& arena) {
  return {cuda::TopKWorkspaceBytes(tables.table, kept), arena};
}

// Restores what `residual` holds now, before each turn.
inline std::function<void()> Restores(float* residual, int64_t n, Arena& arena) {
  const int64_t bytes = n * static_cast<int64_t>(sizeof(float));
  float* const saved = arena.New<float>(n);
  CopyBytes(residual, saved, bytes);
  return [=] { CopyBytes(saved, residual, bytes); };
}

}  // namespace legacy::bench
