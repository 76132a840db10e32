// The kernel of message.h that writes messages, in one launch. A thread composes each word of 32
// bits from all its parts, so that no word is written twice or by two threads. Positions that
// become a bitmap are marked in shared memory: a binary search finds the positions that lie in a
// tile of the message.
#pragma once

#include <array>
#include <cstdint>

#include "compress/cuda/device/search.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"
#include "compress/cuda/kernels/coding/message.h"
#include "compress/cuda/kernels/coding/message_tiles.h"

namespace legacy::cuda {

// Runs a block for each tile of a message's words. The edges are the header, the word in which the
// positions end, and the words from where the whole words of values end. Every other word holds
// either positions or values.
struct WriteTiles : MessageTiles {
  struct Args {
    Messages messages;
    const uint32_t* positions;
    const std::byte* values;
    uint32_t* out;
  };
  struct Shared {
    std::array<uint32_t, kTile> bitmap;  // words of the tile
    uint32_t last_positions;  // the word in which values begin, if it also holds positions
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.messages.written, block.index(), kTile);
    const MessageLayout& message = args.messages.units[tile.segment];
    if (message.values_begin > message.header_bytes &&
        tile.begin * kWordBytes < message.values_begin) {
      WritePositions(block, args, message, tile);
    }
    block.Sync();
    CopyValues(block, args, message, tile);
    WriteEdges(block, args, message, tile);
  }

 private:
  // Words of a header with its extension.
  static constexpr int64_t kHeaderWords = kExtendedHeaderBytes / kWordBytes;
  static LEGACY_DEVICE int64_t HeaderWordsOf(const MessageLayout& message) {
    return message.header_bytes / kWordBytes;
  }
  // Words from WholeWordsEnd() on: two with the last bytes, where values are not aligned, and zeros
  // up to a multiple of 16 bytes.
  static constexpr int64_t kEndWords = 5;

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
      // Codes are counted from a word that begins with a code.
      const int bits = BitsPerPosition(message.unit.places);
      const int64_t header_words = HeaderWordsOf(message);
      const int64_t tile_word = tile.begin < header_words ? 0 : tile.begin - header_words;
      const int64_t first_word = tile_word / bits * bits;
      const int64_t first = first_word / bits * kWordBits;
      const int64_t most = (kTile + kWordBits) * kWordBits / bits + 1;
      const auto n = static_cast<uint32_t>(count - first < most ? count - first : most);
      WriteCodes<2>(block, args, message, tile, [=](int64_t word) {
        return PackedWord(static_cast<uint32_t>(word - first_word), static_cast<uint32_t>(bits), n,
                          [=](uint32_t i) { return positions[first + i]; });
      });
    } else {
      MarkBitmap(block, message, tile, positions, count);
      const auto& bitmap = block.shared().bitmap;
      const int64_t before = HeaderWordsOf(message) - tile.begin;
      WriteCodes<4>(block, args, message, tile,
                    [&](int64_t word) { return bitmap[word + before]; });
    }
  }

  // Writes word_at(i) for every word i of the positions; bits after the last position are zeros.
  template <int together, class Block, class WordAt>
  static LEGACY_DEVICE void WriteCodes(Block& block, const Args& args, const MessageLayout& message,
                                       const Tile& tile, WordAt word_at) {
    const int64_t end = message.values_begin / kWordBytes;
    const int64_t header_words = HeaderWordsOf(message);
    const Tile part = Within(tile, header_words, end);
    block.ForEachThread([&](int thread) {
      ForWords<together>(
          part, thread, [&](int64_t i) { return word_at(i - header_words); },
          [&](int64_t i, uint32_t word) { args.out[tile.offset + i] = word; });
      if (thread != 0 || message.values_begin % kWordBytes == 0 || !Holds(tile, end)) return;
      block.shared().last_positions = word_at(end - header_words);
    });
  }

  template <class Block>
  static LEGACY_DEVICE void MarkBitmap(Block& block, const MessageLayout& message, const Tile& tile,
                                       const uint32_t* positions, int64_t count) {
    auto& bitmap = block.shared().bitmap;
    const int64_t first = (tile.begin - HeaderWordsOf(message)) * kWordBits;
    const int64_t last = (tile.end - HeaderWordsOf(message)) * kWordBits;
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

  // Returns the word of the message in which the whole words of values end: bytes after them need
  // not exist in the last word of the values.
  static LEGACY_DEVICE int64_t WholeWordsEnd(const MessageLayout& message) {
    const int64_t whole = message.unit.value_bytes / kWordBytes * kWordBytes;
    return (message.values_begin + whole) / kWordBytes;
  }

  template <class Block>
  static LEGACY_DEVICE void CopyValues(Block& block, const Args& args, const MessageLayout& message,
                                       const Tile& tile) {
    const auto* const values = reinterpret_cast<const uint32_t*>(args.values);
    // Position, among the values, at which the message would begin.
    const int64_t begin = message.unit.values - message.values_begin;
    const Tile part =
        Within(tile, (message.values_begin + kWordBytes - 1) / kWordBytes, WholeWordsEnd(message));
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
    const int64_t end = WholeWordsEnd(message);
    const bool shared_word = message.values_begin % kWordBytes != 0;
    block.ForEachThread([&](int thread) {
      if (thread > kHeaderWords + kEndWords) return;
      // These are the words of the header, the word in which values begin, and those from `end` on.
      const int64_t i = thread < kHeaderWords    ? thread
                        : thread == kHeaderWords ? values_word
                                                 : end + thread - kHeaderWords - 1;
      if (thread == kHeaderWords && (!shared_word || values_word == end)) return;
      const bool in_header = i < HeaderWordsOf(message);
      if (!Holds(tile, i) || (thread < kHeaderWords && !in_header)) return;
      uint32_t word = 0;
      if (in_header) {
        const auto header = HeaderWords(message.unit.header);
        word = i < 2 ? (i == 0 ? header[0] : header[1]) : (i == 2 ? header[2] : header[3]);
        if (i == kHeaderWords - 1) word = ExtensionWord(message.unit.header);
      } else {
        if (i == values_word && shared_word) word = block.shared().last_positions;
        word |= WordWithin(args.values + message.unit.values, message.unit.value_bytes,
                           i * kWordBytes - message.values_begin);
      }
      args.out[tile.offset + i] = word;
    });
  }
};

// Writes header, positions and values of each unit to `out`, padded with zeros to a multiple of 16
// bytes. Positions ascend strictly and are below numel. Values begin at a multiple of 4 bytes.
// `out` is aligned to 16 bytes; `messages` is the view of the device's copy of `table`.
template <class Device>
void LaunchWriteMessages(Device& device, const MessageTable& table, const Messages& messages,
                         const uint32_t* positions, const std::byte* values, std::byte* out) {
  device.template Launch<WriteTiles>(
      table.written_tiles(), {messages, positions, values, reinterpret_cast<uint32_t*>(out)});
}

}  // namespace legacy::cuda
