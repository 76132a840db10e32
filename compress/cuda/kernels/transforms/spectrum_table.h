// The table of the vectors that are transformed together (cpu/spectrum.h), and the factors of their
// transforms. The host makes it for the kernels of spectrum.h.
//
// A tile is what a block transforms at once: as many chunks as 4096 elements hold, at least one, or
// one of the pieces that follow the chunks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/cpu/fft_rules.h"
#include "compress/cpu/spectrum.h"
#include "compress/cuda/device/image.h"
#include "compress/cuda/kernels/transforms/fft_shape.h"

namespace legacy::cuda {

using cpu::ComplexFloat;

inline constexpr int kTileLog = 12;  // logarithm of a tile's elements, if it has several chunks
inline constexpr int kLargestChunkLog = 15;  // limit of shared memory
inline constexpr int kFastLog = std::countr_zero(static_cast<uint64_t>(cpu::kFastFft));

// Factors of one length, as indices into FftFactors::numbers. Twists are ordered by location
// (fft_shape.h), real_roots by bin.
struct FftLength {
  int64_t row_roots = 0;
  int64_t column_roots = 0;
  int64_t twists = 0;
  int64_t real_roots = 0;
  float scale = 1;
};

// Pointers are to device memory.
struct FftFactors {
  const ComplexFloat* numbers = nullptr;
  const FftLength* lengths = nullptr;  // ordered by the logarithm of the length, from kFastLog on
  // cos and sin of 2 pi j / length, for lengths 1, 2, ..., kFastFft - 1, one after the other.
  const double* cosines = nullptr;
  const double* sines = nullptr;
};

struct SpectrumUnit {
  int64_t offset = 0;  // first element in the flat buffer
  int64_t numel = 0;
  int64_t bins = 0;
  int64_t first_bin = 0;      // first bin among those of all units
  int64_t sampled_tiles = 0;  // number of tiles in the sample, and of their bins
  int64_t sampled_bins = 0;
};

// Pointers are to device memory.
struct Spectra {
  FftFactors factors;
  const SpectrumUnit* units = nullptr;
  const int64_t* first_tile = nullptr;  // count + 1 entries
  const Extent* bins = nullptr;         // each unit's bins among those of all units
  const int64_t* samples = nullptr;     // tiles of the sample
  int32_t count = 0;
  int32_t chunk_log = 0;
};

struct SpectrumTile {
  int32_t unit = 0;
  int32_t log = 0;        // logarithm of a piece's length; 0: summed by definition
  int32_t length = 0;     // elements of a piece
  int32_t count = 0;      // number of pieces
  int64_t element = 0;    // first element in the flat buffer
  int64_t first_bin = 0;  // first bin within the unit

  constexpr int32_t bins_of_a_piece() const { return length / 2 + 1; }
  constexpr int32_t bins() const { return count * bins_of_a_piece(); }
};

constexpr int64_t ChunksOfATile(int chunk_log) {
  return chunk_log < kTileLog ? int64_t{1} << (kTileLog - chunk_log) : 1;
}
// Number of tiles of the chunks, and of the whole unit.
constexpr int64_t ChunkTiles(int64_t numel, int chunk_log) {
  return TilesOf(numel >> chunk_log, ChunksOfATile(chunk_log));
}
constexpr int64_t SpectrumTiles(int64_t numel, int chunk_log) {
  const auto rest = static_cast<uint64_t>(numel & ((int64_t{1} << chunk_log) - 1));
  return ChunkTiles(numel, chunk_log) + std::popcount(rest >> kFastLog) +
         (rest % cpu::kFastFft != 0 ? 1 : 0);
}

// Returns tile `index` of a unit; the caller adds `tile.unit` and the unit's offset.
constexpr SpectrumTile TileOfUnit(int64_t numel, int chunk_log, int64_t index) {
  const int64_t together = ChunksOfATile(chunk_log);
  const int64_t chunks = numel >> chunk_log;
  const int64_t chunk_bins = (int64_t{1} << (chunk_log - 1)) + 1;
  SpectrumTile tile;
  const int64_t chunk_tiles = ChunkTiles(numel, chunk_log);
  if (index < chunk_tiles) {
    const int64_t first = index * together;
    tile.log = chunk_log;
    tile.length = 1 << chunk_log;
    tile.count = static_cast<int32_t>(chunks - first < together ? chunks - first : together);
    tile.element = first << chunk_log;
    tile.first_bin = first * chunk_bins;
    return tile;
  }
  int64_t pieces = index - chunk_tiles;
  tile.count = 1;
  tile.element = chunks << chunk_log;
  tile.first_bin = chunks * chunk_bins;
  for (int log = chunk_log - 1; log >= kFastLog; --log) {
    if ((numel >> log & 1) == 0) continue;
    tile.log = log;
    tile.length = 1 << log;
    if (pieces-- == 0) return tile;
    tile.element += tile.length;
    tile.first_bin += tile.bins_of_a_piece();
  }
  tile.log = 0;
  tile.length = static_cast<int32_t>(numel % cpu::kFastFft);
  return tile;
}

LEGACY_DEVICE SpectrumTile FindSpectrumTile(const Spectra& spectra, int64_t index) {
  const int32_t unit = FindSegment(spectra.first_tile, spectra.count, index);
  const SpectrumUnit& of = spectra.units[unit];
  SpectrumTile tile = TileOfUnit(of.numel, spectra.chunk_log, index - spectra.first_tile[unit]);
  tile.unit = unit;
  tile.element += of.offset;
  return tile;
}

// The table is made on the host and copied to the device.
class SpectrumTable : public ImageTable {
 public:
  // Throws Error for a chunk that is too large.
  SpectrumTable(const cpu::SpectrumPlan& plan, std::span<const Extent> units)
      : chunk_log_(std::countr_zero(static_cast<uint64_t>(plan.chunk()))),
        count_(static_cast<int32_t>(units.size())) {
    if (const std::string why = LacksKernels(plan.chunk()); !why.empty()) throw Error(why);
    std::vector<SpectrumUnit> all;
    std::vector<int64_t> first_tile = {0}, samples;
    std::vector<Extent> spans;
    for (const Extent& unit : units) {
      SpectrumUnit own = {unit.offset, unit.length, plan.Bins(unit.length), bins_};
      own.sampled_tiles = AddSamples(unit.length, first_tile.back(), samples);
      own.sampled_bins = own.sampled_tiles * TileOfUnit(unit.length, chunk_log_, 0).bins();
      spans.push_back({bins_, own.bins});
      bins_ += own.bins;
      first_tile.push_back(first_tile.back() + SpectrumTiles(unit.length, chunk_log_));
      all.push_back(own);
    }
    tiles_ = first_tile.back();
    samples_ = static_cast<int64_t>(samples.size());
    AddFactors(plan);
    units_ = image_.Add(all);
    first_tile_ = image_.Add(first_tile);
    spans_ = image_.Add(spans);
    sample_tiles_ = image_.Add(samples);
  }

  // Says why no kernels transform a chunk of this length; empty if there are kernels.
  static std::string LacksKernels(int64_t chunk) {
    if (chunk <= int64_t{1} << kLargestChunkLog) return {};
    return "chunk=" + std::to_string(chunk) +
           " has no kernels: a multiprocessor has memory for chunks of " +
           std::to_string(1 << kLargestChunkLog) + " elements at most";
  }

  int chunk_log() const { return chunk_log_; }
  int32_t count() const { return count_; }
  int64_t tiles() const { return tiles_; }
  int64_t samples() const { return samples_; }
  int64_t bins() const { return bins_; }  // bins of all units

  Spectra View(const void* memory) const {
    return {{Image::At(memory, numbers_), Image::At(memory, lengths_), Image::At(memory, cosines_),
             Image::At(memory, sines_)},
            Image::At(memory, units_),
            Image::At(memory, first_tile_),
            Image::At(memory, spans_),
            Image::At(memory, sample_tiles_),
            count_,
            chunk_log_};
  }

 private:
  // Adds every 16th tile of chunks, and one more, if a unit has more than a few; returns their
  // number.
  int64_t AddSamples(int64_t numel, int64_t first_tile, std::vector<int64_t>& samples) const {
    constexpr int64_t kFewTiles = 4, kShare = 16;
    const int64_t whole = (numel >> chunk_log_) / ChunksOfATile(chunk_log_);
    if (whole <= kFewTiles) return 0;
    const int64_t sampled = whole / kShare + 1;
    for (int64_t i = 0; i < sampled; ++i) {
      samples.push_back(first_tile + (2 * i + 1) * whole / (2 * sampled));
    }
    return sampled;
  }

  void AddFactors(const cpu::SpectrumPlan& plan) {
    std::vector<ComplexFloat> numbers;
    const auto add = [&](const cpu::RealFft::Complex& from) {
      const auto begin = static_cast<int64_t>(numbers.size());
      for (size_t i = 0; i < from.re.size(); ++i) numbers.push_back({from.re[i], from.im[i]});
      return begin;
    };
    std::vector<FftLength> lengths;
    for (int log = kFastLog; log <= chunk_log_; ++log) {
      const cpu::RealFft::Tables& of = plan.Longest(int64_t{1} << log).tables();
      FftLength length = {add(of.row_roots), add(of.column_roots), 0, add(of.real_roots), of.scale};
      length.twists = static_cast<int64_t>(numbers.size());
      const FftShape shape = {log - 1};
      for (int at = 0; at < shape.half(); ++at) {
        const auto i = static_cast<size_t>(shape.TwistAt(at));
        numbers.push_back({of.twiddles.re[i], of.twiddles.im[i]});
      }
      lengths.push_back(length);
    }
    std::vector<double> cosines, sines;
    for (int64_t length = 1; length < cpu::kFastFft; ++length) {
      const cpu::RealFft& fft = plan.Longest(length);
      cosines.insert(cosines.end(), fft.cosines().begin(), fft.cosines().end());
      sines.insert(sines.end(), fft.sines().begin(), fft.sines().end());
    }
    numbers_ = image_.Add(numbers);
    lengths_ = image_.Add(lengths);
    cosines_ = image_.Add(cosines);
    sines_ = image_.Add(sines);
  }

  int chunk_log_;
  int32_t count_;
  int64_t tiles_ = 0, samples_ = 0, bins_ = 0;
  Image::Slot<ComplexFloat> numbers_;
  Image::Slot<FftLength> lengths_;
  Image::Slot<double> cosines_, sines_;
  Image::Slot<SpectrumUnit> units_;
  Image::Slot<int64_t> first_tile_, sample_tiles_;
  Image::Slot<Extent> spans_;
};

}  // namespace legacy::cuda
