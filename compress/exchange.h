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

// A Reduction says what the network makes of the workers' payloads of a collective call.
enum class Reduction : uint8_t { kConcat, kSum, kMax, kVote, kRequantisedSum };

// A Collective is the operation that carries the payloads. The fabric picks the algorithm (ring,
// tree, parameter server) for it.
enum class Collective : uint8_t { kAllReduce, kAllGather, kBroadcast };

// A collective call: what an exchange sends at once, and the device work around it.
struct CollectiveCall {
  Reduction reduction = Reduction::kConcat;
  Collective collective = Collective::kAllGather;
  int root = 0;     // the worker that broadcasts; no meaning in other collectives
  WorkList encode;  // work of each worker before the call can start
  WorkList decode;  // work of each worker after the call, for all messages together
};

// A PlannedCall is a collective call whose messages have a length that is known beforehand.
struct PlannedCall {
  CollectiveCall call;
  int64_t bytes = 0;  // length of each active worker's message; in a broadcast, of the root's alone
};

// A SentCall is a collective call with the lengths of its messages.
struct SentCall : CollectiveCall {
  std::vector<int64_t> bytes;  // length of each worker's message; 0 where a worker sends nothing
};
// Returns a call before anybody has sent: lengths are 0. Work of equal kernels is added up.
SentCall Unsent(const CollectiveCall& call, int workers);

// A LinkEstimate is what workers believe of their network and devices: a message of b bytes to a
// neighbour takes latency_seconds + b * seconds_per_byte.
struct LinkEstimate {
  double latency_seconds = 0;
  double seconds_per_byte = 0;
  // The seconds of a collective call of a unit of `elements` in which worker w sends bytes[w], by
  // the closed form of the configured algorithm. Empty: the closed form of a ring is taken, or of a
  // tree in a broadcast.
  std::function<double(const CollectiveCall& call, int64_t elements,
                       std::span<const int64_t> bytes)>
      call_seconds = {};
  // The seconds of `work` on a worker's device. Empty: they are not known, and count as 0.
  std::function<double(const WorkList& work)> work_seconds = {};
};

// A Probe says how much of one worker's error-fed gradient e each candidate would keep. GraVAC's
// gains are made of it.
struct Probe {
  double squared = 0;        // ||e||^2
  std::vector<double> kept;  // ||C_c(e)||^2 of each candidate c
};

// A StepInfo says which step it is, on what network it runs, and who takes part.
struct StepInfo {
  uint64_t seed = 0;
  int64_t step = 0;         // number of the step, from 0
  int64_t total_steps = 0;  // length of the training: the horizon T of LEGACY's phases
  double learning_rate = 0;
  int64_t steps_per_epoch = 1;
  // The estimate of the network. What reads it makes the training depend on the network.
  LinkEstimate link = {};
  std::vector<int> active_workers = {};  // workers that take part, ascending; empty: all

  // Returns the active workers, all of `workers` named where the list is empty.
  std::vector<int> ActiveWorkers(int workers) const;
};

// A UnitStep is what one unit's exchange is told of a step.
struct UnitStep {
  StepInfo info = {};
  double parameter = 1;  // the parameter that the policy chose for this unit and step
  // Parameters that the policy will choose from within the step, loosest first. Empty: `parameter`
  // is the choice.
  std::vector<double> candidates = {};
  // True: what candidates keep is estimated from one error table, and only the chosen one is
  // compressed.
  bool estimate = false;
};

// An Exchange serves one unit for the whole training. It owns the state that every worker keeps for
// the unit (residual, momentum, warm basis). Measure and Encode may run concurrently for different
// workers; everything else is called from one thread.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Starts a step. Throws Error on a parameter outside the scheme's range.
  virtual void Begin(const UnitStep& context) = 0;
  // Takes the worker's gradient in, compresses it at the loosest candidate, compresses what that
  // kept at the next one (multi-level compression), and keeps the results. Where the step
  // estimates, it only makes an error table. It is called once for each active worker where the
  // step has candidates. Throws Error where the scheme takes none (SchemeTraits).
  virtual Probe Measure(int worker, std::span<const float> gradient);
  // Goes on with candidates[index]; Encode then takes no gradient.
  virtual void Choose(size_t index);

  // Returns the next collective call, or nothing when the mean is known. The call may depend on the
  // calls before it.
  virtual std::optional<CollectiveCall> NextCall() = 0;
  // Returns the worker's payload of the current collective call. `gradient` (the unit's numel) is
  // given in the first call and empty in later ones, as a later call reads what was kept of it.
  // Workers that send nothing return an empty message.
  virtual Message Encode(int worker, std::span<const float> gradient) = 0;
  // Takes an active worker's message as it was received; workers come in ascending order. Throws
  // Error on bytes that no encoder writes.
  virtual void Accumulate(int worker, ByteSpan message) = 0;
  // Ends the current collective call, once all its messages are accumulated.
  virtual void FinishCall() = 0;
  // Writes the mean over the active workers of the decoded gradients to `out`, which has the unit's
  // numel.
  virtual void Mean(std::span<float> out) const = 0;

  // Returns the number of values that one active worker sends in this step, the element ratio's
  // numerator. It is valid after the last collective call.
  virtual int64_t ElementsSent() const = 0;

  // Multiplies residuals by `factor` = lr_old / lr_new. Residuals are in gradient units, so that
  // without this a lower learning rate would also shrink steps that were due before.
  virtual void RescaleResiduals(float factor) = 0;
  // Returns the worker's residual after the last step, before Begin. It is empty without error
  // feedback.
  virtual std::span<const float> Residual(int worker) const = 0;
  // Save returns the bytes of all state and Load takes them back. Load throws Error on bytes of
  // another unit, worker count or scheme.
  virtual Bytes Save() const = 0;
  virtual void Load(ByteSpan state) = 0;
};

// SchemeTraits are what holds for a scheme whatever it compresses.
struct SchemeTraits {
  // True where the arithmetic of the reduction depends on the collective's algorithm: such a
  // training cannot be replayed.
  bool depends_on_collective = false;
  // True where the exchange reads StepInfo::link, so that its messages differ between networks.
  bool reads_network = false;
  // True where the scheme takes UnitStep::candidates.
  bool takes_candidates = false;
  // True where the scheme applies momentum before compression (DGC): the optimizer must have none.
  bool owns_momentum = false;
  // True where the residual is part of the method itself (momentum correction, variance): the
  // scheme must be made with error feedback on.
  bool needs_error_feedback = false;
  // The number of steps at the start of the training in which all units are sent whole.
  int64_t dense_steps = 0;
};

// A Scheme makes exchanges. It holds configuration only, which all units share.
class Scheme {
 public:
  virtual ~Scheme() = default;
  // The text that makes the scheme, "topk+rbf".
  virtual std::string_view Name() const = 0;
  // The parameter that policies choose.
  virtual const ParameterSpec& Parameter() const = 0;
  virtual SchemeTraits Traits() const { return {}; }
  // Returns the number of values that one worker sends over all collective calls. Where it depends
  // on the data, it is the number that the parameter asks for.
  virtual int64_t ElementsSent(const Unit& unit, double parameter) const = 0;
  // Returns the bytes that one worker sends over all collective calls, or nothing where they are
  // not known beforehand.
  virtual std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const = 0;
  // Returns the collective calls of an exchange of that many active workers without candidates, or
  // nothing where lengths depend on the data or on who takes part.
  virtual std::optional<std::vector<PlannedCall>> Plan(const Unit&, double, int) const {
    return std::nullopt;
  }
  // Returns the calls to expect of an exchange on that link, or nothing where the scheme cannot
  // tell. Lengths that depend on the data are those that the parameter asks for.
  virtual std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                                int active_workers,
                                                                const LinkEstimate&) const {
    return Plan(unit, parameter, active_workers);
  }
  // False for units that the scheme's own rule sends whole (vectors, small matrices). Policies
  // leave them alone.
  virtual bool Compresses(const Unit&, [[maybe_unused]] double parameter) const { return true; }
  // False where error feedback would diverge, and where rounding is all that is lost (dense, fp16).
  virtual bool UsesErrorFeedback([[maybe_unused]] double parameter) const { return true; }
  // Returns the norm to which one worker's whole gradient is clipped before anything is compressed,
  // or nothing where it is not clipped.
  virtual std::optional<double> LocalClipNorm([[maybe_unused]] int workers) const {
    return std::nullopt;
  }
  // Returns ||x - C(x)||^2, or its expectation, for each parameter. `values` is x, one worker's
  // error-fed gradient of the unit. L-GreCo's table is made of it.
  virtual std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                            std::span<const double> parameters,
                                            const RandomKey& random) const = 0;
  // Returns the device work of SquaredErrors.
  virtual WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const = 0;
  // Returns the work of selecting from `numel` values alone, which measuring a candidate takes;
  // nothing where the scheme takes no candidates.
  virtual WorkList SelectWork([[maybe_unused]] int64_t numel,
                              [[maybe_unused]] double parameter) const {
    return {};
  }
  // Makes the exchange of a unit for that many workers.
  virtual std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const = 0;
};

// Options that are the same for all schemes.
struct SchemeOptions {
  // False: there are no residuals. True throws Error from the first Begin where the codec diverges
  // with error feedback.
  bool error_feedback = true;
};

// A row of SchemeTable().
struct SchemeRow {
  MethodInfo info;
  std::string collective;  // name of the collectives, for lists: "all-gather", "2 all-reduces"
  // Makes the scheme from the options of its first stage and from the other stages.
  std::unique_ptr<Scheme> (*make)(const OptionReader& own, std::span<const Stage> rest,
                                  const SchemeOptions& options);
};

// Returns the schemes that are more than one codec in one collective call: ar-topk, flexible-topk,
// powersgd, dgc, signsgd, terngrad-shared, variance. Every codec is a scheme as well.
std::span<const SchemeRow> SchemeTable();

// Makes a scheme from text: "topk", "topk:index=u32+rbf", "powersgd:min_rate=2". Codecs take,
// beside their own options, those of CodecSchemeOptions() (schemes/codec_scheme.h), and all schemes
// take dense_start (schemes/dense_start.h). Throws Error with the list of names for any other.
std::unique_ptr<Scheme> MakeScheme(std::string_view text, const SchemeOptions& options = {});
// Returns all names that MakeScheme takes as a first stage.
std::vector<std::string> SchemeNames();

}  // namespace legacy
