// Kernels of message.h: a thread composes words of 32 bits of what is written, from whatever
// they are made of: nothing is written twice, and by no two threads.
//
// Writing is one launch. Positions that become a bitmap are marked in shared memory: a tile of the
// message finds those that it holds by a search. Reading:
//
//   CheckHeaders     of each unit: header and padding
//   ReadTiles        positions and values
//   bits_kernels.h   positions of bitmaps, where the table has any
//   JudgeMessages    how many values of each unit may be used
#pragma once

#include <array>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/bitpack_kernels.h"
#include "compress/cuda/bits_kernels.h"
#include "compress/cuda/message.h"
#include "compress/cuda/search.h"
#include "compress/cuda/vectors.h"
#include "compress/cuda/workspace.h"

namespace legacy::cuda {

// Four bytes from byte `at` on, all of which are there.
LEGACY_DEVICE uint32_t WordAt(const uint32_t* words, int64_t at) {
  const int shift = static_cast<int>(at % kWordBytes) * 8;
  const uint32_t low = words[at / kWordBytes];
  return shift == 0 ? low : low >> shift | words[at / kWordBytes + 1] << (kWordBits - shift);
}
// The same of memory of `bytes` bytes, with zeros before and behind them; at > -4.
LEGACY_DEVICE uint32_t WordWithin(const std::byte* from, int64_t bytes, int64_t at) {
  if (at < 0) return LoadWord(from, bytes, 0) << -at * 8;
  const int shift = static_cast<int>(at % kWordBytes) * 8;
  const uint32_t low = LoadWord(from, bytes, at / kWordBytes);
  if (shift == 0) return low;
  return low >> shift | LoadWord(from, bytes, at / kWordBytes + 1) << (kWordBits - shift);
}

// How the threads of a block share a tile of words.
struct MessageTiles {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;

  // Where words of a tile lie in a flat buffer in which the tile's segment begins at `offset`.
  static LEGACY_DEVICE Tile Moved(Tile tile, int64_t offset) {
    tile.offset = offset;
    return tile;
  }
  // The part of a tile from word `begin` of the segment to before `end`; may be empty.
  static LEGACY_DEVICE Tile Within(Tile tile, int64_t begin, int64_t end) {
    if (tile.begin < begin) tile.begin = begin;
    if (tile.end > end) tile.end = end;
    return tile;
  }
  static LEGACY_DEVICE bool Holds(const Tile& tile, int64_t word) {
    return tile.begin <= word && word < tile.end;
  }
  // store(i, word(i)) of all i of the tile; a thread has `together` words on their way at once.
  template <int together, class Word, class Store>
  static LEGACY_DEVICE void ForWords(const Tile& tile, int thread, Word word, Store store) {
    for (int64_t at = tile.begin + thread; at < tile.end; at += together * kThreads) {
      std::array<uint32_t, together> words;
      LEGACY_UNROLL
      for (int i = 0; i < together; ++i) {
        words[i] = at + i * kThreads < tile.end ? word(at + i * kThreads) : 0;
      }
      LEGACY_UNROLL
      for (int i = 0; i < together; ++i) {
        if (at + i * kThreads < tile.end) store(at + i * kThreads, words[i]);
      }
    }
  }
};

// A block for each tile of a message's words. Header, the word that ends the positions, and what
// follows the last whole word of values are the edges; all others are of one kind.
struct WriteTiles : MessageTiles {
  struct Args {
    Messages messages;
    const uint32_t* positions;
    const std::byte* values;
    uint32_t* out;
  };
  struct Shared {
    std::array<uint32_t, kTile> bitmap;  // the tile's
    uint32_t last_positions;             // the word in which values begin, where it has positions
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.messages.written, block.index(), kTile);
    const MessageLayout& message = args.messages.units[tile.segment];
    if (message.values_begin > kHeaderBytes && tile.begin * kWordBytes < message.values_begin) {
      WritePositions(block, args, message, tile);
    }
    block.Sync();
    CopyValues(block, args, message, tile);
    WriteEdges(block, args, message, tile);
  }

 private:
  static constexpr int64_t kHeaderWords = kHeaderBytes / kWordBytes;

  template <class Block>
  static LEGACY_DEVICE void WritePositions(Block& block, const Args& args,
                                           const MessageLayout& message, const Tile& tile) {
    const Header& header = message.unit.header;
    const auto* const positions = args.positions + message.unit.positions;
    const int64_t count = header.count;
    if (header.index == IndexCoding::kU32) {
      WriteCodes<8>(block, args, message, tile,
                    [=](int64_t word) { return word < count ? positions[word] : 0; });
    } else if (header.index == IndexCoding::kU16) {
      WriteCodes<4>(block, args, message, tile, [=](int64_t word) {
        const uint32_t low = 2 * word < count ? positions[2 * word] : 0;
        const uint32_t high = 2 * word + 1 < count ? positions[2 * word + 1] : 0;
        return low | high << 16;
      });
    } else if (header.index == IndexCoding::kPacked) {
      // Counted from a word that begins with a code.
      const int bits = BitsPerPosition(message.unit.places);
      const int64_t tile_word = tile.begin < kHeaderWords ? 0 : tile.begin - kHeaderWords;
      const int64_t first_word = tile_word / bits * bits;
      const int64_t first = first_word / bits * kWordBits;
      const int64_t most = (kTile + kWordBits) * kWordBits / bits + 1;
      const auto n = static_cast<uint32_t>(count - first < most ? count - first : most);
      WriteCodes<2>(block, args, message, tile, [=](int64_t word) {
        return PackedWord(static_cast<uint32_t>(word - first_word), static_cast<uint32_t>(bits), n,
                          [=](uint32_t i) { return positions[first + i]; });
      });
    } else {
      MarkBitmap(block, tile, positions, count);
      const auto& bitmap = block.shared().bitmap;
      WriteCodes<4>(block, args, message, tile,
                    [&](int64_t word) { return bitmap[word + kHeaderWords - tile.begin]; });
    }
  }

  // What word_at(number) gives of the positions; zeros behind the last.
  template <int together, class Block, class WordAt>
  static LEGACY_DEVICE void WriteCodes(Block& block, const Args& args, const MessageLayout& message,
                                       const Tile& tile, WordAt word_at) {
    const int64_t end = message.values_begin / kWordBytes;
    const Tile part = Within(tile, kHeaderWords, end);
    block.ForEachThread([&](int thread) {
      ForWords<together>(
          part, thread, [&](int64_t i) { return word_at(i - kHeaderWords); },
          [&](int64_t i, uint32_t word) { args.out[tile.offset + i] = word; });
      if (thread != 0 || message.values_begin % kWordBytes == 0 || !Holds(tile, end)) return;
      block.shared().last_positions = word_at(end - kHeaderWords);
    });
  }

  template <class Block>
  static LEGACY_DEVICE void MarkBitmap(Block& block, const Tile& tile, const uint32_t* positions,
                                       int64_t count) {
    auto& bitmap = block.shared().bitmap;
    const int64_t first = (tile.begin - kHeaderWords) * kWordBits;
    const int64_t last = (tile.end - kHeaderWords) * kWordBits;
    const int64_t begin = LowerBound(block, positions, count, first);
    const int64_t end = begin + LowerBound(block, positions + begin, count - begin, last);
    block.ForEachThread([&](int thread) {
      for (int64_t i = thread; i < kTile; i += kThreads) bitmap[i] = 0;
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      for (int64_t i = begin + thread; i < end; i += kThreads) {
        const int64_t bit = positions[i] - first;
        block.AtomicOr(&bitmap[bit / kWordBits], 1u << bit % kWordBits);
      }
    });
    block.Sync();
  }

  template <class Block>
  static LEGACY_DEVICE void CopyValues(Block& block, const Args& args, const MessageLayout& message,
                                       const Tile& tile) {
    const auto* const values = reinterpret_cast<const uint32_t*>(args.values);
    const int64_t begin = message.unit.values - message.values_begin;  // of the message, in values
    const Tile part = Within(tile, (message.values_begin + kWordBytes - 1) / kWordBytes,
                             message.length / kWordBytes);
    const Tile from = Moved(part, begin / kWordBytes);
    const bool by_vectors = begin % kWordBytes == 0 && Vectors::ByVectors(values, from) &&
                            Vectors::ByVectors(args.out, part);
    block.ForEachThread([&](int thread) {
      if (by_vectors) {
        Vectors::Own<uint32_t> own;
        Vectors::Read(values, from, true, thread, own);
        return Vectors::Write(own, part, true, thread, args.out);
      }
      ForWords<8>(
          part, thread, [&](int64_t i) { return WordAt(values, begin + i * kWordBytes); },
          [&](int64_t i, uint32_t word) { args.out[tile.offset + i] = word; });
    });
  }

  template <class Block>
  static LEGACY_DEVICE void WriteEdges(Block& block, const Args& args, const MessageLayout& message,
                                       const Tile& tile) {
    const int64_t values_word = message.values_begin / kWordBytes;
    const int64_t last_word = message.length / kWordBytes;
    const bool shared_word = message.values_begin % kWordBytes != 0;
    block.ForEachThread([&](int thread) {
      if (thread > 2 * kHeaderWords) return;
      // Words of the header, that in which values begin, and those from the last value on.
      const int64_t i = thread < kHeaderWords    ? thread
                        : thread == kHeaderWords ? values_word
                                                 : last_word + thread - kHeaderWords - 1;
      if (thread == kHeaderWords && (!shared_word || values_word == last_word)) return;
      if (!Holds(tile, i)) return;
      uint32_t word = 0;
      if (i < kHeaderWords) {
        const auto header = HeaderWords(message.unit.header);
        word = i < 2 ? (i == 0 ? header[0] : header[1]) : (i == 2 ? header[2] : header[3]);
      } else {
        if (i == values_word && shared_word) word = block.shared().last_positions;
        word |= WordWithin(args.values + message.unit.values, message.unit.value_bytes,
                           i * kWordBytes - message.values_begin);
      }
      args.out[tile.offset + i] = word;
    });
  }
};

template <class Device>
void LaunchWriteMessages(Device& device, const MessageTable& table, const Messages& messages,
                         const uint32_t* positions, const std::byte* values, std::byte* out) {
  device.template Launch<WriteTiles>(
      table.written_tiles(), {messages, positions, values, reinterpret_cast<uint32_t*>(out)});
}

// All in the memory of the device.
struct ReadJob {
  Messages messages;
  ReadArrays arrays;
  int32_t count = 0;
  // Scratch.
  uint32_t* before = nullptr;  // of BitJob
  uint32_t* found = nullptr;   // of BitJob
};

inline BitJob BitsOf(const ReadJob& job) {
  return {job.messages.bitmaps,
          job.messages.bitmap_sets,
          reinterpret_cast<const uint32_t*>(job.arrays.messages),
          job.arrays.positions,
          job.before,
          job.found};
}

// A thread for each unit.
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
      const std::byte* const positions = bytes + kHeaderBytes;
      const bool padding =
          (header.index == IndexCoding::kBitmap && HasPadding(positions, message.unit.places, 1)) ||
          (header.index == IndexCoding::kPacked &&
           HasPadding(positions, header.count, BitsPerPosition(message.unit.places)));
      args.job.arrays.faults[u] = (same ? 0u : kBadHeader) | (padding ? kBadPadding : 0u);
    });
  }
};

// A block for each tile of positions or of words of values.
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
    const uint32_t worst = block.Max(faults);  // all of one kind
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
        job.arrays.messages + message.unit.message + kHeaderBytes);
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
    const int64_t whole = message.unit.value_bytes / kWordBytes;  // words
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
      if (thread != 0 || !Holds(tile, whole)) return;  // some bytes follow
      values[tile.offset + whole] =
          WordWithin(job.arrays.messages + message.unit.message, message.length,
                     message.values_begin + whole * kWordBytes);
    });
  }
};

// A thread for each unit.
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
