// Plans, on the host, the rounds of a sum by hops (schemes/hops/hop_sum.h) that all workers take
// together: in a round each worker decodes what another one has sent of some pieces, adds its own
// values, and sends the sum, or keeps it in fp32 for a later round.
//
//   ring       N - 1 rounds, each over all pieces
//   butterfly  the workers from P on give their values to others, in a round if there are some;
//              then log2 P rounds, each over half the pieces of the one before
//
// After the last round each piece of the sum is at one worker, encoded. A single worker takes a
// round in which nothing arrives.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "compress/cuda/device/segments.h"
#include "compress/schemes/hops/hop_sum.h"

namespace legacy::cuda {

// A piece at a worker, in a round.
struct Hop {
  static constexpr int64_t kNowhere = -1;

  int unit = 0;
  int worker = 0;
  int piece = 0;
  HopRange range = {};
  int sender = -1;         // worker whose own message arrives, or -1
  int64_t in = kNowhere;   // place of the sum that arrives among the last round's, or kNowhere
  int64_t out = kNowhere;  // place of the sum that is sent, or kNowhere if the worker keeps it
};

class HopRounds {
 public:
  using Round = std::vector<Hop>;

  // Returns the bytes of an encoded range of a unit.
  using BytesOf = std::function<int64_t(int unit, HopRange range)>;

  // Pieces of units of these lengths are multiples of `block` values.
  HopRounds(HopOrder order, int workers, int64_t block, const std::vector<int64_t>& lengths,
            BytesOf bytes)
      : order_(order),
        workers_(workers),
        count_(HopPieces(order, workers)),
        bytes_(std::move(bytes)) {
    for (const int64_t length : lengths) pieces_.push_back(HopRanges(length, block, count_));
    order == HopOrder::kRing || workers == 1 ? AddRing() : AddButterfly();
  }

  const std::vector<Round>& rounds() const { return rounds_; }
  // Returns the bytes of the sums of the round that has most.
  int64_t room() const { return room_; }
  // Returns what each worker's first message has of a unit.
  HopRange FirstOf(int unit, int worker) const {
    return FirstHop(order_, worker, workers_, pieces_[unit]);
  }
  // Returns the number of the worker in the keys of what is drawn for a hop (QuantiserHops).
  uint32_t DrawerOf(const Hop& hop) const {
    return static_cast<uint32_t>(workers_ * (1 + hop.piece) + hop.worker);
  }

 private:
  // Calls body(unit, range) for the units that have a piece of that number.
  template <class Body>
  void ForUnits(int piece, Body body) const {
    for (size_t u = 0; u < pieces_.size(); ++u) {
      const HopRange range = pieces_[u][piece];
      if (range.size() > 0) body(static_cast<int>(u), range);
    }
  }
  // Adds a hop to the last round, in which the sender's own message arrives, or its sum of the
  // round before, or nothing without a sender.
  void Add(Hop hop, int sender, bool own_message, bool sends) {
    if (own_message) {
      hop.sender = sender;
    } else if (sender >= 0) {
      const auto found = sent_.find({hop.unit, hop.piece, sender});
      assert(found != sent_.end());
      hop.in = found->second;
    }
    if (sends) {
      hop.out = end_;
      end_ += RoundedUp(bytes_(hop.unit, hop.range), 16);
      room_ = std::max(room_, end_);
      sends_.insert({{hop.unit, hop.piece, hop.worker}, hop.out});
    }
    rounds_.back().push_back(hop);
  }
  void BeginRound() {
    rounds_.emplace_back();
    sent_ = std::exchange(sends_, {});
    end_ = 0;
  }

  void AddRing() {
    const int first = workers_ == 1 ? 0 : 1;
    for (int hop = first; hop < workers_; ++hop) {
      BeginRound();
      for (int piece = 0; piece < count_; ++piece) {
        ForUnits(piece, [&](int unit, HopRange range) {
          const int worker = (piece + hop) % workers_;
          const int sender = hop == 0 ? -1 : (piece + hop - 1) % workers_;
          Add({.unit = unit, .worker = worker, .piece = piece, .range = range}, sender, hop == 1,
              true);
        });
      }
    }
  }

  // Returns whether a worker has a piece after its first `level` halvings.
  bool Has(int worker, int piece, int level) const {
    const int rest = std::countr_zero(static_cast<unsigned>(count_)) - level;
    return worker >> rest == piece >> rest;
  }
  bool Folded(int worker) const { return worker + count_ < workers_; }
  void AddButterfly() {
    const int levels = std::countr_zero(static_cast<unsigned>(count_));
    if (workers_ > count_) {
      BeginRound();
      AddLevel(0, levels);
    }
    for (int level = 1; level <= levels; ++level) {
      BeginRound();
      AddLevel(level, levels);
    }
  }
  // Level 0 adds the values of the workers from P on.
  void AddLevel(int level, int levels) {
    for (int worker = 0; worker < count_; ++worker) {
      if (level == 0 && !Folded(worker)) continue;
      for (int piece = 0; piece < count_; ++piece) {
        if (!Has(worker, piece, level)) continue;
        const int sender = level == 0 ? worker + count_ : worker ^ count_ >> level;
        const bool own = level == 0 || (level == 1 && !Folded(sender));
        const bool sends = level == levels || !Has(worker, piece, level + 1);
        ForUnits(piece, [&](int unit, HopRange range) {
          Add({.unit = unit, .worker = worker, .piece = piece, .range = range}, sender, own, sends);
        });
      }
    }
  }

  HopOrder order_;
  int workers_;
  int count_;  // of pieces
  BytesOf bytes_;
  std::vector<std::vector<HopRange>> pieces_;  // of each unit
  std::vector<Round> rounds_;
  int64_t room_ = 0;
  // While rounds are made: the end of this round's sums, and places by unit, piece and sender.
  int64_t end_ = 0;
  std::map<std::array<int, 3>, int64_t> sent_, sends_;
};

}  // namespace legacy::cuda
