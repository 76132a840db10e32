// An exchange turns one unit's gradients into their mean, in a list of collective calls. Top-K by
// all-gather has one call; AR-Topk two (positions broadcast, values all-reduced); PowerSGD two
// dependent all-reduces. The bytes passed to the network are Message::size(), and the mean comes
// from decoding those same bytes.
//
//   exchange->Begin(step)
//   if step.candidates are given:                     measures each before anything is sent
//     for each active worker w (any thread):   Probe p = exchange->Measure(w, gradient of w)
//     exchange->Choose(candidate)                     agreed on by the policy (compress/policy.h)
//   while (auto call = exchange->NextCall()):         the same decision at every worker
//     for each active worker w (any thread):   Message m = exchange->Encode(w, gradient of w)
//     for each active worker w, in order:      exchange->Accumulate(w, m.bytes)
//     exchange->Complete(call)
//     exchange->FinishCall()
//   exchange->Mean(out)
//
// Where the mean is compressed (SchemeTraits::compresses_mean), it is measured after the only call:
// FinishCall, Measure(0, {}), Choose, Complete(call) again for the work of the choice, and Mean.
//
// All workers are active in a step unless it lists the active ones (backup workers, deadlines). The
// others do not encode, and keep their state; the mean is over the active workers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/state.h"
#include "compress/codec.h"
#include "compress/message.h"
#include "compress/unit.h"

namespace legacy {

// The network's operation on the workers' payloads of a collective call.
// kServed: a parameter server compresses what it has formed from the payloads, and answers with
// that.
// kHops: every partial sum is encoded again before it travels on, as CollectiveCall::hops says.
// kOwned: each slice of the unit has an owner, to whom all workers send their part of the message.
// The owner alone forms the mean of its slice (CollectiveCall::owned).
enum class Reduction : uint8_t {
  kConcat,
  kSum,
  kMax,
  kVote,
  kRequantisedSum,
  kServed,
  kHops,
  kOwned
};

// The operation that carries the payloads. The fabric chooses its algorithm (ring, tree, parameter
// server).
enum class Collective : uint8_t {
  kAllReduce,
  kAllGather,
  kBroadcast,
  kAllToAll,  // each worker has a part for each of the others (Exchange::PartBytes)
  // Aggregators sum blocks that are not zero, and stream the sum, of `pull` bytes, to all workers.
  kBlockSparse,
};

// The way of partial sums from worker to worker (schemes/hops/hop_sum.h).
enum class HopOrder : uint8_t { kRing, kButterfly };

// A part of the pieces of a sum by hops, which travels by itself.
struct HopSlice {
  std::vector<int64_t> payload;  // bytes of each piece, without headers
  // Bytes of the headers of a message that begins with that piece. A message has a header for each
  // unit of which it has values, and units fill their first pieces first.
  std::vector<int64_t> headers;

  bool operator==(const HopSlice&) const = default;
};

// Hops say what travels in a sum by hops among N workers, and what each hop computes. A ring has N
// pieces; a butterfly has P of them, the largest power of two that is not above N.
struct Hops {
  HopOrder order = HopOrder::kRing;
  std::vector<HopSlice> slices;
  // Work of one hop over all pieces of all slices: decode them, add the worker's own values, and
  // encode the sums. A hop that carries a part of the bytes takes that part of the elements.
  WorkList work;
};

// The blocks of a block-sparse call.
struct BlockStream {
  int64_t bytes = 0;  // of a block with its offset
  int64_t slots = 0;  // blocks that an aggregator sums at once

  bool operator==(const BlockStream&) const = default;
};

// A server's slice of a served call: the bytes of it in every message, and in the answer.
struct ServedSlice {
  int64_t sent = 0;
  int64_t answered = 0;

  bool operator==(const ServedSlice&) const = default;
};

// The slices of an owned call. Consecutive workers hold a copy of the model together, `owners` of
// them, and each owns a slice. A call is among all of them, or among groups of `group` workers of a
// copy that are `stride` apart.
struct OwnedSlices {
  int owners = 1;
  bool rows = false;  // true: slices are whole rows of a tensor (schemes/owners/owned_slices.h)
  int group = 0;      // 0: all workers of a copy
  int stride = 1;
  // The bytes that each worker of a copy gets from each of its group. They are empty if these
  // depend on the sender; pair_bytes have them then.
  std::vector<int64_t> bytes = {};

  int Members() const { return group > 0 ? group : owners; }
  bool operator==(const OwnedSlices&) const = default;
};

// A collective call: the data that an exchange sends at once, and the device work around it.
struct CollectiveCall {
  Reduction reduction = Reduction::kConcat;
  Collective collective = Collective::kAllGather;
  int root = 0;          // the worker that broadcasts; ignored by other collectives
  WorkList encode = {};  // work of each worker before the call can start
  WorkList decode = {};  // work of each worker after the call, for all messages together
  // Only parameter servers and aggregators of blocks read these: the bytes that each worker gets
  // from them, if those do not follow from the messages, and the work of a server between the last
  // message and its answers. Of several servers, it is the work of all, and each has a slice.
  std::optional<int64_t> pull = {};
  WorkList serve = {};
  std::vector<ServedSlice> served = {};    // of kServed with several servers: the slice of each
  std::optional<Hops> hops = {};           // of Reduction::kHops
  std::optional<BlockStream> blocks = {};  // of Collective::kBlockSparse
  std::optional<OwnedSlices> owned = {};   // of Reduction::kOwned
};

// A collective call whose messages have a length that is known beforehand.
struct PlannedCall {
  CollectiveCall call;
  int64_t bytes = 0;  // length of each active worker's message; in a broadcast, of the root's only
  // All-to-all: the bytes of a message that are for each active worker, if they are not equal.
  std::vector<int64_t> parts = {};
};

// A collective call with the lengths of its messages.
struct SentCall : CollectiveCall {
  std::vector<int64_t> bytes;  // length of each worker's message; 0 if a worker sends nothing
  // All-to-all: for N workers, the bytes from s to d at s N + d; if empty, every worker's message
  // has equal parts.
  std::vector<int64_t> pair_bytes = {};
};
// Returns a call before any worker has sent: lengths are 0. Work of equal kernels is added up.
SentCall Unsent(const CollectiveCall& call, int workers);
// Writes the length of a worker's message, and in an all-to-all those of its parts for the `active`
// workers, or for the owners of slices. Throws Error if parts do not add up to the message.
void SetSent(int worker, int64_t bytes, std::span<const int64_t> parts, std::span<const int> active,
             SentCall& call);

// The workers' estimate of their network and devices: a message of b bytes to a neighbour takes
// latency_seconds + b * seconds_per_byte.
struct LinkEstimate {
  double latency_seconds = 0;
  double seconds_per_byte = 0;
  // The seconds of a collective call for a unit of `elements` in which worker w sends bytes[w], by
  // the closed form of the configured algorithm. If empty, the closed form of a ring is used, or of
  // a tree in a broadcast.
  std::function<double(const CollectiveCall& call, int64_t elements,
                       std::span<const int64_t> bytes)>
      call_seconds = {};
  // The seconds of `work` on a worker's device. If empty, they are unknown and count as 0.
  std::function<double(const WorkList& work)> work_seconds = {};
};

// The energy of one worker's error-fed gradient e, and how much of it each candidate would keep.
// GraVAC computes its gains from probes.
struct Probe {
  double squared = 0;        // ||e||^2
  std::vector<double> kept;  // ||C_c(e)||^2 of each candidate c
};

// The step, its network and its active workers.
struct StepInfo {
  uint64_t seed = 0;
  int64_t step = 0;         // number of the step, from 0
  int64_t total_steps = 0;  // length of the training: the horizon T of LEGACY's phases
  double learning_rate = 0;
  int64_t steps_per_epoch = 1;
  // The estimate of the network. Methods that read it make the training depend on the network.
  LinkEstimate link = {};
  std::vector<int> active_workers = {};  // the active workers, ascending; empty: all

  // Returns the active workers; if the list is empty, all of `workers`.
  std::vector<int> ActiveWorkers(int workers) const;
};

// A UnitStep is what one unit's exchange is told of a step.
struct UnitStep {
  StepInfo info = {};
  double parameter = 1;  // the parameter that the policy chose for this unit and step
  // The number of worker 0 in the keys of what senders draw for themselves: a server draws as the
  // worker after the last one.
  uint32_t first_sender = 0;
  // Parameters that the policy will choose from within the step, loosest first. If empty,
  // `parameter` is the choice.
  std::vector<double> candidates = {};
  // If true, the energy that candidates keep is estimated from one error table, and only the chosen
  // candidate is compressed.
  bool estimate = false;
};

// Serves one unit for the whole training. It owns the state that every worker keeps for the unit
// (residual, momentum, warm basis). Measure and Encode may run concurrently for different workers;
// everything else is called from one thread.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Starts a step. Throws Error for a parameter outside the scheme's range.
  virtual void Begin(const UnitStep& context) = 0;
  // Accumulates the worker's gradient, compresses it at the loosest candidate, compresses that
  // selection at the next one (multi-level compression), and keeps the results. If the step
  // estimates, it only makes an error table. It is called once for each active worker if the step
  // has candidates, or once where the mean is compressed. Throws Error if the scheme takes none
  // (SchemeTraits).
  virtual Probe Measure(int worker, std::span<const float> gradient);
  // Continues with candidates[index]; Encode then takes no gradient.
  virtual void Choose(size_t index);

  // Returns the next collective call, or nothing when the mean is known. The call may depend on the
  // calls before it.
  virtual std::optional<CollectiveCall> NextCall() = 0;
  // Returns the worker's payload of the current collective call. `gradient` (the unit's numel) is
  // passed in the first call and empty in later ones, which use the stored state. Workers that send
  // nothing return an empty message.
  virtual Message Encode(int worker, std::span<const float> gradient) = 0;
  // Takes an active worker's message as received; workers come in ascending order. Throws Error for
  // bytes that no encoder writes.
  virtual void Accumulate(int worker, ByteSpan message) = 0;
  // Returns the bytes of a worker's message of an all-to-all that are for each active worker, in
  // ascending order, or for each worker of its copy in an owned call; their sum is the message's
  // length. It is called after all workers have encoded.
  virtual std::vector<int64_t> PartBytes([[maybe_unused]] int worker,
                                         [[maybe_unused]] ByteSpan message) const {
    return {};
  }
  // Completes the description of the current call, where it depends on messages: what workers get
  // of sums, and work. It is called between the last Accumulate and FinishCall, and where the mean
  // is measured once more after Choose.
  virtual void Complete(CollectiveCall&) const {}
  // Append and take what the descriptions of calls (CollectiveCall) need of a worker besides its
  // messages, such as the number of values that wait for the next call. Processes that simulate
  // other workers get these notes with the messages; no network carries them.
  virtual void WriteNotes([[maybe_unused]] int worker, StateWriter&) const {}
  virtual void ReadNotes([[maybe_unused]] int worker, StateReader&) {}
  // Ends the current collective call, once all its messages are accumulated.
  virtual void FinishCall() = 0;
  // Writes the mean over the active workers of the decoded gradients to `out`, which has the unit's
  // numel.
  virtual void Mean(std::span<float> out) const = 0;

  // Return the mean gradient that all workers have had before they compressed it, and its
  // error-fed form e, if the scheme compresses the mean (SchemeTraits); valid after the first call.
  virtual std::span<const float> Averaged() const { return {}; }
  virtual std::span<const float> AveragedFed() const { return {}; }

  // Returns what receivers know of the mean before a step, to which they add the mean of what is
  // compressed (schemes/ef21.h). It is empty if they add to nothing.
  virtual std::span<const float> Known() const { return {}; }

  // Returns the number of values that one active worker sends in this step, by which the element
  // ratio divides. It is valid after the last collective call.
  virtual int64_t ElementsSent() const = 0;

  // Multiplies residuals by `factor` = lr_old / lr_new. Residuals are in gradient units, so that
  // otherwise a lower learning rate would also shrink the updates that they still owe.
  virtual void RescaleResiduals(float factor) = 0;
  // Returns the worker's residual after the last step, before Begin. It is empty without error
  // feedback.
  virtual std::span<const float> Residual(int worker) const = 0;
  // Returns the error-fed gradient e: what the worker's next Measure or first Encode compresses
  // (schemes/memory.h), of the gradient, residual, its decay and momentum. It changes nothing.
  virtual std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const = 0;
  // Save returns the bytes of all state, and Load restores them. Load throws Error for bytes of
  // another unit, worker count or scheme.
  virtual Bytes Save() const = 0;
  virtual void Load(ByteSpan state) = 0;

  // Save and load the same state in parts, so that checkpoints keep each worker's part for itself:
  // what all workers share, and what one worker has. Loads throw Error as Load does; the exchange
  // must not be used any more then. An exchange that does not divide its state shares all of it.
  virtual void SaveShared(StateWriter& out) const { out.Blob(Save()); }
  virtual void LoadShared(StateReader& in) { Load(in.Blob()); }
  virtual void SaveWorker([[maybe_unused]] int worker, StateWriter&) const {}
  virtual void LoadWorker([[maybe_unused]] int worker, StateReader&) {}
};

// Properties of a scheme that do not depend on what it compresses.
struct SchemeTraits {
  // True if the arithmetic of the reduction depends on the collective's algorithm: such a training
  // cannot be replayed.
  bool depends_on_collective = false;
  // True if the exchange reads StepInfo::link, so that its messages differ between networks.
  bool reads_network = false;
  // True if the scheme takes UnitStep::candidates.
  bool takes_candidates = false;
  // True if the scheme applies momentum before compression (DGC, DeMo): the optimizer must have
  // none.
  bool owns_momentum = false;
  // True if the residual is part of the method itself (momentum correction, variance): the scheme
  // must be made with error feedback on.
  bool needs_error_feedback = false;
  // True if every value is sent, rounded by itself at most, and nothing is kept of it (dense, fp16,
  // bf16): the mean of scaled gradients is then the scaled mean.
  bool sends_values = false;
  // True if workers compress the mean of their gradients, which they have from a dense call
  // (schemes/compressed_mean.h): the bytes do not depend on the parameter.
  bool compresses_mean = false;
  // The number of parameter servers that compress, each its slice of every unit: collective calls
  // are kServed. 0: no server is needed.
  int servers = 0;
  // The number of steps at the start of the training in which all units are sent whole.
  int64_t dense_steps = 0;
  // True if these are SchemeOptions::dense_start and more, so that nothing else starts so.
  bool starts_dense = false;
  // The factor on each worker's residual before it is added to the next gradient.
  double residual_decay = 1;
  // The step from which workers exchange the momentum of Adam instead of gradients, and keep its
  // variance (1-bit Adam); none: never.
  std::optional<int64_t> momentum_from = std::nullopt;
  // True if the learning rate is a factor of what is exchanged (DeMo): residuals are not rescaled
  // when it changes.
  bool owns_rate = false;
  // The only optimizer for which the mean is meant (trainer/optimizer.h); empty: any.
  std::string_view optimizer = {};
  // The number of owners of slices to whom messages go (schemes/owners/owned_slices.h); 0: they go
  // to all workers.
  int owners = 0;
};

// Makes exchanges. It holds configuration only, which all units share.
class Scheme {
 public:
  virtual ~Scheme() = default;
  // Returns the text that makes the scheme, "topk+rbf".
  virtual std::string_view Name() const = 0;
  // Returns the specification of the parameter that policies choose.
  virtual const ParameterSpec& Parameter() const = 0;
  virtual SchemeTraits Traits() const { return {}; }
  // Returns the number of values that one worker sends over all collective calls. If it depends on
  // the data, it is the number that the parameter requests.
  virtual int64_t ElementsSent(const Unit& unit, double parameter) const = 0;
  // Returns the bytes that one worker sends over all collective calls, or nothing if they are not
  // known beforehand.
  virtual std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const = 0;
  // Returns the collective calls of an exchange with that many active workers and without
  // candidates, or nothing if lengths depend on the data or on which workers are active.
  virtual std::optional<std::vector<PlannedCall>> Plan(const Unit&, double, int) const {
    return std::nullopt;
  }
  // Returns the calls to expect of an exchange on that link, or nothing if the scheme cannot tell.
  // Lengths that depend on the data are those that the parameter requests.
  virtual std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                                int active_workers,
                                                                const LinkEstimate&) const {
    return Plan(unit, parameter, active_workers);
  }
  // Returns false for units that the scheme's own rule sends whole (vectors, small matrices).
  // Policies ignore them.
  virtual bool Compresses(const Unit&, [[maybe_unused]] double parameter) const { return true; }
  // Returns false if error feedback would diverge, or if compression only rounds (dense, fp16).
  virtual bool UsesErrorFeedback([[maybe_unused]] double parameter) const { return true; }
  // Returns the norm to which one worker's whole gradient is clipped before compression, or nothing
  // if it is not clipped.
  virtual std::optional<double> LocalClipNorm([[maybe_unused]] int workers) const {
    return std::nullopt;
  }
  // Returns ||x - C(x)||^2, or its expectation, for each parameter. `values` is x, one worker's
  // error-fed gradient of the unit. L-GreCo's table consists of these.
  virtual std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                            std::span<const double> parameters,
                                            const RandomKey& random) const = 0;
  // Returns the device work of SquaredErrors.
  virtual WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const = 0;
  // Returns the work of only selecting from `numel` values, which measuring a candidate takes;
  // nothing if the scheme takes no candidates.
  virtual WorkList SelectWork([[maybe_unused]] int64_t numel,
                              [[maybe_unused]] double parameter) const {
    return {};
  }
  // Makes the exchange of a unit for that many workers.
  virtual std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const = 0;
};

// Options that are the same for all schemes.
struct SchemeOptions {
  // If false, there are no residuals. If true, the first Begin throws Error if the codec diverges
  // with error feedback.
  bool error_feedback = true;
  // The factor on residuals before the next gradient is added (0 to 1). MakeScheme takes it from
  // the text.
  double residual_decay = 1;
  // The number of first steps that send everything whole. MakeScheme takes it from the text;
  // schemes that start in their own way read it (schemes/ef21.h).
  int64_t dense_start = 0;
};

// A row of SchemeTable().
struct SchemeRow {
  MethodInfo info;
  std::string collective;  // name of the collectives, for lists: "all-gather", "2 all-reduces"
  // Makes the scheme from the options of its first stage and from the other stages.
  std::unique_ptr<Scheme> (*make)(const OptionReader& own, std::span<const Stage> rest,
                                  const SchemeOptions& options);
};

// Returns the schemes that are more than one codec in one collective call: ar-topk, demo, dgc,
// flexible-topk, powersgd, signsgd, terngrad-shared, variance. Every codec is a scheme as well.
std::span<const SchemeRow> SchemeTable();

// Makes a scheme from text: "topk", "topk:index=u32+rbf", "powersgd:min_rate=2". Besides their own
// options, codecs take those of CodecSchemeOptionSpecs() (schemes/codec_scheme.h), and all schemes
// take dense_start (schemes/dense_start.h). Throws Error with the list of names for any other.
std::unique_ptr<Scheme> MakeScheme(std::string_view text, const SchemeOptions& options = {});
// Returns all names that MakeScheme takes as a first stage.
std::vector<std::string> SchemeNames();

}  // namespace legacy
