// Kernels of PowerSGD except its products. Each launch covers all elements, or all factors, of the
// model.
#pragma once

#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/transforms/powersgd_table.h"

namespace legacy::cuda {

// The messages and residuals of all workers, one worker after the other, and the active workers in
// order. Pointers are to device memory.
struct LowRankWorkers {
  float* residual = nullptr;
  int64_t residual_stride = 0;
  float* messages[kCalls] = {nullptr, nullptr};
  int64_t message_strides[kCalls] = {0, 0};
  const int32_t* active_workers = nullptr;
  int32_t count = 0;  // number of active workers
};

// Returns a code for a position at which a value is not finite. The first position has the largest
// code, and 0 means none.
constexpr uint32_t FaultAt(int64_t position) {
  return 0xFFFFFFFF - static_cast<uint32_t>(position);
}

// Multiplies x by the power of two that scales a number of magnitude bits `largest` to [1, 2);
// rounds once.
constexpr float ScaledBy(float x, uint32_t largest) {
  constexpr int kBias = 1023, kMantissaBits = 52;  // format of doubles
  const auto power = static_cast<uint64_t>(kBias - cpu::ExponentOfKey(largest)) << kMantissaBits;
  return static_cast<float>(x * std::bit_cast<double>(power));
}

// Threads share the elements of a tile by vectors.
inline constexpr int kLowRankThreads = 256;
using LowRankVectors = TileVectors<kLowRankThreads, kTile / kLowRankThreads / kVector>;

// Records the first of a thread's elements of a tile that is not finite.
template <class Block>
LEGACY_DEVICE void RaiseFault(Block& block, const Tile& tile, int thread,
                              const LowRankVectors::Own<float>& own, uint32_t* to) {
  uint32_t fault = 0;
  LEGACY_UNROLL
  // The loop goes from the last to the first.
  for (int i = LowRankVectors::kOwn - 1; i >= 0; --i) {
    if (!cpu::IsFinite(own[i])) fault = FaultAt(tile.begin + LowRankVectors::Position(thread, i));
  }
  if (fault != 0) block.AtomicMax(to, fault);
}

// Runs a thread for each unit of each worker.
struct WriteHeaders {
  static constexpr int kThreads = 128;
  struct Args {
    const LowRankUnit* units;
    int64_t count;  // number of units
    LowRankWorkers workers;
    int64_t all;  // number of units of all workers
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t at = block.index() * kThreads + thread;
      if (at >= args.all) return;
      const int64_t worker = at / args.count;
      const LowRankUnit& unit = args.units[at - worker * args.count];
      Write(args.workers, worker, unit, kLeft);
      if (unit.vectors > 0) Write(args.workers, worker, unit, kRight);
    });
  }

 private:
  static LEGACY_DEVICE void Write(const LowRankWorkers& workers, int64_t worker,
                                  const LowRankUnit& unit, FactorCall call) {
    float* const header =
        workers.messages[call] + worker * workers.message_strides[call] + unit.messages[call];
    LEGACY_UNROLL
    for (int i = 0; i < kHeaderFloats; ++i) header[i] = std::bit_cast<float>(unit.headers[call][i]);
  }
};

// Computes a worker's M = g + r, or g without a residual, and the messages of units that are sent
// whole. Each tile has a block, which moves 12 bytes per element (8 without a residual), and 4 more
// in units that are sent whole.
struct Compensate {
  static constexpr int kThreads = kLowRankThreads;
  using Vectors = LowRankVectors;
  struct Args {
    Segments segments;
    const LowRankUnit* units;
    const float* gradient;
    float* residual;
    float* messages;   // messages of the first call
    uint32_t* faults;  // FaultAt() of the first value that is not finite, for each unit
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const LowRankUnit& unit = args.units[tile.segment];
    Tile from = tile, sent = tile;
    from.offset = unit.flat;
    sent.offset = unit.messages[kLeft] + kHeaderFloats;
    const bool read_vectors = Vectors::ByVectors(args.gradient, from);
    const bool residual_vectors = Vectors::ByVectors(args.residual, tile);
    const bool sent_vectors = Vectors::ByVectors(args.messages, sent);
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> sum, residual;
      Vectors::Read(args.gradient, from, read_vectors, thread, sum);
      if (unit.keeps_residual) {
        Vectors::Read(args.residual, tile, residual_vectors, thread, residual);
        LEGACY_UNROLL
        for (int i = 0; i < Vectors::kOwn; ++i) sum[i] += residual[i];
      }
      Vectors::Write(sum, tile, residual_vectors, thread, args.residual);
      if (unit.vectors == 0) Vectors::Write(sum, sent, sent_vectors, thread, args.messages);
      RaiseFault(block, tile, thread, sum, &args.faults[tile.segment]);
    });
  }
};

// Computes the mean of the workers' factors, in the order of workers, and the magnitude bits of
// each vector's largest element, which are at least those of infinity if an element is not finite.
// Each tile of kFactorTile has a block.
struct MeanFactors {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kFactorTile / kThreads / kVector>;
  struct Args {
    Factors factors;
    const float* messages;
    int64_t stride;  // floats from a worker to the next
    const int32_t* active_workers;
    int32_t count;  // number of active workers
    float* mean;
    uint32_t* largest;  // must be 0 at first
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.factors.vectors, block.index(), kFactorTile);
    Tile sent = tile;
    sent.offset = args.factors.sent[tile.segment];
    const bool sent_vectors = Vectors::ByVectors(args.messages, sent);  // the stride is aligned
    typename Block::template PerThread<uint32_t> most;
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> sum{}, own;
      for (int32_t w = 0; w < args.count; ++w) {
        Vectors::Read(args.messages + args.active_workers[w] * args.stride, sent, sent_vectors,
                      thread, own);
        LEGACY_UNROLL
        for (int i = 0; i < Vectors::kOwn; ++i) sum[i] += own[i];
      }
      most[thread] = 0;
      LEGACY_UNROLL
      for (float& x : sum) {
        x /= static_cast<float>(args.count);
        const uint32_t bits = cpu::KeyOf(x);
        most[thread] = most[thread] < bits ? bits : most[thread];
      }
      Vectors::Write(sum, tile, Vectors::ByVectors(args.mean, tile), thread, args.mean);
    });
    const uint32_t largest = block.Max(most);
    block.ForEachThread([&](int thread) {
      if (thread == 0) block.AtomicMax(&args.largest[tile.segment], largest);
    });
  }
};

// Computes mean = P Q^T, or the mean of units sent whole, and each worker's residual r = M - mean,
// or 0 where all was sent. Each tile has a block: it moves 4 bytes per element, and 8 per worker
// with a residual. P Q^T is summed in the CPU's order.
struct Reconstruct {
  static constexpr int kThreads = kLowRankThreads;
  static constexpr int kBlocksTogether = 2;
  using Vectors = LowRankVectors;
  struct Args {
    Segments segments;
    const LowRankUnit* units;
    LowRankWorkers workers;
    const float* left;
    const float* right;
    float* mean;
    uint32_t* faults;  // FaultAt() of the first value that is not finite, for each unit
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const LowRankUnit& unit = args.units[tile.segment];
    Tile out = tile;
    out.offset = unit.flat;
    const bool out_vectors = Vectors::ByVectors(args.mean, out);
    const bool residual_vectors =
        Vectors::ByVectors(args.workers.residual, tile);  // so is the stride
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> mean{};
      if (unit.vectors > 0) {
        LEGACY_UNROLL
        for (int i = 0; i < Vectors::kOwn; i += kVector) {
          const int64_t begin = tile.begin + Vectors::Position(thread, i);
          if (begin >= tile.end) continue;
          AddProducts(unit, args.left + unit.factors[kLeft], args.right + unit.factors[kRight],
                      static_cast<uint32_t>(begin), static_cast<uint32_t>(tile.end), &mean[i]);
        }
      } else {
        AddWhole(args.workers, unit, tile, thread, mean);
      }
      Vectors::Write(mean, out, out_vectors, thread, args.mean);
      RaiseFault(block, tile, thread, mean, &args.faults[tile.segment]);
      if (unit.keeps_residual)
        KeepResidual(args.workers, unit, tile, residual_vectors, thread, mean);
    });
  }

 private:
  // Adds the sum over c of left_c right_c at four neighbouring elements from `begin` on, which is a
  // multiple of four.
  static LEGACY_DEVICE void AddProducts(const LowRankUnit& unit, const float* left,
                                        const float* right, uint32_t begin, uint32_t end,
                                        float* sum) {
    const uint32_t row = begin / unit.columns, column = begin - row * unit.columns;
    if (unit.columns % kVector == 0) {  // all four are in one row
      for (uint32_t c = 0; c < unit.vectors; ++c) {
        const float factor = left[int64_t{c} * unit.rows + row];
        float others[kVector];
        LoadVector(right + int64_t{c} * unit.columns + column, others);
        LEGACY_UNROLL
        for (int i = 0; i < kVector; ++i) sum[i] += factor * others[i];
      }
      return;
    }
    uint32_t rows[kVector], columns[kVector];
    LEGACY_UNROLL
    for (uint32_t i = 0; i < kVector; ++i) {
      const uint32_t at = begin + i < end ? begin + i : end - 1;
      rows[i] = at / unit.columns;
      columns[i] = at - rows[i] * unit.columns;
    }
    for (uint32_t c = 0; c < unit.vectors; ++c) {
      LEGACY_UNROLL
      for (int i = 0; i < kVector; ++i) {
        sum[i] +=
            left[int64_t{c} * unit.rows + rows[i]] * right[int64_t{c} * unit.columns + columns[i]];
      }
    }
  }

  static LEGACY_DEVICE void AddWhole(const LowRankWorkers& workers, const LowRankUnit& unit,
                                     const Tile& tile, int thread, Vectors::Own<float>& mean) {
    Tile sent = tile;
    sent.offset = unit.messages[kLeft] + kHeaderFloats;
    const bool by_vectors = Vectors::ByVectors(workers.messages[kLeft], sent);
    Vectors::Own<float> own;
    for (int32_t w = 0; w < workers.count; ++w) {
      const int64_t begin = workers.active_workers[w] * workers.message_strides[kLeft];
      Vectors::Read(workers.messages[kLeft] + begin, sent, by_vectors, thread, own);
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) mean[i] += own[i];
    }
    LEGACY_UNROLL
    for (float& x : mean) x /= static_cast<float>(workers.count);
  }

  static LEGACY_DEVICE void KeepResidual(const LowRankWorkers& workers, const LowRankUnit& unit,
                                         const Tile& tile, bool by_vectors, int thread,
                                         const Vectors::Own<float>& mean) {
    for (int32_t w = 0; w < workers.count; ++w) {
      float* const residual =
          workers.residual + workers.active_workers[w] * workers.residual_stride;
      Vectors::Own<float> own{};
      if (unit.vectors > 0) {
        Vectors::Read(residual, tile, by_vectors, thread, own);
        LEGACY_UNROLL
        for (int i = 0; i < Vectors::kOwn; ++i) own[i] -= mean[i];
      }
      Vectors::Write(own, tile, by_vectors, thread, residual);
    }
  }
};

// Multiplies each vector by the power of two that brings its largest magnitude to [1, 2), as the
// next step's basis. Each tile of kFactorTile has a block.
struct ScaleFactors {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kFactorTile / kThreads / kVector>;
  struct Args {
    Segments vectors;
    const uint32_t* largest;
    float* factors;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.vectors, block.index(), kFactorTile);
    const uint32_t largest = args.largest[tile.segment];
    if (largest == 0) return;
    const bool by_vectors = Vectors::ByVectors(args.factors, tile);
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> own;
      Vectors::Read(args.factors, tile, by_vectors, thread, own);
      LEGACY_UNROLL
      for (float& x : own) x = ScaledBy(x, largest);
      Vectors::Write(own, tile, by_vectors, thread, args.factors);
    });
  }
};

}  // namespace legacy::cuda
