// GraVAC (Tyagi and Swany, "GraVAC: Adaptive Compression for Communication-Efficient Distributed DL
// Training", IEEE CLOUD 2023): in every step each worker compresses its error-fed gradient e by the
// lowest factor theta_min, and that selection further by theta_cur (multi-level compression). It
// sends the stronger of the two that keeps at least the fraction eps of the energy (or norm), or
// else everything. Windows of steps raise theta_cur, as gravac_scale.h describes.
//
// probe=estimate takes the gains from one error table instead (a histogram of magnitudes for Top-K,
// within 0.1 % of |e|^2), and compresses once, by the chosen factor. This is not in the paper.
//
// The paper does not say what happens if workers differ. Here all take the same branch, which they
// agree on before anything is sent. The message of the agreement (an all-reduce of three sums and a
// maximum) is a 16-byte header (codec kPolicy, unit 0, 4 elements), then four fp64, because gains
// are compared with thresholds and every branch depends on them:
//
//   |C(e, theta_min)|^2   |C(e, theta_cur)|^2   |e|^2   summed over units
//   seconds of the previous step, 0 if the worker does not know them
//
// The throughput of a step, workers / seconds (times the batch, which cancels, because throughputs
// are only compared), is therefore known in the agreement of the next step. A window of W steps
// ends with the agreement that has the time of its last step, and its decision holds from the
// following step on.
//
// Where the mean is compressed (where=after-mean), e is that of the mean, which all workers have:
// they agree without a message, and the seconds of a step, which ends for all at once, are their
// own.
//
// With learning-rate release, a drop of the rate (gradient_watch.h) lets theta_cur rise again.
// Densities are 1 / theta.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/number.h"
#include "compress/checks.h"
#include "compress/policies/gradient_watch.h"
#include "compress/policies/gravac_scale.h"
#include "compress/policies/policy_options.h"

namespace legacy {
namespace {

// Stored in the header's field for a unit; announcements have 1.
constexpr uint32_t kAgreement = 0;
constexpr double kWorkersOfFullWeight = 100;  // moving averages weigh a sample by workers / 100
constexpr std::string_view kScalings[] = {"exponential", "geometric"};
constexpr std::string_view kGains[] = {"energy", "norm"};
constexpr std::string_view kProbes[] = {"levels", "estimate"};

enum Field : uint8_t { kMinimum, kCurrent, kAll, kSeconds, kFields };
using Fields = std::array<double, kFields>;

constexpr Header kHeader = {.codec = static_cast<uint8_t>(CodecId::kPolicy),
                            .unit = kAgreement,
                            .numel = kFields,
                            .count = kFields};

struct GravacOptions {
  double epsilon = 0.7;  // least gain of an accepted branch
  int64_t window = 500;
  bool norm_gain = false;
  bool release = false;
  bool charge_dense_probe = true;
  bool estimate = false;
};

class Gravac : public Policy {
 public:
  Gravac(const PolicyContext& context, const GravacOptions& options, GravacScale scale)
      : context_(context), options_(options), state_{.scale = std::move(scale)} {
    const double loosest = 1 / state_.scale.minimum();
    for (const Unit& unit : context.units) {
      elements_ += unit.numel;
      if (context.scheme->Compresses(unit, loosest)) measured_.push_back(unit);
    }
  }
  std::string_view Name() const override { return "gravac"; }
  void Decide(const StepInfo& step, std::span<const Unit> units,
              std::span<double> parameters) override;
  std::vector<double> Candidates() const override;
  PolicyTraits Traits() const override {
    return {.has_candidates = true, .estimates_candidates = options_.estimate, .reads_clock = true};
  }
  std::optional<CollectiveCall> OpenCall(PolicyMoment moment) override;
  Message Encode(int worker, std::span<const Probe> probes) const override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override;
  size_t Chosen() const override { return chosen_; }
  void OnFeedback(const StepFeedback& feedback) override {
    state_.seconds = feedback.simulated_seconds;
  }
  // A window ends with the agreement after its last step.
  std::optional<DecisionForecast> DecisionsIn(int64_t total_steps) const override {
    return DecisionForecast{EndsOfPeriods(total_steps - 1, options_.window, options_.window),
                            "window=5%"};
  }
  Bytes Save() const override;
  void Load(ByteSpan state) override;

 private:
  struct State {
    GravacScale scale;
    RateDrop rate = {};
    double seconds = 0;       // seconds of the previous step, as each worker measured them
    uint64_t steps = 0;       // number of steps whose time has been agreed on
    bool sent_dense = false;  // true if the previous step did
  };

  WorkList ProbeWork() const;
  WorkList ProbeWorkOf(const Unit& unit) const;
  double Gain(double kept) const;
  void LogBranch();
  void LogWindow(double gain);

  PolicyContext context_;
  GravacOptions options_;
  int64_t elements_ = 0;
  std::vector<Unit> measured_;  // units that the scheme compresses
  State state_;
  Fields sums_{};
  size_t chosen_ = 0;
  int64_t step_ = 0;
};

void Gravac::Decide(const StepInfo& step, [[maybe_unused]] std::span<const Unit> units,
                    std::span<double> parameters) {
  assert(units.size() == parameters.size());
  step_ = step.step;
  const bool drops = state_.rate.Sees(step.learning_rate);
  if (drops && options_.release) state_.scale.Release();
  sums_ = {};
  std::ranges::fill(parameters, 1 / state_.scale.current());
}

// Returns the candidates: dense, theta_min and, if it is higher, theta_cur.
std::vector<double> Gravac::Candidates() const {
  std::vector<double> densities = {1, 1 / state_.scale.minimum()};
  if (state_.scale.current() > state_.scale.minimum()) {
    densities.push_back(1 / state_.scale.current());
  }
  return densities;
}

// Returns the work of two compressions per step, of e and of theta_min's selection, or of one error
// table. Without charge_dense_probe they are free while everything is sent. The branch is known
// only after them, so the previous step's branch decides.
WorkList Gravac::ProbeWork() const {
  if (state_.sent_dense && !options_.charge_dense_probe) return {};
  WorkList work;
  for (const Unit& unit : measured_) JoinWork(ProbeWorkOf(unit), work);
  return work;
}

WorkList Gravac::ProbeWorkOf(const Unit& unit) const {
  const std::vector<double> densities = Candidates();
  WorkList work = {{"norm", unit.numel}};
  if (options_.estimate) {
    AddWork(context_.scheme->ErrorWork(unit, densities), work);
    return work;
  }
  int64_t from = unit.numel;  // the dense candidate takes only the norm
  for (const double density : std::span(densities).subspan(1)) {
    AddWork(context_.scheme->SelectWork(from, density), work);
    from = context_.scheme->ElementsSent(unit, density);
    AddWork(Work{"norm", from}, work);
  }
  return work;
}

std::optional<CollectiveCall> Gravac::OpenCall(PolicyMoment moment) {
  if (moment != PolicyMoment::kAgreement) return std::nullopt;
  return CollectiveCall{.reduction = Reduction::kSum,
                        .collective = Collective::kAllReduce,
                        .root = 0,
                        .encode = ProbeWork(),
                        .decode = {}};
}

Message Gravac::Encode(int, std::span<const Probe> probes) const {
  Fields fields{};
  for (const Probe& probe : probes) {
    // The scheme sends this unit whole.
    if (probe.kept.empty()) continue;
    assert(probe.kept.size() == Candidates().size());
    fields[kMinimum] += probe.kept[1];
    fields[kCurrent] += probe.kept.back();
    fields[kAll] += probe.squared;
  }
  fields[kSeconds] = state_.seconds;
  Message message = StartMessage(kHeader, sizeof fields);
  const auto bytes = std::as_bytes(std::span(fields));
  message.bytes.insert(message.bytes.end(), bytes.begin(), bytes.end());
  return message;
}

void Gravac::Accumulate(int, ByteSpan message) {
  const ByteSpan payload = CheckedPayload(message, kHeader, sizeof(Fields));
  Fields fields{};
  std::memcpy(fields.data(), payload.data(), sizeof fields);
  for (size_t i = 0; i < kFields; ++i) {
    if (std::isfinite(fields[i]) && fields[i] >= 0) continue;
    throw Error("agreement, value " + std::to_string(i), FormatNumber(fields[i]),
                "finite numbers from 0");
  }
  for (const Field sum : {kMinimum, kCurrent, kAll}) sums_[sum] += fields[sum];
  sums_[kSeconds] = std::max(sums_[kSeconds], fields[kSeconds]);
}

// Returns the gain; that of an all-zero gradient is 1.
double Gravac::Gain(double kept) const {
  if (sums_[kAll] == 0) return 1;
  const double energy = kept / sums_[kAll];
  return options_.norm_gain ? std::sqrt(energy) : energy;
}

void Gravac::FinishCall() {
  GravacScale& scale = state_.scale;
  if (sums_[kSeconds] > 0) scale.Record(context_.workers / sums_[kSeconds]);
  const GravacBranch branch = scale.Weigh(Gain(sums_[kMinimum]), Gain(sums_[kCurrent]));
  chosen_ = branch == GravacBranch::kDense     ? 0
            : branch == GravacBranch::kMinimum ? 1
                                               : Candidates().size() - 1;
  state_.sent_dense = chosen_ == 0;
  LogBranch();
  const double gain = scale.current_gain();
  // This agreement has the time of step `steps`, counted from 1.
  if (state_.steps > 0 && static_cast<int64_t>(state_.steps) % options_.window == 0) {
    scale.EndWindow();
    LogWindow(gain);
  }
  ++state_.steps;
}

// Logs the branch of the step if its density differs from the previous one, with the moving average
// that was compared with eps.
void Gravac::LogBranch() {
  const double sent = Candidates()[chosen_];
  if (sent == log().Last()) return;
  log().SetLast(sent);
  const bool current = chosen_ + 1 == Candidates().size();
  log().Add(step_, Decision::kAllUnits, sent,
            {.budget = options_.epsilon,
             .gain = current ? state_.scale.current_gain() : state_.scale.minimum_gain(),
             .seconds = state_.seconds,
             .reason = chosen_ == 0 ? "dense: no factor keeps enough"
                       : current    ? "the current factor keeps enough"
                                    : "the least factor keeps enough"});
}

// Logs the factor that later steps may compress by. `gain` is that of the window's factor.
void Gravac::LogWindow(double gain) {
  const double density = 1 / state_.scale.current();
  log().SetLast(density);
  log().Begin();
  log().Add(step_ + 1, Decision::kAllUnits, density,
            {.budget = options_.epsilon,
             .gain = gain,
             .seconds = state_.seconds,
             .reason = state_.scale.stays() ? "window ended: stays" : "window ended"});
}

Bytes Gravac::Save() const {
  StateWriter out;
  out.Text(Name());
  out.Number(context_.units.size());
  out.Number(static_cast<uint64_t>(elements_));
  out.Real(state_.seconds);
  out.Number(state_.steps);
  out.Number(state_.sent_dense ? 1 : 0);
  state_.rate.Save(out);
  state_.scale.Save(out);
  return out.Take();
}

void Gravac::Load(ByteSpan bytes) {
  StateReader in(bytes);
  in.ExpectText("policy", Name());
  in.ExpectNumber("units", context_.units.size());
  in.ExpectNumber("elements", static_cast<uint64_t>(elements_));
  State state = state_;
  state.seconds = in.Real("seconds");
  state.steps = in.Number("steps", uint64_t{1} << 62);
  state.sent_dense = in.Number("dense", 1) == 1;
  state.rate.Load(in);
  state.scale.Load(in);
  in.ExpectEnd();
  state_ = std::move(state);
}

bool TakesDensityCandidates(const Scheme& scheme) {
  return scheme.Traits().takes_candidates && scheme.Parameter().Kind() == ParameterKind::kDensity;
}

void CheckDensityCandidates(const Scheme& scheme) {
  if (TakesDensityCandidates(scheme)) return;
  std::string known;
  for (const std::string& name : SchemeNames()) {
    if (!TakesDensityCandidates(*MakeScheme(name))) continue;
    known += (known.empty() ? "" : ", ") + name;
  }
  throw Error(
      "policy gravac with scheme", std::string(scheme.Name()),
      "schemes whose density can be chosen within a step, with where=worker, or after-mean and "
      "again=off: " +
          known);
}

std::unique_ptr<Policy> MakeGravac(const OptionReader& options, const PolicyContext& context) {
  CheckDensityCandidates(*context.scheme);
  const double theta_min = options.Number("theta_min", 1, 1e6);
  const double theta_max = options.Number("theta_max", theta_min, 1e6);
  const auto scaling = static_cast<GravacScaling>(options.Choice("scaling", kScalings));
  const GravacRules rules = {.epsilon = options.Number("eps", 0, 1),
                             .omega = options.Number("omega", 0, 1),
                             .smoothing = std::min(1.0, context.workers / kWorkersOfFullWeight)};
  const GravacOptions read = {.epsilon = rules.epsilon,
                              .window = options.Steps("window", 1, context.total_steps),
                              .norm_gain = options.Choice("gain", kGains) == 1,
                              .release = options.Switch("release_on_lr"),
                              .charge_dense_probe = options.Switch("charge_dense_probe"),
                              .estimate = options.Choice("probe", kProbes) == 1};
  return std::make_unique<Gravac>(context, read,
                                  GravacScale(GravacFactors(theta_min, theta_max, scaling), rules));
}

}  // namespace

PolicyRow GravacRow() {
  return {
      {.name = "gravac",
       .help = "searches the strongest compression that keeps enough of the gradient and still "
               "raises throughput",
       .paper = "Tyagi, Swany, GraVAC: Adaptive Compression for Communication-Efficient "
                "Distributed DL Training, IEEE CLOUD 2023",
       .options =
           {{"eps", "0.7", "0 to 1", "least gain for which a compression factor is accepted"},
            {"theta_min", "10", "1 to 1e6", "lowest compression factor"},
            {"theta_max", "1000", "theta_min to 1e6", "highest compression factor"},
            {"scaling", "exponential", "exponential, geometric",
             "spacing of the factors in between: the exponent doubles, or each factor doubles"},
            {"window", "500", "1 to 2^53, or a part of the run",
             "number of steps between changes of the factor"},
            {"omega", "0.01", "0 to 1",
             "relative difference below which gains or throughputs count as equal"},
            {"gain", "energy", "energy, norm",
             "definition of gain: the share of energy, or of the norm, that is kept"},
            {"probe", "levels", "levels, estimate",
             "measurement of gains: by compressing with both factors, or from one error table"},
            {"release_on_lr", "off", "on, off",
             "let a settled factor rise again after a drop of the learning rate"},
            {"charge_dense_probe", "on", "on, off",
             "charge the time of both compressions in steps that send everything, too"}}},
      MakeGravac,
      {{"theta_min", VolumeRule::kDivided, 1, 1e6}, {"theta_max", VolumeRule::kDivided, 1, 1e6}}};
}

}  // namespace legacy
