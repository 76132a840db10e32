#include "compress/policies/announced_policy.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "compress/checks.h"

namespace legacy {
namespace {

// Stored in the header's field for a unit; agreements have 0.
constexpr uint32_t kAnnouncement = 1;

Header HeaderOf(size_t units) {
  return {.codec = static_cast<uint8_t>(CodecId::kPolicy),
          .unit = kAnnouncement,
          .numel = static_cast<uint32_t>(units),
          .count = static_cast<uint32_t>(units)};
}

uint8_t CheckedOption(uint64_t option, size_t options) {
  if (option < options) return static_cast<uint8_t>(option);
  throw Error("announced option", std::to_string(option), "at most " + std::to_string(options - 1));
}

}  // namespace

AnnouncedPolicy::AnnouncedPolicy(const PolicyContext& context, ParameterGrid grid, Choices start)
    : context_(context), grid_(std::move(grid)), choices_(std::move(start)) {
  assert(choices_.size() == context_.units.size() && grid_.Units() == context_.units.size());
  for (const Unit& unit : context_.units) elements_ += unit.numel;
}

void AnnouncedPolicy::Decide(const StepInfo& step, [[maybe_unused]] std::span<const Unit> units,
                             std::span<double> parameters) {
  assert(units.size() == choices_.size() && parameters.size() == choices_.size());
  step_ = step;
  if (!log().Started()) {
    for (size_t i = 0; i < choices_.size(); ++i) Log(step.step, i, {.reason = "start"});
  }
  OnStep();
  for (size_t i = 0; i < choices_.size(); ++i) parameters[i] = grid_.Parameter(i, choices_[i]);
}

// Returns the work of a pass that reads the sum and everything that makes up the error-fed gradient
// (gradient, residual and velocity), and writes the sum.
WorkList AnnouncedPolicy::LocalWork() const {
  if (!ReadsLocalGradient()) return {};
  WorkList work = {PassOver("accumulate")};
  const Scheme& scheme = *context_.scheme;
  if (!ReadsResidual() || !scheme.UsesErrorFeedback(context_.parameter)) return work;
  const int64_t vectors = scheme.Traits().owns_momentum ? 2 : 1;
  work.push_back(Moved(vectors * int64_t{sizeof(float)} * elements_));
  return work;
}

ChoiceTable AnnouncedPolicy::SquaredErrors(std::span<const float> gradient) const {
  return grid_.SquaredErrors(gradient, {.seed = context_.seed,
                                        .step = static_cast<uint64_t>(step_.step),
                                        .worker = 0,
                                        .layer = 0,
                                        .purpose = Purpose::kStochastic});
}

Work AnnouncedPolicy::PassOver(const std::string& kernel) const {
  return {.kernel = kernel,
          .elements = elements_,
          .launches = static_cast<int64_t>(context_.units.size())};
}

std::optional<CollectiveCall> AnnouncedPolicy::OpenCall(PolicyMoment moment) {
  if (moment != PolicyMoment::kAnnouncement || !IsDue()) return std::nullopt;
  CollectiveCall call{.reduction = Reduction::kConcat,
                      .collective = Collective::kBroadcast,
                      .root = 0,
                      .encode = ChoosingWork(),
                      .decode = {}};
  decided_ = Choose();
  return call;
}

Message AnnouncedPolicy::Encode(int worker, std::span<const Probe>) const {
  if (worker != 0) return {};
  Message message = StartMessage(HeaderOf(decided_.size()), static_cast<int64_t>(decided_.size()));
  const auto bytes = std::as_bytes(std::span(decided_));
  message.bytes.insert(message.bytes.end(), bytes.begin(), bytes.end());
  return message;
}

void AnnouncedPolicy::Accumulate(int worker, ByteSpan message) {
  if (worker != 0) return CheckLength(message, 0);
  const auto units = static_cast<int64_t>(choices_.size());
  const ByteSpan options = CheckedPayload(message, HeaderOf(choices_.size()), units);
  Choices received;
  for (const std::byte option : options) {
    received.push_back(CheckedOption(std::to_integer<uint64_t>(option), grid_.Options()));
  }
  received_ = std::move(received);
}

void AnnouncedPolicy::FinishCall() {
  // If worker 0 was not active in the step, nothing was received and the last choices stay.
  if (received_.empty()) return;
  choices_ = std::exchange(received_, {});
  if (HasDecided()) log().Begin();
  for (size_t i = 0; i < choices_.size(); ++i) Log(step_.step + 1, i, GroundsOf(i));
}

void AnnouncedPolicy::SetChoices(Choices choices, const std::string& reason) {
  const Choices before = std::exchange(choices_, std::move(choices));
  if (before == choices_) return;
  log().Begin();
  for (size_t i = 0; i < choices_.size(); ++i) Log(step_.step, i, {.reason = reason});
}

// Logs a choice, except for units that the scheme sends whole, which have nothing to decide.
void AnnouncedPolicy::Log(int64_t step, size_t unit, DecisionGrounds grounds) {
  if (!grid_.Compressed(unit)) return;
  log().Add(step, unit, grid_.Parameter(unit, choices_[unit]), std::move(grounds));
}

Bytes AnnouncedPolicy::Save() const {
  StateWriter out;
  out.Text(Name());
  out.Number(choices_.size());
  out.Number(static_cast<uint64_t>(elements_));
  for (const uint8_t option : choices_) out.Number(option);
  SaveOwn(out);
  return out.Take();
}

void AnnouncedPolicy::Load(ByteSpan state) {
  StateReader in(state);
  in.ExpectText("policy", Name());
  in.ExpectNumber("units", choices_.size());
  in.ExpectNumber("elements", static_cast<uint64_t>(elements_));
  Choices choices(choices_.size());
  for (uint8_t& option : choices) {
    option = static_cast<uint8_t>(in.Number("option", grid_.Options() - 1));
  }
  LoadOwn(in);
  choices_ = std::move(choices);
}

}  // namespace legacy
