// What rows have in common: inputs, tables and scratch of a case on the device, bytes moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compress/cuda/bench/rows.h"

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

}  // namespace legacy::bench
