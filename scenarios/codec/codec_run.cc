#include "scenarios/codec/codec_run.h"

#include <algorithm>
#include <cmath>

#include "base/median.h"
#include "base/stopwatch.h"
#include "compress/policy.h"
#include "ns3-module/fabric/collective/alpha-beta.h"
#include "scenarios/codec/exchange_trace.h"
#include "scenarios/codec/layer_list.h"
#include "trainer/clock/transfers.h"

namespace legacy {
namespace {

using Gradients = std::vector<std::span<const float>>;

constexpr double kSecondsPerNs = 1e-9;
constexpr const char* kPolicyLayer = "(policy)";  // layer name of a policy's own messages

// Losses compare the values that are compressed, e, with the decoded ones, as squared norms.
struct Losses {
  double squared = 0;  // squared norm of e
  double kept = 0;     // squared norm of the decoded values
  double error = 0;    // squared norm of their difference
};

// Returns the mean over the workers of the values that they will compress. No worker has measured
// or encoded yet.
std::vector<double> MeanErrorFed(const Exchange& exchange, const Gradients& gradients) {
  std::vector<double> mean(gradients.front().size());
  for (size_t w = 0; w < gradients.size(); ++w) {
    const std::vector<float> e = exchange.ErrorFed(static_cast<int>(w), gradients[w]);
    for (size_t i = 0; i < e.size(); ++i) {
      mean[i] += double{e[i]} / static_cast<double>(gradients.size());
    }
  }
  return mean;
}

std::vector<float> KnownTo(const Exchange& exchange) {
  const std::span<const float> known = exchange.Known();
  return {known.begin(), known.end()};
}

// `known` is what the mean is added to (Exchange::Known).
Losses LossesOf(std::span<const double> e, std::span<const float> mean,
                std::span<const float> known) {
  Losses losses;
  for (size_t i = 0; i < e.size(); ++i) {
    const double decoded = double{mean[i]} - (known.empty() ? 0.0 : double{known[i]});
    losses.squared += e[i] * e[i];
    losses.kept += decoded * decoded;
    losses.error += (e[i] - decoded) * (e[i] - decoded);
  }
  return losses;
}

// Returns the policy: LEGACY's policies are made with their tables, and all others from their text.
std::unique_ptr<Policy> PolicyOf(const RunOptions& options, const PolicyContext& context) {
  const auto tables = LegacyPolicyNames();
  if (options.policy == "uniform" || std::ranges::find(tables, options.policy) == tables.end()) {
    return MakePolicy(options.policy, context);
  }
  const VolumeModel model = {
      .units = context.units, .scheme = context.scheme, .total_steps = context.total_steps};
  return MakeLegacyPolicy(options.policy,
                          ScheduleOfTable(options.policy, options.table, model, context.parameter),
                          context.scheme->Parameter());
}

// A Trial runs one codec through the steps.
class Trial {
 public:
  Trial(const CodecChoice& codec, const RunOptions& options, GradientSource& source)
      : options_(options),
        link_(options.Link()),
        source_(source),
        units_(source.units()),
        workers_(source.workers()) {
    result_.codec = codec;
    scheme_ = OpenScheme(codec, *options.error_feedback, &result_.error_feedback);
    result_.parameter = scheme_->Parameter();
    policy_ = PolicyOf(options, {.scheme = scheme_.get(),
                                 .units = units_,
                                 .workers = workers_,
                                 .total_steps = options.first_step + source.steps(),
                                 .steps_per_epoch = options.steps_per_epoch,
                                 .parameter = codec.parameter,
                                 .seed = options.seed});
    for (const Unit& unit : units_) {
      all_.push_back(scheme_->Open(unit, workers_));
      alone_.push_back(scheme_->Open(unit, 1));
    }
    parameters_.resize(units_.size());
    measured_.resize(units_.size());
    traces_.resize(units_.size());
    mean_.resize(static_cast<size_t>(ElementsOf(units_)));
  }

  CodecResult Run() {
    for (int64_t i = 0; i < source_.steps(); ++i) Step(i);
    return std::move(result_);
  }

 private:
  void Step(int64_t index);
  LinkEstimate Link() const;
  void Decide();
  void ShowLocalGradient(std::span<const float> gradient);
  size_t Agree(const Gradients& gradients);
  void RunPolicyCall(PolicyMoment moment, const std::vector<std::vector<Probe>>& probes);
  void RunUnit(size_t u, const Gradients& gradients, size_t chosen);
  void RunAlone(size_t u, std::span<const float> gradient, size_t chosen, CodecRecord& record);
  void GiveFeedback();

  StepInfo Info() const {
    return {.seed = options_.seed,
            .step = step_,
            .total_steps = options_.first_step + source_.steps(),
            .learning_rate = 1,
            .steps_per_epoch = options_.steps_per_epoch,
            .link = Link()};
  }
  UnitStep ContextOf(size_t u) const {
    return {.info = Info(),
            .parameter = parameters_[u],
            .candidates = candidates_,
            .estimate = policy_->Traits().estimates_candidates};
  }
  Gradients PartOf(size_t u, const Gradients& gradients) const {
    Gradients parts;
    for (const std::span<const float> whole : gradients) {
      parts.push_back(whole.subspan(static_cast<size_t>(units_[u].offset),
                                    static_cast<size_t>(units_[u].numel)));
    }
    return parts;
  }
  // True where candidates are measured on the mean, after the only call.
  bool MeasuresMean() const { return !candidates_.empty() && scheme_->Traits().compresses_mean; }
  // Adds the bytes and seconds of a collective call to the record.
  void Charge(const SentCall& call, int64_t elements, CodecRecord& record) const;

  const RunOptions& options_;
  const LinkEstimate link_;
  GradientSource& source_;
  const std::vector<Unit>& units_;
  const int workers_;
  CodecResult result_;
  std::unique_ptr<Scheme> scheme_;
  std::unique_ptr<Policy> policy_;
  std::vector<std::unique_ptr<Exchange>> all_;    // exchanges of all workers, by unit
  std::vector<std::unique_ptr<Exchange>> alone_;  // exchanges of a single worker, by unit
  // State of the current step.
  int64_t step_ = 0;
  std::vector<double> parameters_;
  std::vector<double> candidates_;
  std::vector<std::vector<double>> measured_;  // MeanErrorFed before candidates were measured
  std::vector<ExchangeTrace> traces_;          // calls before candidates were measured, by unit
  std::vector<float> mean_;
};

void Trial::Charge(const SentCall& call, int64_t elements, CodecRecord& record) const {
  const fabric::CollectiveSpec spec = CollectiveOf(*options_.transfers, call, elements);
  record.nic_bytes += NicBytes(spec);
  record.transfer_seconds +=
      fabric::AlphaBetaSeconds(spec, link_.latency_seconds, 1 / link_.seconds_per_byte);
}

LinkEstimate Trial::Link() const {
  LinkEstimate link = link_;
  link.call_seconds = [this](const CollectiveCall& call, int64_t elements,
                             std::span<const int64_t> bytes) {
    return CallSeconds(*options_.transfers, call, elements, bytes, link_.latency_seconds,
                       1 / link_.seconds_per_byte);
  };
  return link;
}

void Trial::Decide() { DecideParameters(*policy_, Info(), units_, parameters_); }

void Trial::ShowLocalGradient(std::span<const float> gradient) {
  if (!policy_->ReadsLocalGradient()) return;
  for (size_t u = 0; u < units_.size(); ++u) {
    const std::span<const float> part = PartOf(u, {gradient}).front();
    policy_->OnLocalGradient(u, part, all_[u]->ErrorFed(0, part));
  }
}

void Trial::RunPolicyCall(PolicyMoment moment, const std::vector<std::vector<Probe>>& probes) {
  const std::optional<CollectiveCall> call = OpenPolicyCall(*policy_, moment);
  if (!call) return;
  CodecRecord record{.step = step_, .layer = kPolicyLayer};
  const auto encode = [&](int w) {
    Message message = policy_->Encode(
        w, probes.empty() ? std::span<const Probe>() : probes[static_cast<size_t>(w)]);
    if (w == 0) {
      record.message_bytes = message.size();
      record.header_bytes = HeaderBytesOf(message.bytes);
    }
    return message;
  };
  const SentCall traced = RunCall(
      *call, workers_, encode, [&](int w, ByteSpan message) { policy_->Accumulate(w, message); });
  policy_->FinishCall();
  Charge(traced, 0, record);
  result_.records.push_back(std::move(record));
}

// Begins the exchanges, and lets them measure their candidates if there are any. Returns the one
// that the policy chose.
size_t Trial::Agree(const Gradients& gradients) {
  std::vector<std::vector<Probe>> probes(candidates_.empty() ? 0 : gradients.size());
  for (size_t u = 0; u < units_.size(); ++u) {
    all_[u]->Begin(ContextOf(u));
    const Gradients parts = PartOf(u, gradients);
    traces_[u] = {};
    if (!candidates_.empty()) measured_[u] = MeanErrorFed(*all_[u], parts);
    if (MeasuresMean()) {
      RunNextCall(*all_[u], parts, traces_[u]);
      probes[0].push_back(all_[u]->Measure(0, {}));
      continue;
    }
    for (size_t w = 0; w < probes.size(); ++w) {
      probes[w].push_back(all_[u]->Measure(static_cast<int>(w), parts[w]));
    }
  }
  if (MeasuresMean()) {
    AgreeAlone(*policy_, probes[0]);
  } else {
    RunPolicyCall(PolicyMoment::kAgreement, probes);
  }
  if (candidates_.empty()) return 0;
  for (const auto& exchange : all_) exchange->Choose(policy_->Chosen());
  return policy_->Chosen();
}

// Runs a single worker several times from the same state, and records the median times.
void Trial::RunAlone(size_t u, std::span<const float> gradient, size_t chosen,
                     CodecRecord& record) {
  Exchange& exchange = *alone_[u];
  const Bytes state = options_.repeats > 1 ? exchange.Save() : Bytes();
  const std::vector<double> e = MeanErrorFed(exchange, {gradient});
  const std::vector<float> known = KnownTo(exchange);
  std::vector<double> encode;
  std::vector<double> decode;
  ExchangeTrace trace;
  for (int repeat = 0; repeat < options_.repeats; ++repeat) {
    if (repeat > 0) exchange.Load(state);
    double measuring = 0;
    exchange.Begin(ContextOf(u));
    Gradients gradients = {gradient};
    trace = {};
    if (!candidates_.empty()) {
      if (MeasuresMean()) RunNextCall(exchange, gradients, trace);
      const Stopwatch watch;
      exchange.Measure(0, MeasuresMean() ? std::span<const float>() : gradient);
      exchange.Choose(chosen);
      measuring = watch.Seconds();
      gradients = {{}};
    }
    trace = RunCalls(exchange, gradients, units_[u].numel, std::move(trace));
    encode.push_back(measuring + trace.encode_seconds);
    decode.push_back(trace.decode_seconds);
  }
  const Losses losses = LossesOf(e, trace.mean, known);
  record.squared = losses.squared;
  record.kept_squared = losses.kept;
  record.error_squared = losses.error;
  record.encode_seconds = Median(encode);
  record.decode_seconds = Median(decode);
  for (Bytes& message : trace.messages) result_.messages.push_back(std::move(message));
}

void Trial::RunUnit(size_t u, const Gradients& gradients, size_t chosen) {
  const Unit& unit = units_[u];
  Exchange& exchange = *all_[u];
  CodecRecord record{.step = step_, .layer = unit.name, .elements = unit.numel};
  record.parameter = candidates_.empty() ? parameters_[u] : candidates_[chosen];
  const Gradients parts = PartOf(u, gradients);
  const std::vector<double> e =
      candidates_.empty() ? MeanErrorFed(exchange, parts) : std::move(measured_[u]);
  const std::vector<float> known = KnownTo(exchange);
  const Gradients none(parts.size());
  const ExchangeTrace trace =
      RunCalls(exchange, candidates_.empty() ? parts : none, unit.numel, std::move(traces_[u]));
  const Losses losses = LossesOf(e, trace.mean, known);
  record.mean_squared = losses.squared;
  record.mean_error_squared = losses.error;
  record.elements_sent = exchange.ElementsSent();
  for (const SentCall& call : trace.calls) Charge(call, unit.numel, record);
  for (const Bytes& message : trace.messages) {
    record.message_bytes += static_cast<int64_t>(message.size());
    record.header_bytes += HeaderBytesOf(message);
  }
  std::ranges::copy(trace.mean, mean_.begin() + unit.offset);
  RunAlone(u, parts.front(), chosen, record);
  result_.records.push_back(std::move(record));
}

// Gives the policy its feedback. Losses, learning rates and coding times are not simulated here;
// transfer times are, by alpha-beta.
void Trial::GiveFeedback() {
  StepFeedback feedback{.step = step_, .loss = 0, .mean_gradient = mean_};
  std::vector<double> bytes;
  std::vector<double> seconds;
  for (const CodecRecord& record : result_.records) {
    if (record.step != step_) continue;
    feedback.communication_seconds += record.transfer_seconds;
    feedback.message_bytes += static_cast<double>(record.message_bytes);
    if (record.layer == kPolicyLayer) continue;
    bytes.push_back(static_cast<double>(record.message_bytes));
    seconds.push_back(record.transfer_seconds);
  }
  feedback.compute_seconds = kSecondsPerNs * static_cast<double>(*options_.compute);
  feedback.simulated_seconds = feedback.compute_seconds + feedback.communication_seconds;
  feedback.unit_bytes = bytes;
  feedback.unit_exposed_seconds = seconds;
  policy_->OnFeedback(feedback);
}

void Trial::Step(int64_t index) {
  step_ = options_.first_step + index;
  const Gradients gradients = source_.AtStep(index);
  result_.messages.clear();
  Decide();
  ShowLocalGradient(gradients.front());
  candidates_ = policy_->Candidates();
  const size_t chosen = Agree(gradients);
  for (size_t u = 0; u < units_.size(); ++u) RunUnit(u, gradients, chosen);
  RunPolicyCall(PolicyMoment::kAnnouncement, {});
  GiveFeedback();
}

}  // namespace

LinkEstimate RunOptions::Link() const {
  return {.latency_seconds = kSecondsPerNs * static_cast<double>(*latency),
          .seconds_per_byte = 8 / static_cast<double>(*bandwidth)};
}

CodecResult RunCodec(const CodecChoice& codec, const RunOptions& options, GradientSource& source) {
  return Trial(codec, options, source).Run();
}

}  // namespace legacy
