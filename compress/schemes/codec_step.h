// Plans a codec's step for one unit, on any device: its collective calls, and whether the unit may
// have a residual.
#pragma once

#include <cstdint>
#include <optional>

#include "compress/exchange.h"
#include "compress/schemes/memory.h"

namespace legacy {

// Returns the memory of a unit; units that are sent whole have momentum at most.
MemoryOptions MemoryOf(MemoryOptions options, bool whole);

// Throws Error unless the codec takes the parameter and, with error feedback, cannot diverge.
void CheckCodecStep(const Codec& codec, double parameter, bool error_feedback);

// The way in which messages become their sum.
enum class Summing : uint8_t {
  kPlain,       // all are decoded and added in fp32, in the workers' order
  kRequantise,  // by slices, whose owners quantise the mean again (requantise.h)
  kHops,        // along a ring, each partial sum rounded as the messages are (ring_sum.h)
  kRing,        // along a ring, each partial sum encoded again (hops/hop_sum.h)
  kButterfly,   // along a butterfly, likewise
};

// Returns the order of sums that are encoded again at every hop; nothing for others.
std::optional<HopOrder> HopOrderOf(Summing summing);

// Returns the work of encoding so many values before the first hop, with that of a worker's memory.
WorkList FirstHopWork(const Codec& codec, int64_t values, double parameter,
                      const MemoryOptions& memory);

// A HopOwner says for whom the sum of a slice is that hops encode again: consecutive workers hold a
// copy of the model together, `owners` of them, of which one owns the slice.
struct HopOwner {
  int worker = 0;  // its place in the copy
  int owners = 1;
};

// Plans one step of one unit.
struct CodecStep {
  const Codec& codec;  // codec that makes the messages
  const Unit& unit;
  double parameter = 1;
  int active_workers = 1;
  // True if selections were chosen before (Exchange::Choose).
  bool selected = false;
  Summing summing = Summing::kPlain;
  int64_t slice = 0;  // most bytes of payload of a message of kRing and kButterfly
  int workers = 1;    // all workers: those who are not active pass sums on
  // Memory of each worker for the unit.
  MemoryOptions memory = {.kind = MemoryKind::kNone};
  // Context of the first active worker, whose state determines the work.
  CodecContext sender = {};

  // Returns true if a collective call of lengths precedes the messages.
  bool SendsLengths() const { return !codec.MessageBytes(unit, parameter); }
  // Returns the call of lengths.
  CollectiveCall Lengths() const;
  // Returns the call of messages. `values` is the number of values in all messages together, if
  // lengths are known.
  CollectiveCall Messages(std::optional<int64_t> values) const;
  // Returns the number of values that one worker sends; `values` is as above.
  int64_t ElementsSent(std::optional<int64_t> values) const;

 private:
  Feeding FeedingOf() const;
  WorkList EncodeWork() const;
  WorkList PackWork(int64_t count) const;
  WorkList DecodeWork(std::optional<int64_t> values) const;
};

}  // namespace legacy
