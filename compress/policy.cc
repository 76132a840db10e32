#include "compress/policy.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.h"

namespace legacy {

void Policy::Load(ByteSpan state) {
  if (!state.empty()) throw Error("policy " + std::string(Name()) + ": it has no state to load");
}

void SavePolicy(const Policy& policy, StateWriter& out) {
  const DecisionLog::Position log = policy.LogPosition();
  out.Text(policy.Name());
  out.Number(log.started ? 1 : 0);
  out.Number(static_cast<uint64_t>(log.number));
  out.Number(std::bit_cast<uint64_t>(log.last));
  out.Blob(policy.Save());
}

void LoadPolicy(Policy& policy, StateReader& in) {
  DecisionLog::Position log;
  in.ExpectText("policy", policy.Name());
  log.started = in.Number("whether decisions began", 1) != 0;
  log.number =
      static_cast<int64_t>(in.Number("number of decisions", std::numeric_limits<int64_t>::max()));
  log.last = std::bit_cast<double>(in.Number());
  policy.Load(in.Blob());
  policy.ContinueLog(log);
}

void DecideParameters(Policy& policy, const StepInfo& step, std::span<const Unit> units,
                      std::span<double> parameters) {
  if (policy.plugin().empty()) return policy.Decide(step, units, parameters);
  // NaN reveals parameters that the policy does not set.
  std::ranges::fill(parameters, std::numeric_limits<double>::quiet_NaN());
  InPlugin(policy, "Decide", [&] { policy.Decide(step, units, parameters); });
  for (size_t u = 0; u < units.size(); ++u) {
    try {
      CheckParameter(policy.range(), parameters[u]);
    } catch (const Error& error) {
      BlamePlugin(policy, "Decide, step " + std::to_string(step.step) + ", unit " + units[u].name +
                              ": " + error.what());
    }
  }
}

WorkList LocalWorkOf(const Policy& policy) {
  return WorkOf(policy, "LocalWork", [&] { return policy.LocalWork(); });
}

std::optional<CollectiveCall> OpenPolicyCall(Policy& policy, PolicyMoment moment) {
  const auto call = InPlugin(policy, "OpenCall", [&] { return policy.OpenCall(moment); });
  if (!call) return std::nullopt;
  WorkOf(policy, "OpenCall", [&] { return call->encode; });
  WorkOf(policy, "OpenCall", [&] { return call->decode; });
  return call;
}

WorkList AgreeAlone(Policy& policy, std::span<const Probe> probes) {
  const std::optional<CollectiveCall> call = OpenPolicyCall(policy, PolicyMoment::kAgreement);
  if (!call) return {};
  policy.Accumulate(0, policy.Encode(0, probes).bytes);
  policy.FinishCall();
  WorkList work = call->encode;
  AddWork(call->decode, work);
  return work;
}

}  // namespace legacy
