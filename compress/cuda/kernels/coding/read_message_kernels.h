// Kernels of message.h that read messages.
//
//   CheckHeaders     checks each unit's header and padding
//   ReadTiles        reads positions and values
//   bits_kernels.h   lists positions of bitmaps, if the table has any
//   JudgeMessages    says how many values of each unit may be used
#pragma once

#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"
#include "compress/cuda/kernels/coding/bits_kernels.h"
#include "compress/cuda/kernels/coding/message.h"
#include "compress/cuda/kernels/coding/message_tiles.h"

namespace legacy::cuda {

// All pointers are to device memory.
struct ReadJob {
  Messages messages;
  ReadArrays arrays;
  int32_t count = 0;
  // Scratch.
  uint32_t* before = nullptr;  // scratch for BitJob
  uint32_t* found = nullptr;   // scratch for BitJob
};

inline BitJob BitsOf(const ReadJob& job) {
  return {job.messages.bitmaps,
          job.messages.bitmap_sets,
          reinterpret_cast<const uint32_t*>(job.arrays.messages),
          job.arrays.positions,
          job.before,
          job.found};
}

// Runs a thread for each unit.
struct CheckHeaders {
  static constexpr int kThreads = 128;
  struct Args {
    ReadJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t u = block.index() * kThreads + thread;
      if (u >= args.job.count) return;
      const MessageLayout& message = args.job.messages.units[u];
      const std::byte* const bytes = args.job.arrays.messages + message.unit.message;
      const Header& header = message.unit.header;
      const auto words = HeaderWords(header);
      bool same = true;
      LEGACY_UNROLL
      for (int i = 0; i < 4; ++i) same &= LoadWord(bytes, kHeaderBytes, i) == words[i];
      if (IsElementFormat(header.values)) {
        same &= LoadWord(bytes, kExtendedHeaderBytes, 4) == ExtensionWord(header);
      }
      const std::byte* const positions = bytes + message.header_bytes;
      const bool padding =
          (header.index == IndexCoding::kBitmap && HasPadding(positions, message.unit.places, 1)) ||
          (header.index == IndexCoding::kPacked &&
           HasPadding(positions, header.count, BitsPerPosition(message.unit.places)));
      args.job.arrays.faults[u] = (same ? 0u : kBadHeader) | (padding ? kBadPadding : 0u);
    });
  }
};

// Runs a block for each tile of positions, or of words of values.
struct ReadTiles : MessageTiles {
  struct Args {
    ReadJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.job.messages.read, block.index(), kTile);
    const MessageLayout& message = args.job.messages.units[tile.segment / 2];
    typename Block::template PerThread<uint32_t> faults;
    if (tile.segment % 2 == 0) {
      ReadPositions(block, args.job, message, tile, faults);
    } else {
      ReadValues(block, args.job, message, tile, faults);
    }
    const uint32_t worst = block.Max(faults);  // A tile can have one kind of fault only.
    block.ForEachThread([&](int thread) {
      if (thread != 0 || worst == 0) return;
      block.AtomicOr(&args.job.arrays.faults[tile.segment / 2], worst);
    });
  }

 private:
  template <class Block, class Faults>
  static LEGACY_DEVICE void ReadPositions(Block& block, const ReadJob& job,
                                          const MessageLayout& message, const Tile& tile,
                                          Faults& faults) {
    const Header& header = message.unit.header;
    const int64_t places = message.unit.places;
    const auto* const words = reinterpret_cast<const uint32_t*>(
        job.arrays.messages + message.unit.message + message.header_bytes);
    const int bits = header.index == IndexCoding::kU16   ? 16
                     : header.index == IndexCoding::kU32 ? kWordBits
                                                         : BitsPerPosition(message.unit.places);
    const auto position_at = [=](int64_t i) -> uint32_t {
      if (bits == 0) return 0;
      const auto skip = static_cast<int>(i * bits % kWordBits);
      const uint32_t* const at = words + i * bits / kWordBits;
      uint64_t code = at[0];
      if (skip + bits > kWordBits) code |= uint64_t{at[1]} << kWordBits;
      return static_cast<uint32_t>(code >> skip & ((uint64_t{1} << bits) - 1));
    };
    block.ForEachThread([&](int thread) {
      uint32_t fault = 0;
      ForWords<4>(tile, thread, position_at, [&](int64_t i, uint32_t position) {
        const bool ascends = i == 0 || position_at(i - 1) < position;
        if (!ascends || position >= places) fault = kBadPositions;
        job.arrays.positions[tile.offset + i] = position;
      });
      faults[thread] = fault;
    });
  }

  template <class Block, class Faults>
  static LEGACY_DEVICE void ReadValues(Block& block, const ReadJob& job,
                                       const MessageLayout& message, const Tile& tile,
                                       Faults& faults) {
    const auto* const messages = reinterpret_cast<const uint32_t*>(job.arrays.messages);
    auto* const values = reinterpret_cast<uint32_t*>(job.arrays.values);
    const int64_t begin = message.unit.message + message.values_begin;
    const int64_t whole = message.unit.value_bytes / kWordBytes;  // number of whole words
    const Tile part = Within(tile, 0, whole);
    const Tile from = Moved(part, begin / kWordBytes);
    const bool by_vectors = begin % kWordBytes == 0 && Vectors::ByVectors(messages, from) &&
                            Vectors::ByVectors(values, part);
    const bool floats = message.unit.header.values == ValueType::kFloat32;
    block.ForEachThread([&](int thread) {
      uint32_t fault = 0;
      const auto check = [&](uint32_t word) {
        if (floats && (word & cpu::kInfinityKey) == cpu::kInfinityKey) fault = kNotFinite;
      };
      if (by_vectors) {
        Vectors::Own<uint32_t> own;
        Vectors::Read(messages, from, true, thread, own);
        LEGACY_UNROLL
        for (const uint32_t word : own) check(word);
        Vectors::Write(own, part, true, thread, values);
      } else {
        ForWords<8>(
            part, thread, [&](int64_t i) { return WordAt(messages, begin + i * kWordBytes); },
            [&](int64_t i, uint32_t word) {
              check(word);
              values[tile.offset + i] = word;
            });
      }
      faults[thread] = fault;
      // The bytes after the last whole word are read here.
      if (thread != 0 || !Holds(tile, whole)) return;
      values[tile.offset + whole] =
          WordWithin(job.arrays.messages + message.unit.message, message.length,
                     message.values_begin + whole * kWordBytes);
    });
  }
};

// Runs a thread for each unit.
struct JudgeMessages {
  static constexpr int kThreads = 128;
  struct Args {
    ReadJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t u = block.index() * kThreads + thread;
      if (u >= args.job.count) return;
      const MessageLayout& message = args.job.messages.units[u];
      const uint32_t count = message.unit.header.count;
      uint32_t faults = args.job.arrays.faults[u];
      if (message.bitmap >= 0 && args.job.found[message.bitmap] != count) faults |= kBadPositions;
      args.job.arrays.faults[u] = faults;
      args.job.arrays.counts[u] = faults == 0 ? count : 0;
    });
  }
};

inline ReadJob LayOutReadMessages(const MessageTable& table, const Messages& messages,
                                  const ReadArrays& arrays, Workspace& workspace) {
  return {.messages = messages,
          .arrays = arrays,
          .count = table.count(),
          .before = workspace.Take<uint32_t>(table.bitmap_tiles()),
          .found = workspace.Take<uint32_t>(table.bitmaps())};
}

// Reads positions and values of messages, whose lengths the caller compares with the table's. A
// message that the CPU's decoder refuses is refused. What is written for it must not be used, and
// lies within the unit's positions and values.
template <class Device>
void LaunchReadMessages(Device& device, const MessageTable& table, const ReadJob& job) {
  device.template Launch<CheckHeaders>(TilesOf(table.count(), CheckHeaders::kThreads), {job});
  device.template Launch<ReadTiles>(table.read_tiles(), {job});
  if (table.bitmaps() > 0) {
    LaunchBits(device, BitsOf(job), table.bitmaps(), table.bitmap_tiles());
  }
  device.template Launch<JudgeMessages>(TilesOf(table.count(), JudgeMessages::kThreads), {job});
}

}  // namespace legacy::cuda
