// Exchange: how one unit's gradients become their mean, as a list of rounds. Top-K by all-gather
// has one round; AR-Topk two (indices broadcast, values all-reduced); PowerSGD two dependent
// all-reduces. The bytes handed to the network are Message::size(), and the mean comes from
// decoding those same bytes.
//
//   exchange->Begin(step)
//   while (auto round = exchange->NextRound()):          the same decision at every worker
//     for each participant w (any thread):   Message m = exchange->Encode(w, gradient of w)
//     for each participant w, in order:      exchange->Accumulate(w, m.bytes)
//     exchange->FinishRound()
//   exchange->Mean(out)
//
// All workers take part in a step unless it says who does (backup workers, deadlines). The others
// are not encoded and keep their state; the mean is over those who take part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compress/codec.h"
#include "compress/message.h"
#include "compress/unit.h"

namespace legacy {

// What happens to the workers' payloads of a round.
enum class Reduction : uint8_t { kConcat, kSum, kMax, kVote, kRequantisedSum };

// Which way they travel. The fabric picks the algorithm (ring, tree, parameter server) for it.
enum class Primitive : uint8_t { kAllReduce, kAllGather, kBroadcast };

struct Round {
  Reduction reduction = Reduction::kConcat;
  Primitive primitive = Primitive::kAllGather;
  int root = 0;  // of a broadcast
  Work encode;   // at each worker, before the round can start
  Work decode;   // at each worker, after it, for all messages together
};

struct StepContext {
  uint64_t seed = 0;
  int64_t step = 0;                    // from 0
  double parameter = 1;                // chosen by the policy for this unit and step
  std::vector<int> participants = {};  // workers that take part, ascending; empty: all
};

// One unit for the whole training; owns what every worker keeps for it (residual, momentum, warm
// basis). Encode may run concurrently for different workers; everything else is called from one
// thread.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void Begin(const StepContext& context) = 0;
  // The next round, or nothing when the mean is known. May depend on the rounds before (GraVAC's
  // agreement).
  virtual std::optional<Round> NextRound() = 0;
  // Worker's payload of the current round. `gradient` (unit's numel) is given in the first round
  // and empty in later ones: what a later round needs is kept as state. Workers that send nothing
  // return an empty message.
  virtual Message Encode(int worker, std::span<const float> gradient) = 0;
  // Takes a participant's message as received, in worker order. Hostile bytes throw Error.
  virtual void Accumulate(int worker, ByteSpan message) = 0;
  virtual void FinishRound() = 0;
  // Mean over the participants of the decoded gradients; `out` has the unit's numel.
  virtual void Mean(std::span<float> out) const = 0;

  // Values that one participant sends this step, for the element ratio; valid after the last round.
  virtual int64_t ElementsSent() const = 0;

  // Residuals are in gradient units: when the learning rate falls from a to b they are multiplied
  // by a / b, so that what they hold is applied as the steps that made them would have (factor =
  // lr_old / lr_new).
  virtual void RescaleResiduals(float factor) = 0;
  // Sum of squares of worker's residual; 0 without error feedback.
  virtual double ResidualSquared(int worker) const = 0;
  // Bytes of all state, and back; Load throws Error on bytes of another unit, worker count or
  // scheme.
  virtual Bytes Save() const = 0;
  virtual void Load(ByteSpan state) = 0;
};

// Scheme: makes exchanges. Configuration only, shared by all units.
class Scheme {
 public:
  virtual ~Scheme() = default;
  virtual std::string_view Name() const = 0;
  virtual const ParameterSpec& Parameter() const = 0;
  virtual int64_t ElementsSent(int64_t numel, double parameter) const = 0;
  // Bytes that one worker sends over all rounds, where known beforehand.
  virtual std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const = 0;
  // True where the reduction's arithmetic depends on the network's collective: such a training
  // cannot be replayed.
  virtual bool DependsOnCollective() const { return false; }
  virtual std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const = 0;
};

struct SchemeOptions {
  CodecOptions codec = {};
  bool error_feedback =
      true;  // throws Error from Open's first Begin where the codec diverges with it
};

// Schemes by name: every codec's name (one round), and "ar-topk". Throws Error with the list for
// any other name.
std::unique_ptr<Scheme> MakeScheme(std::string_view name, const SchemeOptions& options);
std::vector<std::string> SchemeNames();

}  // namespace legacy
