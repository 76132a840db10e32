// Takes a policy and real exchanges through steps as a training does (compress/policy.h).
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "tests/compress/test_data.h"

namespace legacy::test {

struct StepResult {
  std::vector<double> parameters;  // parameters that the step used, by unit
  std::vector<double> decided;     // parameters from Decide, by unit
  std::vector<Message> agreement;  // messages of all workers
  Bytes announcement;              // message of worker 0
  WorkList policy_work;
  std::vector<float> mean;
  double bytes = 0;  // sent by worker 0's exchanges
};

class PolicyDriver {
 public:
  // Returns the flat gradient of a worker in a step.
  using Gradients = std::function<std::vector<float>(int64_t step, int worker)>;

  PolicyDriver(const std::string& policy, const std::string& scheme, const PolicyContext& context,
               const SchemeOptions& options = {})
      : scheme_(MakeScheme(scheme, options)), context_(context) {
    context_.scheme = scheme_.get();
    policy_ = MakePolicy(policy, context_);
    for (const Unit& unit : context_.units) {
      exchanges_.push_back(scheme_->Open(unit, context_.workers));
    }
  }

  Policy& policy() { return *policy_; }
  const Scheme& scheme() const { return *scheme_; }
  Exchange& exchange(size_t unit) { return *exchanges_[unit]; }

  StepResult Step(const StepInfo& step, const Gradients& gradients, StepFeedback feedback = {}) {
    StepResult result;
    result.decided.resize(context_.units.size());
    policy_->Decide(step, context_.units, result.decided);
    result.parameters = result.decided;
    std::vector<std::vector<float>> all;
    for (int w = 0; w < context_.workers; ++w) all.push_back(gradients(step.step, w));
    result.mean.resize(all[0].size());
    Show(all[0]);
    Agree(step, all, result);
    for (size_t u = 0; u < exchanges_.size(); ++u) Exchanges(u, all, result);
    if (const auto call = policy_->OpenCall(PolicyMoment::kAnnouncement)) {
      Merge(*call, result);
      for (int w = 0; w < context_.workers; ++w) {
        const Message message = policy_->Encode(w, {});
        if (w == 0) result.announcement = message.bytes;
        policy_->Accumulate(w, message.bytes);
      }
      policy_->FinishCall();
    }
    feedback.step = step.step;
    feedback.mean_gradient = result.mean;
    if (feedback.message_bytes == 0) feedback.message_bytes = result.bytes;
    policy_->OnFeedback(feedback);
    return result;
  }

 private:
  std::span<const float> Part(std::span<const float> flat, size_t u) const {
    return flat.subspan(context_.units[u].offset, context_.units[u].numel);
  }
  static void Merge(const CollectiveCall& call, StepResult& result) {
    result.policy_work.insert(result.policy_work.end(), call.encode.begin(), call.encode.end());
  }
  void Show(std::span<const float> gradient) {
    if (!policy_->ReadsLocalGradient()) return;
    for (size_t u = 0; u < exchanges_.size(); ++u) {
      const std::span<const float> part = Part(gradient, u);
      policy_->OnLocalGradient(u, part, exchanges_[u]->ErrorFed(0, part));
    }
  }
  void Agree(const StepInfo& step, const std::vector<std::vector<float>>& all, StepResult& result) {
    const auto candidates = policy_->Candidates();
    for (size_t u = 0; u < exchanges_.size(); ++u) {
      exchanges_[u]->Begin({.info = {.seed = context_.seed, .step = step.step, .link = step.link},
                            .parameter = result.decided[u],
                            .candidates = candidates,
                            .estimate = policy_->Traits().estimates_candidates});
    }
    if (candidates.empty()) return;
    std::vector<std::vector<Probe>> probes(all.size());
    for (size_t w = 0; w < all.size(); ++w) {
      for (size_t u = 0; u < exchanges_.size(); ++u) {
        probes[w].push_back(exchanges_[u]->Measure(static_cast<int>(w), Part(all[w], u)));
      }
    }
    Merge(policy_->OpenCall(PolicyMoment::kAgreement).value(), result);
    for (size_t w = 0; w < all.size(); ++w) {
      result.agreement.push_back(policy_->Encode(static_cast<int>(w), probes[w]));
      policy_->Accumulate(static_cast<int>(w), result.agreement.back().bytes);
    }
    policy_->FinishCall();
    for (size_t u = 0; u < exchanges_.size(); ++u) {
      result.parameters[u] = candidates.at(policy_->Chosen());
      exchanges_[u]->Choose(policy_->Chosen());
    }
    measured_ = true;
  }
  void Exchanges(size_t u, const std::vector<std::vector<float>>& all, StepResult& result) {
    for (bool first = !measured_; exchanges_[u]->NextCall(); first = false) {
      std::vector<Message> sent;
      for (size_t w = 0; w < all.size(); ++w) {
        sent.push_back(exchanges_[u]->Encode(static_cast<int>(w),
                                             first ? Part(all[w], u) : std::span<const float>()));
      }
      for (size_t w = 0; w < sent.size(); ++w) {
        exchanges_[u]->Accumulate(static_cast<int>(w), sent[w].bytes);
      }
      exchanges_[u]->FinishCall();
      result.bytes += static_cast<double>(sent[0].size());
    }
    const Unit& unit = context_.units[u];
    exchanges_[u]->Mean(std::span(result.mean).subspan(unit.offset, unit.numel));
  }

  std::unique_ptr<Scheme> scheme_;
  PolicyContext context_;
  std::unique_ptr<Policy> policy_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  bool measured_ = false;  // whether the policy agrees within a step
};

// Returns a scheme that the policy drives.
inline std::string SchemeOf(const std::string& policy) {
  if (policy.starts_with("theta")) return "fft";
  return policy.starts_with("edgc") ? "powersgd" : "topk";
}

// Returns an anchor of the scheme, and units that it compresses.
inline std::pair<double, std::vector<Unit>> AnchorAndUnits(const std::string& scheme) {
  std::vector<Unit> units = MakeUnits({6000, 900, 40});
  if (scheme != "powersgd") return {scheme == "fft" ? 0.85 : 0.02, units};
  units[0].shape = {60, 100};
  units[1].shape = {30, 30};
  return {8, units};
}

// Returns normal gradients whose spread differs between units, and is the same at every step.
inline PolicyDriver::Gradients NormalGradients(const std::vector<Unit>& units) {
  return [units](int64_t step, int worker) {
    std::vector<float> flat;
    for (const Unit& unit : units) {
      const auto part = Normals(unit.numel, 1000 * unit.id + 10 * step + worker + 1);
      for (const float x : part) flat.push_back(x * std::exp2(static_cast<float>(unit.id)));
    }
    return flat;
  };
}

}  // namespace legacy::test
