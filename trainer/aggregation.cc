#include "trainer/aggregation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

// Returns one bucket of all layers whose first collective call is the agreement, because nothing is
// sent before it. The calls of the buckets follow one after the other; units with the same
// structure of calls are merged.
BucketWork Behind(const SentCall& agreement, std::span<const BucketWork> buckets) {
  BucketWork all{{}, 0, {agreement}};
  for (const BucketWork& group : MergeUnits(buckets)) {
    all.layers.insert(all.layers.end(), group.layers.begin(), group.layers.end());
    all.elements += group.elements;
    all.calls.insert(all.calls.end(), group.calls.begin(), group.calls.end());
  }
  return all;
}

// Moves what workers compute after their calls to the last bucket, with the work of agreeing:
// nothing is chosen before the mean of all buckets is known. The calls themselves do not wait.
void WorkAtTheEnd(const WorkList& agreement, std::span<BucketWork> buckets) {
  WorkList& last = buckets.back().calls.back().decode;
  for (BucketWork& bucket : buckets.first(buckets.size() - 1)) {
    for (SentCall& call : bucket.calls) JoinWork(std::exchange(call.decode, {}), last);
  }
  AddWork(agreement, last);
}

int64_t BytesOf(std::span<const SentCall> calls) {
  int64_t sum = 0;
  for (const SentCall& call : calls) {
    sum += std::accumulate(call.bytes.begin(), call.bytes.end(), int64_t{0});
  }
  return sum;
}

}  // namespace

float ClipFactor(double limit, double squared_norm) {
  const double norm = std::sqrt(squared_norm);
  return norm > limit ? static_cast<float>(limit / norm) : 1;
}

Aggregation::Aggregation(UnitPlan plan, Policy& policy, int workers,
                         std::unique_ptr<ModelExchange> exchange, ProcessGroup& processes)
    : plan_(std::move(plan)),
      policy_(policy),
      workers_(workers),
      exchange_(std::move(exchange)),
      processes_(processes),
      parameters_(plan_.units.size()),
      records_(plan_.units.size()) {}

void Aggregation::SetMessageHook(MessageHook hook) {
  exchange_->SetMessageHook(hook);
  hook_ = std::move(hook);
}

void Aggregation::Begin(const StepInfo& step) {
  step_ = step.step;
  active_workers_ = step.ActiveWorkers(workers_);
  agreement_.reset();
  alone_.reset();
  announcement_.reset();
  if (processes_.Leads()) {
    BeginLeading(step);
  } else {
    BeginFollowing(step);
  }
  for (size_t u = 0; u < records_.size(); ++u) records_[u] = {parameters_[u], 0, {}};
}

void Aggregation::BeginLeading(const StepInfo& step) {
  DecideParameters(policy_, step, plan_.units, parameters_);
  candidates_ = policy_.Candidates();
  reads_gradient_ = policy_.ReadsLocalGradient();
  const bool estimate = policy_.Traits().estimates_candidates;
  if (processes_.Alone()) return BeginExchange(step, estimate);

  // Exchanges that read the link get the same answers in all processes.
  answers_.clear();
  StepInfo asked = step;
  if (step.link.call_seconds) {
    asked.link.call_seconds = [this, known = step.link.call_seconds](
                                  const CollectiveCall& call, int64_t elements,
                                  std::span<const int64_t> bytes) {
      return answers_.emplace_back(known(call, elements, bytes));
    };
  }
  BeginExchange(asked, estimate);
  StateWriter out;
  for (const double parameter : parameters_) out.Number(std::bit_cast<uint64_t>(parameter));
  for (const auto* numbers : {&candidates_, &answers_}) {
    out.Number(numbers->size());
    for (const double number : *numbers) out.Number(std::bit_cast<uint64_t>(number));
  }
  out.Number(reads_gradient_ ? 1 : 0);
  out.Number(estimate ? 1 : 0);
  out.Number(std::bit_cast<uint64_t>(step.link.latency_seconds));
  out.Number(std::bit_cast<uint64_t>(step.link.seconds_per_byte));
  processes_.Broadcast(out.Take(), 0);
}

void Aggregation::BeginFollowing(StepInfo step) {
  const Bytes bytes = processes_.Broadcast({}, 0);
  StateReader in(bytes);
  const auto real = [&] { return std::bit_cast<double>(in.Number()); };
  std::ranges::generate(parameters_, real);
  for (auto* numbers : {&candidates_, &answers_}) {
    numbers->resize(in.Number("numbers of a step", in.Left()));
    std::ranges::generate(*numbers, real);
  }
  reads_gradient_ = in.Number("whether a gradient is read", 1) == 1;
  const bool estimate = in.Number("whether candidates are estimated", 1) == 1;
  step.link = {.latency_seconds = real(), .seconds_per_byte = real()};
  next_answer_ = 0;
  if (!answers_.empty()) {
    step.link.call_seconds = [this](const CollectiveCall&, int64_t, std::span<const int64_t>) {
      if (next_answer_ == answers_.size()) {
        throw Error("an exchange asks for more times of calls than in process 0");
      }
      return answers_[next_answer_++];
    };
  }
  BeginExchange(step, estimate);
}

void Aggregation::BeginExchange(const StepInfo& step, bool estimate) {
  exchange_->Begin(
      {.info = step, .parameters = parameters_, .candidates = candidates_, .estimate = estimate});
}

void Aggregation::AddGradient(int worker, const float* gradient, const UnitGradient& on_host) {
  if (worker == active_workers_.front() && reads_gradient_ && !exchange_->CompressesMean()) {
    for (size_t u = 0; u < records_.size(); ++u) {
      const std::span<const float> part = on_host(u);
      const std::vector<float> fed = exchange_->ErrorFed(static_cast<int>(u), worker, part);
      if (processes_.Leads()) {
        policy_.OnLocalGradient(u, part, fed);
      } else {
        gradient_.Floats(part);
        gradient_.Floats(fed);
      }
    }
  }
  exchange_->Encode(worker, gradient);
}

void Aggregation::ShowMean() {
  if (!reads_gradient_ || !exchange_->CompressesMean() || !processes_.Leads()) return;
  for (size_t u = 0; u < records_.size(); ++u) {
    const int unit = static_cast<int>(u);
    policy_.OnLocalGradient(u, exchange_->Averaged(unit), exchange_->AveragedFed(unit));
  }
}

void Aggregation::ShareGradient() {
  if (exchange_->CompressesMean()) return;
  const int owner = processes_.OwnerOf(active_workers_.front());
  if (!reads_gradient_ || owner == 0) return;
  const Bytes bytes = processes_.Move(std::exchange(gradient_, {}).Take(), owner, 0);
  if (!processes_.Leads()) return;
  StateReader in(bytes);
  for (size_t u = 0; u < records_.size(); ++u) {
    std::vector<float> gradient(static_cast<size_t>(plan_.units[u].numel));
    in.AnyFloats(gradient);
    std::vector<float> fed(gradient.size());
    in.AnyFloats(fed);
    policy_.OnLocalGradient(u, gradient, fed);
  }
}

void Aggregation::Finish(float* mean) {
  ShareGradient();
  Agree();
  try {
    exchange_->Finish(mean);
  } catch (const GroupError&) {
    throw;
  } catch (const Error& error) {
    throw Error("step " + std::to_string(step_) + ", " + error.what());
  }
  ShowMean();
  for (size_t u = 0; u < records_.size(); ++u) {
    for (const SentCall& sent : exchange_->Calls(static_cast<int>(u))) {
      SentCall& call = records_[u].calls.emplace_back(Unsent(sent, workers_));
      call.bytes = sent.bytes;
      call.pair_bytes = sent.pair_bytes;
    }
    records_[u].elements = exchange_->ElementsSent(static_cast<int>(u));
  }
  if (processes_.Leads()) RunPolicyCall(PolicyMoment::kAnnouncement, {});
}

void Aggregation::Agree() {
  if (candidates_.empty()) return;
  const std::span<const std::vector<Probe>> probes = exchange_->Probes();
  if (processes_.Leads()) {
    if (exchange_->MeasuresMean()) {
      alone_ = AgreeAlone(policy_, probes.front());
    } else {
      RunPolicyCall(PolicyMoment::kAgreement, probes);
    }
  }
  StateWriter out;
  if (processes_.Leads()) out.Number(policy_.Chosen());
  const Bytes bytes = processes_.Broadcast(out.Take(), 0);
  const size_t chosen = StateReader(bytes).Number("candidate", candidates_.size() - 1);
  for (size_t u = 0; u < records_.size(); ++u) {
    if (exchange_->Measured(static_cast<int>(u))) records_[u].parameter = candidates_.at(chosen);
  }
  exchange_->Choose(chosen);
}

void Aggregation::RunPolicyCall(PolicyMoment moment, std::span<const std::vector<Probe>> probes) {
  const std::optional<CollectiveCall> call = OpenPolicyCall(policy_, moment);
  if (!call) return;
  SentCall sent = Unsent(*call, workers_);
  for (const int w : active_workers_) {
    Message message = policy_.Encode(w, probes.empty() ? std::span<const Probe>() : probes[w]);
    sent.bytes[w] = message.size();
    if (hook_) hook_({step_, -1, 0, w}, message.bytes);
    try {
      policy_.Accumulate(w, message.bytes);
    } catch (const Error& error) {
      throw Error("step " + std::to_string(step_) + ", worker " + std::to_string(w) + ", policy " +
                  std::string(policy_.Name()) + ": " + error.what());
    }
  }
  policy_.FinishCall();
  (moment == PolicyMoment::kAgreement ? agreement_ : announcement_) = std::move(sent);
}

std::vector<BucketWork> Aggregation::Buckets() const {
  std::vector<BucketWork> buckets;
  for (const Bucket& bucket : plan_.buckets) {
    std::vector<BucketWork> parts;
    for (int u : bucket.units) {
      parts.push_back({plan_.unit_layers[u], plan_.units[u].numel, records_[u].calls});
    }
    for (BucketWork& merged : MergeUnits(parts)) buckets.push_back(std::move(merged));
  }
  if (agreement_ && buckets.front().calls.front().owned) {
    buckets.insert(buckets.begin(), {{}, 0, {*agreement_}});  // all layers wait for it
  } else if (agreement_) {
    buckets = {Behind(*agreement_, buckets)};
  }
  if (alone_) WorkAtTheEnd(*alone_, buckets);
  if (policy_.ReadsLocalGradient()) {
    AddWork(LocalWorkOf(policy_), buckets.back().calls.front().encode);
  }
  if (announcement_) buckets.push_back({{}, 0, {*announcement_}});
  return buckets;
}

std::vector<UnitOutcome> Aggregation::Outcomes() const {
  std::vector<UnitOutcome> outcomes;
  for (const UnitRecord& record : records_) {
    outcomes.push_back({record.parameter, record.elements, BytesOf(record.calls)});
  }
  return outcomes;
}

void Aggregation::OnFeedback(StepFeedback feedback, std::span<const BucketWork> buckets,
                             const StepTimes& times) const {
  std::vector<double> bytes(plan_.units.size());
  if (!buckets.empty()) bytes = UnitBytes();
  const std::vector<double> exposed =
      UnitExposedSeconds(buckets, bytes, times.bucket_exposed_seconds);
  feedback.simulated_seconds = times.simulated_seconds;
  feedback.compute_seconds = times.compute_seconds;
  feedback.codec_seconds = times.codec_seconds;
  feedback.communication_seconds = times.communication_seconds;
  feedback.message_bytes = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  feedback.unit_bytes = bytes;
  feedback.unit_exposed_seconds = exposed;
  policy_.OnFeedback(feedback);
}

std::vector<double> Aggregation::UnitBytes() const {
  std::vector<double> bytes;
  for (const UnitRecord& record : records_) {
    bytes.push_back(static_cast<double>(BytesOf(record.calls)) /
                    static_cast<double>(active_workers_.size()));
  }
  return bytes;
}

std::vector<double> Aggregation::UnitExposedSeconds(std::span<const BucketWork> buckets,
                                                    std::span<const double> unit_bytes,
                                                    std::span<const double> bucket_seconds) const {
  std::vector<double> exposed(unit_bytes.size());
  for (size_t b = 0; b < bucket_seconds.size(); ++b) {
    const std::vector<int>& layers = buckets[b].layers;
    const auto travels = [&](size_t u) {
      return std::ranges::find(layers, plan_.unit_layers[u].front()) != layers.end();
    };
    double sum = 0;
    for (size_t u = 0; u < exposed.size(); ++u) sum += travels(u) ? unit_bytes[u] : 0;
    for (size_t u = 0; u < exposed.size() && sum > 0; ++u) {
      if (travels(u)) exposed[u] += bucket_seconds[b] * unit_bytes[u] / sum;
    }
  }
  return exposed;
}

}  // namespace legacy
