// A policy that reads times or rates decides for one network. A networks policy asks the policies
// of several networks together: all see the same gradients, each the times of its own network, and
// the first decides. While another one decides the same, the training is that of its network, too.
//
// "The same" means all that a step depends on: parameters, candidates, the chosen candidate, which
// calls a policy opens with which work and lengths, and the calls of a scheme that reads the
// network. A policy that once differs is not asked again.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compress/policy.h"

namespace legacy {

class NetworksPolicy : public Policy {
 public:
  // The policy of another network, with the scheme that it was made for.
  struct Other {
    std::unique_ptr<Scheme> scheme;
    std::unique_ptr<Policy> policy;
  };

  // `scheme` is that of the training, which outlives this.
  NetworksPolicy(std::unique_ptr<Policy> first, const Scheme& scheme, std::vector<Other> others,
                 int workers);

  // Networks are counted from the first, 0. SetLink sets the estimate of a network other than the
  // first, from the next step on. Select says whose OnFeedback and TakeDecisions come next.
  void SetLink(size_t network, const LinkEstimate& link) { others_[network - 1].link = link; }
  void Select(size_t network) { selected_ = network; }
  // Returns true while the network's policy decided as the first did.
  bool Same(size_t network) const { return network == 0 || others_[network - 1].same; }

  std::string_view Name() const override { return first_->Name(); }
  PolicyTraits Traits() const override { return first_->Traits(); }
  void Decide(const StepInfo& step, std::span<const Unit> units,
              std::span<double> parameters) override;
  bool ReadsLocalGradient() const override { return first_->ReadsLocalGradient(); }
  WorkList LocalWork() const override { return LocalWorkOf(*first_); }
  void OnLocalGradient(size_t unit, std::span<const float> gradient,
                       std::span<const float> error_fed) override;
  std::vector<double> Candidates() const override { return first_->Candidates(); }
  std::optional<CollectiveCall> OpenCall(PolicyMoment moment) override;
  Message Encode(int worker, std::span<const Probe> probes) const override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override;
  size_t Chosen() const override { return first_->Chosen(); }
  void OnFeedback(const StepFeedback& feedback) override;
  bool ReadsMeanGradient() const override { return first_->ReadsMeanGradient(); }
  std::optional<DecisionForecast> DecisionsIn(int64_t total_steps) const override {
    return first_->DecisionsIn(total_steps);
  }
  std::vector<Decision> TakeDecisions() override { return Selected().TakeDecisions(); }
  // The state is that of the first policy. Once it is loaded, all others differ.
  DecisionLog::Position LogPosition() const override { return first_->LogPosition(); }
  void ContinueLog(const DecisionLog::Position& at) override { first_->ContinueLog(at); }
  Bytes Save() const override { return first_->Save(); }
  void Load(ByteSpan state) override;

 private:
  struct Own {
    Other other;
    LinkEstimate link;
    bool same = true;
    std::vector<Message> waiting;  // messages of the open call, by worker
  };

  Policy& Selected() { return selected_ == 0 ? *first_ : *others_[selected_ - 1].other.policy; }
  bool DecidesAlike(const Own& own, const StepInfo& step, std::span<const Unit> units,
                    std::span<const double> parameters) const;
  // Calls body(own) for the policies that are the same so far.
  template <typename Body>
  void ForSame(Body body) {
    for (Own& own : others_) {
      if (own.same) body(own);
    }
  }

  std::unique_ptr<Policy> first_;
  const Scheme& scheme_;
  // Encode, which is const and may run for several workers at once, keeps messages.
  mutable std::vector<Own> others_;
  int workers_;
  size_t selected_ = 0;
};

}  // namespace legacy
