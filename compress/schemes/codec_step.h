// A step of a codec's exchange of one unit, on whatever device: what its collective calls are, and
// whether the unit may have a residual.
#pragma once

#include <cstdint>
#include <optional>

#include "compress/exchange.h"
#include "compress/schemes/memory.h"

namespace legacy {

// What a worker keeps of a unit: of units that are sent whole there is nothing to hold but
// momentum.
MemoryOptions MemoryOf(MemoryOptions options, bool whole);

// Throws Error unless the codec takes the parameter and, with error feedback, cannot diverge with
// it.
void CheckCodecStep(const Codec& codec, double parameter, bool error_feedback);

struct CodecStep {
  const Codec& codec;  // that makes the messages
  const Unit& unit;
  double parameter = 1;
  int active_workers = 1;
  bool selected = false;                               // what is sent was chosen before
  bool requantise = false;                             // sums are quantised again
  MemoryOptions memory = {.kind = MemoryKind::kNone};  // the unit's residual
  CodecContext sender = {};  // the first active worker's, where its state decides what is done

  // Whether a collective call of lengths goes before the messages.
  bool LengthsTravel() const { return !codec.MessageBytes(unit, parameter); }
  CollectiveCall Lengths() const;
  // `values`: in all messages together, where their lengths have travelled.
  CollectiveCall Messages(std::optional<int64_t> values) const;
  // What one worker sends; the same `values`.
  int64_t ElementsSent(std::optional<int64_t> values) const;

 private:
  Feeding FeedingOf() const;
  WorkList EncodeWork() const;
  WorkList PackWork(int64_t count) const;
  WorkList DecodeWork(std::optional<int64_t> values) const;
};

}  // namespace legacy
