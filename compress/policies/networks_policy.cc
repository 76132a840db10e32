#include "compress/policies/networks_policy.h"

#include <algorithm>
#include <utility>

namespace legacy {
namespace {

bool SameWork(const WorkList& a, const WorkList& b) {
  return std::ranges::equal(a, b, [](const Work& x, const Work& y) {
    return x.kernel == y.kernel && x.elements == y.elements && x.launches == y.launches &&
           x.sets == y.sets && x.alike == y.alike;
  });
}

bool SameHops(const std::optional<Hops>& a, const std::optional<Hops>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->order == b->order && a->slices == b->slices && SameWork(a->work, b->work);
}

bool SameCall(const CollectiveCall& a, const CollectiveCall& b) {
  return a.reduction == b.reduction && a.collective == b.collective && a.root == b.root &&
         SameWork(a.encode, b.encode) && SameWork(a.decode, b.decode) && SameHops(a.hops, b.hops);
}

bool SameCall(const std::optional<CollectiveCall>& a, const std::optional<CollectiveCall>& b) {
  return a.has_value() == b.has_value() && (!a || SameCall(*a, *b));
}

bool SameCalls(const std::optional<std::vector<PlannedCall>>& a,
               const std::optional<std::vector<PlannedCall>>& b) {
  if (!a || !b) return false;  // it is not known what the scheme will choose
  return std::ranges::equal(*a, *b, [](const PlannedCall& x, const PlannedCall& y) {
    return x.bytes == y.bytes && SameCall(x.call, y.call);
  });
}

}  // namespace

NetworksPolicy::NetworksPolicy(std::unique_ptr<Policy> first, const Scheme& scheme,
                               std::vector<Other> others, int workers)
    : first_(std::move(first)), scheme_(scheme), workers_(workers) {
  SetRange(first_->range());
  for (Other& other : others) {
    others_.push_back({.other = std::move(other),
                       .link = {},
                       .waiting = std::vector<Message>(static_cast<size_t>(workers))});
  }
}

bool NetworksPolicy::DecidesAlike(const Own& own, const StepInfo& step, std::span<const Unit> units,
                                  std::span<const double> parameters) const {
  std::vector<double> own_parameters(units.size());
  StepInfo own_step = step;
  own_step.link = own.link;
  Policy& policy = *own.other.policy;
  DecideParameters(policy, own_step, units, own_parameters);
  if (!std::ranges::equal(own_parameters, parameters) ||
      policy.Candidates() != first_->Candidates() ||
      policy.ReadsLocalGradient() != first_->ReadsLocalGradient()) {
    return false;
  }
  if (policy.ReadsLocalGradient() && !SameWork(policy.LocalWork(), first_->LocalWork())) {
    return false;
  }
  if (!scheme_.Traits().reads_network) return true;
  for (size_t u = 0; u < units.size(); ++u) {
    const auto calls = [&](const LinkEstimate& link) {
      return scheme_.ExpectedCalls(units[u], parameters[u], workers_, link);
    };
    if (!SameCalls(calls(step.link), calls(own.link))) return false;
  }
  return true;
}

void NetworksPolicy::Decide(const StepInfo& step, std::span<const Unit> units,
                            std::span<double> parameters) {
  DecideParameters(*first_, step, units, parameters);
  ForSame([&](Own& own) { own.same = DecidesAlike(own, step, units, parameters); });
}

void NetworksPolicy::OnLocalGradient(size_t unit, std::span<const float> gradient,
                                     std::span<const float> error_fed) {
  first_->OnLocalGradient(unit, gradient, error_fed);
  ForSame([&](Own& own) { own.other.policy->OnLocalGradient(unit, gradient, error_fed); });
}

std::optional<CollectiveCall> NetworksPolicy::OpenCall(PolicyMoment moment) {
  std::optional<CollectiveCall> call = OpenPolicyCall(*first_, moment);
  ForSame([&](Own& own) { own.same = SameCall(OpenPolicyCall(*own.other.policy, moment), call); });
  return call;
}

Message NetworksPolicy::Encode(int worker, std::span<const Probe> probes) const {
  for (Own& own : others_) {
    if (own.same) own.waiting[worker] = own.other.policy->Encode(worker, probes);
  }
  return first_->Encode(worker, probes);
}

void NetworksPolicy::Accumulate(int worker, ByteSpan message) {
  ForSame([&](Own& own) {
    const Message own_message = std::exchange(own.waiting[worker], {});
    if (std::ssize(message) != own_message.size()) {
      own.same = false;
    } else {
      own.other.policy->Accumulate(worker, own_message.bytes);
    }
  });
  first_->Accumulate(worker, message);
}

void NetworksPolicy::FinishCall() {
  first_->FinishCall();
  ForSame([&](Own& own) {
    own.other.policy->FinishCall();
    own.same = own.other.policy->Chosen() == first_->Chosen();
  });
}

void NetworksPolicy::OnFeedback(const StepFeedback& feedback) {
  if (!Same(selected_)) return;
  if (Selected().ReadsMeanGradient() && !first_->ReadsMeanGradient()) {
    others_[selected_ - 1].same = false;
    return;
  }
  Selected().OnFeedback(feedback);
}

void NetworksPolicy::Load(ByteSpan state) {
  first_->Load(state);
  for (Own& own : others_) own.same = false;
}

}  // namespace legacy
