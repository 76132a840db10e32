// An aggregator turns the updates of clients into a new version of the server's model. An update is
// y - x: what local training has added to the weights that the client started from. Aggregators are
// written as a name with options, "fedavgm:momentum=0.9".
//
// Sums are formed in double, in the order of Add, and rounded once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/state.h"
#include "compress/options.h"

namespace legacy {

// A ClientRule is what an algorithm adds to the steps of local training. g is a step's gradient, y
// the client's weights, x those that it started from, and s what the server keeps of the client
// (or the client itself: the two agree).
struct ClientRule {
  double proximal = 0;   // mu: g + mu (y - x), before momentum (FedProx)
  bool control = false;  // y - rate (c - s) after each step; c is the server's (SCAFFOLD)
  double dynamic = 0;    // alpha: g - s + alpha (y - x), before momentum (FedDyn)

  // True where clients have a state s.
  bool HasState() const { return control || dynamic > 0; }
};

// A Weighting says what counts in a mean: each sample, or each update.
enum class Weighting : uint8_t { kSamples, kUniform };

// A BatchNormRule says whose statistics of batch norm count. They are no part of updates: they
// travel whole, as fp32.
enum class BatchNormRule : uint8_t {
  kAverage,  // the server averages those of the counted clients
  kLocal,    // each client keeps its own (FedBN: Li et al., ICLR 2021)
};
inline constexpr std::array<const char*, 2> kBatchNormTexts = {"average", "local"};

// AggregatorTraits say what an aggregator needs.
struct AggregatorTraits {
  Weighting weighting = Weighting::kSamples;  // the paper's
  ClientRule client = {};
  // Updates that make a version of an asynchronous server; 0: the server has rounds.
  int64_t buffer = 0;
  int64_t max_staleness = 0;  // an asynchronous server discards older updates; 0: none
  // Vectors of the model's length that clients send and get: 2 where a control variate travels.
  int up_vectors = 1;
  int down_vectors = 1;
  // True where a version depends on the updates by their weighted mean alone, for which another
  // estimate may be given (ApplyMean).
  bool mean_alone = true;
  // Without a server: fragments of the model that are exchanged in turn, local steps that clients
  // make while one of them travels, and the part of a client's own weights that it keeps where the
  // fragment arrives.
  int fragments = 1;
  int64_t overlap = 0;
  double mix = 0;
  // True where clients' optimizers continue in their next tasks, unless they are told not to.
  bool keeps_optimizer = false;
  // Kernel of the clock that makes a version of the mean (compress/kernel_costs.h), where clients
  // do.
  const char* kernel = "accumulate";

  // True where clients have weights of their own between versions.
  bool Streams() const { return fragments > 1 || overlap > 0; }
};

// An Update is what the server knows of one counted task.
struct ClientUpdate {
  std::span<const float> update;  // decoded
  // Weights that the client started from; fedasync and feddyn read them.
  std::span<const float> base = {};
  std::span<const float> control = {};  // decoded second vector, where up_vectors is 2
  double weight = 1;                    // samples, or 1, times how often the client was drawn
  int64_t local_steps = 1;
  double rate = 0;        // mean learning rate of its local steps
  int64_t staleness = 0;  // versions since its base
};

// FederationInfo is what aggregators know beforehand.
struct FederationInfo {
  int64_t numel = 0;
  int64_t clients = 1;
  double local_momentum = 0;  // of the clients' SGD
};

// An Aggregator holds the server's state of one training.
class Aggregator {
 public:
  virtual ~Aggregator() = default;

  virtual const AggregatorTraits& Traits() const = 0;
  // Adds one counted update to the next version.
  virtual void Add(const ClientUpdate& update) = 0;
  // Makes a version of what was added since the last one, at least one update.
  virtual void Apply(std::span<float> model) = 0;
  // Makes a version of an estimate of the mean update. Only where mean_alone.
  virtual void ApplyMean(std::span<float> model, std::span<const double> mean);

  // Returns what travels down with the model (c of SCAFFOLD); empty where nothing does.
  virtual std::span<const float> Downlink() const { return {}; }
  // Updates a client's state, zeros at first, by its counted update. It is called before Add.
  virtual void Advance(const ClientUpdate& update, std::span<float> state) const;

  virtual void Save(StateWriter& out) const = 0;
  virtual void Load(StateReader& in) = 0;
};

// An AggregatorRow is a row of the table of aggregators. A source that defines one, as
// "AggregatorRow FedAvgRow() {", is found by the build.
struct AggregatorRow {
  MethodInfo info;
  std::unique_ptr<Aggregator> (*make)(const OptionReader& options, const FederationInfo& info);
};

// Returns the table, in the order of names.
std::span<const AggregatorRow> AggregatorTable();

// Makes the aggregator that `text` names. Throws Error naming `algorithm`, the value and what is
// allowed.
std::unique_ptr<Aggregator> MakeAggregator(const std::string& text, const FederationInfo& info);

// Adds what the rule adds to a step's gradient, before the optimizer. `state` is the client's.
void CorrectGradient(const ClientRule& rule, std::span<const float> weights,
                     std::span<const float> base, std::span<const float> state,
                     std::span<float> gradient);
// Moves the weights as the rule says after a step of the optimizer. `downlink` is the server's.
void CorrectWeights(const ClientRule& rule, std::span<const float> downlink,
                    std::span<const float> state, double rate, std::span<float> weights);

}  // namespace legacy
