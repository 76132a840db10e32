// A vector is four neighbouring elements in one access (16 bytes of floats), where memory is
// aligned for it. The threads of a block share a tile by vectors.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "compress/cuda/device/block.h"
#include "compress/cuda/device/segments.h"

namespace legacy::cuda {

inline constexpr int kVector = 4;

template <class T>
struct alignas(kVector * sizeof(T)) Vector {
  T elements[kVector];
};

template <class T>
LEGACY_DEVICE bool IsVectorAligned(const T* at) {
  return reinterpret_cast<uintptr_t>(at) % sizeof(Vector<T>) == 0;
}

// Loads a T from an address that is a multiple of its alignment. At another address a GPU refuses
// the access, and on the host a sanitizer reports the reference.
template <class T>
LEGACY_DEVICE T LoadAligned(const void* from) {
  const T& place = *static_cast<const T*>(from);
#if defined(__CUDACC__)
  return place;
#else
  T value;
  std::memcpy(&value, &place, sizeof(T));
  return value;
#endif
}
template <class T>
LEGACY_DEVICE void StoreAligned(const T& value, void* to) {
  T& place = *static_cast<T*>(to);
#if defined(__CUDACC__)
  place = value;
#else
  std::memcpy(&place, &value, sizeof(T));
#endif
}

template <class T>
LEGACY_DEVICE void LoadVector(const T* from, T* to) {
  const auto vector = LoadAligned<Vector<T>>(from);
  LEGACY_UNROLL
  for (int i = 0; i < kVector; ++i) to[i] = vector.elements[i];
}
template <class T>
LEGACY_DEVICE void StoreVector(const T* from, T* to) {
  Vector<T> vector;
  LEGACY_UNROLL
  for (int i = 0; i < kVector; ++i) vector.elements[i] = from[i];
  StoreAligned(vector, to);
}

// A tile of kElements elements, of which each thread owns kVectors vectors; neighbouring threads
// own neighbouring vectors. Owned elements are counted by vectors: i / kVector is the number of the
// vector.
template <int kThreads, int kVectors>
struct TileVectors {
  static constexpr int kOwn = kVector * kVectors;
  static constexpr int64_t kElements = int64_t{kThreads} * kOwn;
  template <class T>
  using Own = std::array<T, kOwn>;

  // Returns the position in the tile of a thread's element i.
  static constexpr int Position(int thread, int i) {
    return (i / kVector * kThreads + thread) * kVector + i % kVector;
  }
  // Returns true if a tile of a flat buffer can be read and written by vectors.
  template <class T>
  static LEGACY_DEVICE bool ByVectors(const T* flat, const Tile& tile) {
    return tile.end - tile.begin == kElements && IsVectorAligned(flat + tile.offset + tile.begin);
  }
  // Reads a thread's elements of a tile; elements after the end of the segment are T().
  template <class T>
  static LEGACY_DEVICE void Read(const T* flat, const Tile& tile, bool by_vectors, int thread,
                                 Own<T>& own) {
    const T* const segment = flat + tile.offset;
    if (by_vectors) {
      LEGACY_UNROLL
      for (int i = 0; i < kOwn; i += kVector) {
        LoadVector(segment + tile.begin + Position(thread, i), &own[i]);
      }
      return;
    }
    LEGACY_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const int64_t at = tile.begin + Position(thread, i);
      own[i] = at < tile.end ? segment[at] : T();
    }
  }
  // Returns true if e = g + r can be read by vectors; `gradient` may be null.
  static LEGACY_DEVICE bool SumByVectors(const float* gradient, const float* residual,
                                         const Tile& tile) {
    return ByVectors(residual, tile) && (!gradient || ByVectors(gradient, tile));
  }
  // Reads a thread's elements of e = g + r; `gradient` may be null.
  static LEGACY_DEVICE Own<float> ReadSum(const float* gradient, const float* residual,
                                          const Tile& tile, int thread) {
    const bool by_vectors = SumByVectors(gradient, residual, tile);
    Own<float> sum, other;
    Read(residual, tile, by_vectors, thread, sum);
    if (!gradient) return sum;
    Read(gradient, tile, by_vectors, thread, other);
    LEGACY_UNROLL
    for (int i = 0; i < kOwn; ++i) sum[i] = other[i] + sum[i];
    return sum;
  }
  template <class T>
  static LEGACY_DEVICE void Write(const Own<T>& own, const Tile& tile, bool by_vectors, int thread,
                                  T* flat) {
    T* const segment = flat + tile.offset;
    if (by_vectors) {
      LEGACY_UNROLL
      for (int i = 0; i < kOwn; i += kVector) {
        StoreVector(&own[i], segment + tile.begin + Position(thread, i));
      }
      return;
    }
    LEGACY_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const int64_t at = tile.begin + Position(thread, i);
      if (at < tile.end) segment[at] = own[i];
    }
  }
};

// VectorCounts is the number of a thread's selected elements in each of its vectors, 16 bits each.
// The sums over the threads before, and over all threads, give the rank in the tile of a thread's
// next selected element.
struct VectorCounts {
  static constexpr int kField = 16;
  static constexpr uint64_t One(int i) { return uint64_t{1} << i / kVector * kField; }
  static constexpr uint32_t Of(uint64_t counts, int vector) {
    return static_cast<uint32_t>(counts >> vector * kField) & 0xFFFF;
  }
  static constexpr uint32_t Total(uint64_t counts) {
    return Of(counts, 0) + Of(counts, 1) + Of(counts, 2) + Of(counts, 3);
  }
};

}  // namespace legacy::cuda
