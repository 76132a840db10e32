// A codec's step is what its exchange of one unit does in a step, on whatever device: what its
// collective calls are, and whether the unit may have a residual.
#pragma once

#include <cstdint>
#include <optional>

#include "compress/exchange.h"
#include "compress/schemes/memory.h"

namespace legacy {

// Returns what a worker keeps of a unit; units that are sent whole have momentum at most.
MemoryOptions MemoryOf(MemoryOptions options, bool whole);

// Throws Error unless the codec takes the parameter and, with error feedback, cannot diverge with
// it.
void CheckCodecStep(const Codec& codec, double parameter, bool error_feedback);

// A CodecStep plans one step of one unit.
struct CodecStep {
  const Codec& codec;  // codec that makes the messages
  const Unit& unit;
  double parameter = 1;
  int active_workers = 1;
  // True where what is sent was chosen before (Exchange::Choose).
  bool selected = false;
  // True where sums are quantised again.
  bool requantise = false;
  // What each worker keeps of the unit.
  MemoryOptions memory = {.kind = MemoryKind::kNone};
  // Context of the first active worker, where its state decides what is done.
  CodecContext sender = {};

  // True where a collective call of lengths goes before the messages.
  bool LengthsTravel() const { return !codec.MessageBytes(unit, parameter); }
  // Returns the call of lengths.
  CollectiveCall Lengths() const;
  // Returns the call of messages. `values` are those in all messages together, where their lengths
  // are known.
  CollectiveCall Messages(std::optional<int64_t> values) const;
  // Returns the values that one worker sends; `values` is as above.
  int64_t ElementsSent(std::optional<int64_t> values) const;

 private:
  Feeding FeedingOf() const;
  WorkList EncodeWork() const;
  WorkList PackWork(int64_t count) const;
  WorkList DecodeWork(std::optional<int64_t> values) const;
};

}  // namespace legacy
