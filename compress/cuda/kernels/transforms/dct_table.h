// The table of the vectors whose chunks are transformed together (codecs/dct_codec.h), with the
// factors of their transforms and the places of their messages. The host makes it for the kernels
// of dct_kernels.h.
//
// A message is an extended header, the packed positions of all chunks, and their values in fp32;
// messages are aligned to four bytes, and so are their positions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compress/cpu/bitpack.h"
#include "compress/cpu/dct.h"
#include "compress/cuda/device/image.h"
#include "compress/message.h"

namespace legacy::cuda {

inline constexpr int64_t kMostDctChunk = 64;  // of each side, limit of shared memory

struct DctUnit {
  int64_t offset = 0;  // first value in the flat buffer
  int64_t numel = 0;
  int64_t columns = 0;  // of the matrix
  int32_t height = 1;   // of a chunk
  int32_t width = 1;
  int32_t kept = 0;               // coefficients of each chunk
  int32_t width_of_position = 0;  // bits; 0: chunks are sent whole
  int64_t chunks = 0;
  int64_t first_kept = 0;  // among the kept coefficients of all units
  int64_t message = 0;     // first byte among the messages of a worker
  int64_t position_bytes = 0;
  // D and D^T of the sides, as indices into DctVectors::factors.
  int64_t rows_down = 0, columns_down = 0;
  int64_t rows_along = 0, columns_along = 0;

  constexpr int32_t size() const { return height * width; }
  constexpr int64_t all_kept() const { return chunks * kept; }
  constexpr int64_t PayloadBytes() const { return position_bytes + 4 * all_kept(); }
  constexpr int64_t MessageBytes() const { return kExtendedHeaderBytes + PayloadBytes(); }
};

// Pointers are to device memory.
struct DctVectors {
  const DctUnit* units = nullptr;
  Segments chunks;  // a tile is a chunk
  Segments words;   // words of payloads
  const float* factors = nullptr;
};

class DctTable : public ImageTable {
 public:
  struct Unit {
    int64_t offset = 0;
    cpu::ChunkGrid grid;
    int64_t kept = 0;
  };
  // Sides of chunks are at most kMostDctChunk.
  explicit DctTable(const std::vector<Unit>& units) {
    std::vector<Extent> chunks, words;
    for (const Unit& of : units) {
      DctUnit& unit = units_.emplace_back();
      unit.offset = of.offset;
      unit.numel = of.grid.numel();
      unit.columns = of.grid.columns;
      unit.height = static_cast<int32_t>(of.grid.height);
      unit.width = static_cast<int32_t>(of.grid.width);
      unit.kept = static_cast<int32_t>(of.kept);
      unit.chunks = of.grid.chunks();
      unit.first_kept = kept_;
      unit.message = stride_;
      if (of.kept != of.grid.size()) {
        unit.width_of_position = BitsPerPosition(of.grid.size());
        unit.position_bytes = cpu::PackedBytes(unit.all_kept(), unit.width_of_position);
      }
      AddFactors(of.grid.height, unit.rows_down, unit.columns_down);
      AddFactors(of.grid.width, unit.rows_along, unit.columns_along);
      kept_ += unit.all_kept();
      stride_ += RoundedUp(unit.MessageBytes(), 4);
      chunks.push_back({0, unit.chunks});
      words.push_back({0, TilesOf(unit.PayloadBytes(), 4)});
    }
    unit_slot_ = image_.Add(units_);
    chunks_ = image_.AddSegments(chunks, 1);
    words_ = image_.AddSegments(words, kTile);
    factors_ = image_.Add(numbers_);
  }

  // Says why no kernels transform chunks of such sides; empty if there are kernels.
  static std::string LacksKernels(int64_t chunk) {
    if (chunk <= kMostDctChunk) return {};
    return "chunk=" + std::to_string(chunk) +
           " has no kernels: a multiprocessor has memory for chunks of " +
           std::to_string(kMostDctChunk) + " x " + std::to_string(kMostDctChunk) +
           " elements at most";
  }

  const std::vector<DctUnit>& units() const { return units_; }
  int32_t count() const { return static_cast<int32_t>(units_.size()); }
  int64_t chunks() const { return chunks_.tiles; }
  int64_t word_tiles() const { return words_.tiles; }
  int64_t kept() const { return kept_; }      // of all units
  int64_t stride() const { return stride_; }  // bytes of a worker's messages

  DctVectors View(const void* memory) const {
    return {Image::At(memory, unit_slot_), Image::At(memory, chunks_), Image::At(memory, words_),
            Image::At(memory, factors_)};
  }

 private:
  void AddFactors(int64_t length, int64_t& rows, int64_t& columns) {
    const auto [known, fresh] = places_.try_emplace(length, std::ssize(numbers_));
    rows = known->second;
    columns = rows + length * length;
    if (!fresh) return;
    const auto factors = cpu::ChunkDct::FactorsOf(length);
    numbers_.insert(numbers_.end(), factors->rows.begin(), factors->rows.end());
    numbers_.insert(numbers_.end(), factors->columns.begin(), factors->columns.end());
  }

  std::vector<DctUnit> units_;
  std::map<int64_t, int64_t> places_;  // of the factors of each length
  std::vector<float> numbers_;
  int64_t kept_ = 0, stride_ = 0;
  Image::Slot<DctUnit> unit_slot_;
  Image::SegmentsSlot chunks_, words_;
  Image::Slot<float> factors_;
};

}  // namespace legacy::cuda
