// The table of the random subsets that are drawn at once, and of their rounds of draws.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "compress/cpu/random_subset.h"
#include "compress/cuda/device/image.h"
#include "compress/cuda/kernels/coding/bits.h"

namespace legacy::cuda {

// A subset of k of [0, n), 0 <= k <= n < 2^32.
struct SubsetUnit {
  int64_t n = 0;
  int64_t k = 0;
  int64_t out = 0;     // index at which its k positions and values begin
  int64_t offset = 0;  // index in a flat vector at which its n elements begin
  float factor = 1;    // factor of its values
};

// Subsets are in device memory.
struct Subsets {
  Segments words;  // words of each unit's bitmap, in tiles of kBitTile
  Segments kept;   // each unit's entries, in tiles of kTile
  const SubsetUnit* units = nullptr;
  const BitSet* sets = nullptr;  // each unit's subset, or the complement of what is drawn
  // Capacity of each round for draws of each unit, in tiles of kDrawTile.
  const Extent* draws = nullptr;
  const int64_t* first_tile = nullptr;
  int rounds = 0;
};

inline constexpr int64_t kDrawTile = 2048;

class SubsetTable : public ImageTable {
 public:
  // Number of draws below which a round is not worth a launch.
  static constexpr int64_t kLastDraws = 8192;

  explicit SubsetTable(std::span<const SubsetUnit> units, int64_t last_draws = kLastDraws)
      : units_(units.begin(), units.end()) {
    std::vector<Extent> words, kept;
    std::vector<BitSet> sets;
    for (const SubsetUnit& unit : units_) {
      words.push_back({bitmap_words_, BitWords(unit.n)});
      // Bitmaps are read by vectors.
      bitmap_words_ += RoundedUp(BitWords(unit.n), 4);
      kept.push_back({unit.out, unit.k});
      sets.push_back({unit.n, unit.k > unit.n - unit.k, unit.out, unit.k});
    }
    words_ = image_.AddSegments(words, kBitTile);
    kept_ = image_.AddSegments(kept, kTile);
    units_slot_ = image_.Add(units_);
    sets_ = image_.Add(sets);
    PlanRounds(last_draws);
  }

  int32_t count() const { return static_cast<int32_t>(units_.size()); }
  int rounds() const { return static_cast<int>(draw_tiles_.size()); }
  int64_t draw_tiles(int round) const { return draw_tiles_[round]; }
  int64_t word_tiles() const { return words_.tiles; }
  int64_t kept_tiles() const { return kept_.tiles; }
  int64_t bitmap_words() const { return bitmap_words_; }

  Subsets View(const void* memory) const {
    return {Image::At(memory, words_),
            Image::At(memory, kept_),
            Image::At(memory, units_slot_),
            Image::At(memory, sets_),
            Image::At(memory, draws_),
            Image::At(memory, first_tile_),
            rounds()};
  }

 private:
  // Plans the rounds. As many draws as positions are missing are certainly needed, so a round has
  // room for the expected number of missing positions and four standard deviations more. If that is
  // not enough, later launches draw the rest.
  void PlanRounds(int64_t last_draws) {
    constexpr double kAllDraws = 0x1p32;
    std::vector<double> lacking, drawn(units_.size());
    for (const SubsetUnit& unit : units_) {
      lacking.push_back(static_cast<double>(std::min(unit.k, unit.n - unit.k)));
    }
    std::vector<Extent> draws;
    std::vector<int64_t> first_tile;
    while (std::ranges::any_of(lacking, [&](double x) { return x > double(last_draws); })) {
      std::vector<Extent> round(units_.size());
      for (size_t u = 0; u < units_.size(); ++u) {
        if (lacking[u] <= static_cast<double>(last_draws)) continue;
        const auto n = static_cast<double>(units_[u].n);
        const auto refused = cpu::RefusedBelow(static_cast<uint32_t>(units_[u].n));
        const double wanted = static_cast<double>(std::min(units_[u].k, units_[u].n - units_[u].k));
        const double slack = drawn[u] > 0 ? 4 * std::sqrt(wanted) : 0;
        round[u].length = static_cast<int64_t>(std::ceil(lacking[u] + slack));
        drawn[u] += lacking[u];
        lacking[u] = wanted + n * std::expm1(-drawn[u] * (1 - refused / kAllDraws) / n);
      }
      const auto tiles = FirstTiles(round, kDrawTile);
      draw_tiles_.push_back(tiles.back());
      draws.insert(draws.end(), round.begin(), round.end());
      first_tile.insert(first_tile.end(), tiles.begin(), tiles.end());
    }
    draws_ = image_.Add(draws);
    first_tile_ = image_.Add(first_tile);
  }

  std::vector<SubsetUnit> units_;
  Image::SegmentsSlot words_, kept_;
  Image::Slot<SubsetUnit> units_slot_;
  Image::Slot<BitSet> sets_;
  Image::Slot<Extent> draws_;
  Image::Slot<int64_t> first_tile_;
  std::vector<int64_t> draw_tiles_;
  int64_t bitmap_words_ = 0;
};

}  // namespace legacy::cuda
