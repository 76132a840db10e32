// Gram-Schmidt orthonormalisation of many small bases at once (Orthonormalise of
// schemes/matrices/low_rank.h), with a block for each basis.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/cuda/device/block.h"
#include "compress/schemes/matrices/low_rank.h"

namespace legacy::cuda {

// A basis of `count` vectors of `length` floats, one after the other.
struct Basis {
  int64_t offset = 0;
  int64_t length = 0;
  int32_t count = 0;
  int64_t work = 0;  // first of its doubles, set by SetWork()
};

// Takes each vector in double precision, subtracts its projections on the vectors before it, in
// groups and twice, and divides it by its length, or sets it to zero. Every thread reads and writes
// its own elements only. The block waits for sums alone: two per vector, and four per group of
// vectors before it.
struct OrthonormaliseBasis {
  static constexpr int kThreads = 512;
  static constexpr int kBlocksTogether = 1;
  static constexpr int kGroup = 8;  // number of dot products at a time
  static constexpr int kWarps = kThreads / kWarp;
  struct Args {
    const Basis* bases;
    float* vectors;
    double* work;  // one double for each float of the bases
  };
  struct Shared {
    std::array<std::array<double, kGroup>, kWarps> warps;
    std::array<double, kGroup> sums;
  };
  template <class Block>
  using Terms = std::array<typename Block::template PerThread<double>, kGroup>;

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Basis basis = args.bases[block.index()];
    for (int32_t c = 0; c < basis.count; ++c) {
      float* const vector = args.vectors + basis.offset + c * basis.length;
      double* const others = args.work + basis.work;
      double* const x = others + c * basis.length;
      ForOwn(block, basis.length, [&](int64_t i) { x[i] = vector[i]; });
      const double before = Norm(block, x, basis.length);
      for (int pass = 0; pass < 2; ++pass) {
        for (int32_t first = 0; first < c; first += kGroup) {
          const int32_t count = c - first < kGroup ? c - first : kGroup;
          Project(block, others + first * basis.length, count, basis.length, x);
        }
      }
      const double after = Norm(block, x, basis.length);
      const bool depends = after <= kDependent * before;
      ForOwn(block, basis.length, [&](int64_t i) {
        x[i] = depends ? 0.0 : x[i] / after;  // A projection on the zero vector is zero.
        vector[i] = static_cast<float>(x[i]);
      });
    }
  }

 private:
  // Calls own(i) for the elements of each thread.
  template <class Block, class Own>
  static LEGACY_DEVICE void ForOwn(Block& block, int64_t length, Own own) {
    block.ForEachThread([&](int thread) {
      for (int64_t i = thread; i < length; i += kThreads) own(i);
    });
  }

  // Computes the sums of the threads' terms for all threads, always in the same order.
  template <class Block>
  static LEGACY_DEVICE void Sum(Block& block, Terms<Block>& terms, int count) {
    Shared& shared = block.shared();
    LEGACY_UNROLL
    for (int g = 0; g < kGroup; ++g) {
      if (g < count) block.FoldSum(terms[g]);
    }
    block.ForEachThread([&](int thread) {
      if (thread % kWarp != 0) return;
      LEGACY_UNROLL
      for (int g = 0; g < kGroup; ++g) {
        if (g < count) shared.warps[thread / kWarp][g] = terms[g][thread];
      }
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread >= count) return;
      double sum = 0;
      LEGACY_UNROLL
      for (int w = 0; w < kWarps; ++w) sum += shared.warps[w][thread];
      shared.sums[thread] = sum;
    });
    block.Sync();
  }

  template <class Block>
  static LEGACY_DEVICE double Norm(Block& block, const double* x, int64_t length) {
    Terms<Block> terms;
    block.ForEachThread([&](int thread) {
      double sum = 0;
      for (int64_t i = thread; i < length; i += kThreads) sum += x[i] * x[i];
      terms[0][thread] = sum;
    });
    Sum(block, terms, 1);
    return std::sqrt(block.shared().sums[0]);
  }

  // Subtracts from x its projections on `count` vectors.
  template <class Block>
  static LEGACY_DEVICE void Project(Block& block, const double* others, int32_t count,
                                    int64_t length, double* x) {
    Terms<Block> terms;
    block.ForEachThread([&](int thread) {
      std::array<double, kGroup> sums{};
      for (int64_t i = thread; i < length; i += kThreads) {
        const double own = x[i];
        LEGACY_UNROLL
        for (int g = 0; g < kGroup; ++g) {
          if (g < count) sums[g] += others[g * length + i] * own;
        }
      }
      LEGACY_UNROLL
      for (int g = 0; g < kGroup; ++g) terms[g][thread] = sums[g];
    });
    Sum(block, terms, count);
    const std::array<double, kGroup>& along = block.shared().sums;
    ForOwn(block, length, [&](int64_t i) {
      double own = x[i];
      LEGACY_UNROLL
      for (int g = 0; g < kGroup; ++g) {
        if (g < count) own -= along[g] * others[g * length + i];
      }
      x[i] = own;
    });
  }
};

// Sets each basis's part of the work space; returns the number of doubles needed.
inline int64_t SetWork(std::span<Basis> bases) {
  int64_t doubles = 0;
  for (Basis& basis : bases) {
    basis.work = doubles;
    doubles += basis.count * basis.length;
  }
  return doubles;
}

// Makes the vectors of each basis orthonormal in place, in one launch with a block for each basis.
// 4 bytes are read and written per float, and the `work` doubles (SetWork) are read once for each
// group of 8 vectors before.
template <class Device>
void LaunchOrthonormalise(Device& device, const Basis* bases, int64_t count, float* vectors,
                          double* work) {
  device.template Launch<OrthonormaliseBasis>(count, {bases, vectors, work});
}

}  // namespace legacy::cuda
