// Exchange: how one unit's gradients become their mean, as a list of collective calls. Top-K by
// all-gather has one call; AR-Topk two (indices broadcast, values all-reduced); PowerSGD two
// dependent all-reduces. The bytes handed to the network are Message::size(), and the mean comes
// from decoding those same bytes.
//
//   exchange->Begin(step)
//   where step.candidates are given:               what each would keep, measured before anything
//                                                  is sent
//     for each active worker w (any thread):   Probe p = exchange->Measure(w, gradient of w)
//     exchange->Choose(candidate)                  agreed on by the policy (compress/policy.h)
//   while (auto call = exchange->NextCall()):           the same decision at every worker
//     for each active worker w (any thread):   Message m = exchange->Encode(w, gradient of w)
//     for each active worker w, in order:      exchange->Accumulate(w, m.bytes)
//     exchange->FinishCall()
//   exchange->Mean(out)
//
// All workers take part in a step unless it says who does (backup workers, deadlines). The others
// are not encoded and keep their state; the mean is over those who take part.
#pragma once

#include <cstdint>
#include <functional>
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

// What happens to the workers' payloads of a collective call.
enum class Reduction : uint8_t { kConcat, kSum, kMax, kVote, kRequantisedSum };

// Which way they travel. The fabric picks the algorithm (ring, tree, parameter server) for it.
enum class Collective : uint8_t { kAllReduce, kAllGather, kBroadcast };

struct CollectiveCall {
  Reduction reduction = Reduction::kConcat;
  Collective collective = Collective::kAllGather;
  int root = 0;     // of a broadcast
  WorkList encode;  // at each worker, before the call can start
  WorkList decode;  // at each worker, after it, for all messages together
};

// A collective call whose messages have a length that is known beforehand.
struct PlannedCall {
  CollectiveCall call;
  int64_t bytes = 0;  // of each active worker's message; of a broadcast, of the root's alone
};

// What workers take the network for: a message of b bytes to a neighbour takes latency + b *
// seconds_per_byte. And what they take their devices for.
struct LinkEstimate {
  double latency_seconds = 0;
  double seconds_per_byte = 0;
  // Seconds of a collective call of a unit of `elements` in which worker w sends bytes[w]: the
  // closed form of the collective that is configured for it. None: that of a ring, or of a tree
  // that broadcasts.
  std::function<double(const CollectiveCall& call, int64_t elements,
                       std::span<const int64_t> bytes)>
      call_seconds = {};
  // Seconds of that work on a worker's device. None: it is not known, and counts as free.
  std::function<double(const WorkList& work)> work_seconds = {};
};

// What one worker's error-fed gradient e would keep: the raw material of gains.
struct Probe {
  double squared = 0;        // ||e||^2
  std::vector<double> kept;  // ||C_c(e)||^2 of each candidate
};

struct StepContext {
  uint64_t seed = 0;
  int64_t step = 0;                      // from 0
  double parameter = 1;                  // chosen by the policy for this unit and step
  std::vector<int> active_workers = {};  // workers that take part, ascending; empty: all
  // Parameters that the policy will choose from within the step, loosest first; empty: `parameter`
  // holds.
  std::vector<double> candidates = {};
  // What candidates keep is estimated from one error table, and only the chosen one is compressed.
  bool estimate = false;
  LinkEstimate link = {};
};

// One unit for the whole training; owns what every worker keeps for it (residual, momentum, warm
// basis). Encode may run concurrently for different workers; everything else is called from one
// thread.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void Begin(const StepContext& context) = 0;
  // With candidates: takes the worker's gradient in, compresses it at the loosest candidate and
  // what that kept at the next (multi-level compression), and keeps the results; where the step
  // estimates, only an error table is made. Once for each active worker, concurrently for different
  // ones. Throws Error where the scheme has no levels (Scheme::TakesCandidates).
  virtual Probe Measure(int worker, std::span<const float> gradient);
  // The step goes on with candidates[index]; Encode then takes no gradient.
  virtual void Choose(size_t index);

  // The next collective call, or nothing when the mean is known. May depend on the calls before
  // (GraVAC's agreement).
  virtual std::optional<CollectiveCall> NextCall() = 0;
  // Worker's payload of the current collective call. `gradient` (unit's numel) is given in the
  // first call and empty in later ones: what a later call needs is kept as state. Workers that send
  // nothing return an empty message.
  virtual Message Encode(int worker, std::span<const float> gradient) = 0;
  // Takes an active worker's message as received, in worker order. Hostile bytes throw Error.
  virtual void Accumulate(int worker, ByteSpan message) = 0;
  virtual void FinishCall() = 0;
  // Mean over the active workers of the decoded gradients; `out` has the unit's numel.
  virtual void Mean(std::span<float> out) const = 0;

  // Values that one active worker sends this step, for the element ratio; valid after the last
  // collective call.
  virtual int64_t ElementsSent() const = 0;

  // Residuals are in gradient units: when the learning rate falls from a to b they are multiplied
  // by a / b, so that what they hold is applied as the steps that made them would have (factor =
  // lr_old / lr_new).
  virtual void RescaleResiduals(float factor) = 0;
  // The worker's residual (of the last step, before Begin); empty without error feedback.
  virtual std::span<const float> Residual(int worker) const = 0;
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
  // Values that one worker sends over all collective calls; what the parameter asks for, where it
  // depends on the data.
  virtual int64_t ElementsSent(const Unit& unit, double parameter) const = 0;
  // Bytes that one worker sends over all collective calls, where known beforehand.
  virtual std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const = 0;
  // The collective calls of an exchange of so many active workers that gets no candidates, where
  // all their lengths are known beforehand; none: lengths depend on the data, or on who takes part.
  virtual std::optional<std::vector<PlannedCall>> Plan(const Unit&, double, int) const {
    return std::nullopt;
  }
  // The calls to expect of an exchange on that link. Where lengths depend on the data they are
  // those of what the parameter asks for. None: the scheme cannot tell.
  virtual std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                                int active_workers,
                                                                const LinkEstimate&) const {
    return Plan(unit, parameter, active_workers);
  }
  // True where the reduction's arithmetic depends on the network's collective: such a training
  // cannot be replayed.
  virtual bool DependsOnCollective() const { return false; }
  // True where the exchange reads StepContext::link, and so differs between networks.
  virtual bool ReadsNetwork() const { return false; }
  // False for units that its own rule sends whole (vectors, small matrices): policies leave them
  // alone.
  virtual bool Compresses(const Unit&, [[maybe_unused]] double parameter) const { return true; }
  // Steps at the start of the training in which all units are sent whole.
  virtual int64_t DenseSteps() const { return 0; }
  // True where StepContext::candidates are taken.
  virtual bool TakesCandidates() const { return false; }
  // False where error feedback would diverge, and where rounding is all that is lost (dense, fp16).
  virtual bool UsesErrorFeedback([[maybe_unused]] double parameter) const { return true; }
  // True where the residual is the method itself (momentum correction, variance): it is made
  // with error feedback on.
  virtual bool NeedsErrorFeedback() const { return OwnsMomentum(); }
  // True where momentum is applied before compression (DGC): the optimizer must have none.
  virtual bool OwnsMomentum() const { return false; }
  // Norm that one worker's whole gradient is clipped to before anything is compressed; none: not
  // clipped.
  virtual std::optional<double> LocalClipNorm([[maybe_unused]] int workers) const {
    return std::nullopt;
  }
  // ||x - C(x)||^2, or its expectation, for each parameter; `values` is one worker's error-fed
  // gradient of the unit. What L-GreCo's table is made of.
  virtual std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                            std::span<const double> parameters,
                                            const RandomKey& random) const = 0;
  // What that takes.
  virtual WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const = 0;
  // Of selecting from `numel` values, and no more: what measuring a candidate takes. None without
  // levels.
  virtual WorkList SelectWork([[maybe_unused]] int64_t numel,
                              [[maybe_unused]] double parameter) const {
    return {};
  }
  virtual std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const = 0;
};

struct SchemeOptions {
  bool error_feedback =
      true;  // throws Error from Open's first Begin where the codec diverges with it
};

struct SchemeRow {
  MethodInfo info;
  std::string collective;  // what carries it, for lists: "all-gather", "2 all-reduces"
  // `own`: of the first stage. `rest`: the other stages.
  std::unique_ptr<Scheme> (*make)(const OptionReader& own, std::span<const Stage> rest,
                                  const SchemeOptions& options);
};

// Schemes that are more than one codec in one collective call: ar-topk, flexible-topk, powersgd,
// dgc, signsgd, terngrad-shared, variance. Every codec is a scheme as well.
std::span<const SchemeRow> SchemeTable();

// From text, "topk", "topk:index=u32+rbf", "powersgd:min_rate=2". Codecs take, beside their own,
// the options of CodecSchemeOptions() (schemes/codec_scheme.h), and all take dense_start
// (schemes/dense_start.h). Throws Error with the list for any other name.
std::unique_ptr<Scheme> MakeScheme(std::string_view text, const SchemeOptions& options = {});
std::vector<std::string> SchemeNames();

}  // namespace legacy
