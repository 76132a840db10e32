#include "compress/schemes/exchange_base.h"

#include "compress/error.h"

namespace legacy {
namespace {

constexpr uint64_t kStateVersion = 1;

}  // namespace

FeedbackExchange::FeedbackExchange(std::string_view scheme, const Unit& unit, int workers,
                                   bool error_feedback)
    : scheme_(scheme), unit_(unit), workers_(workers) {
  if (workers < 1) throw Error("workers", std::to_string(workers), "at least 1");
  if (unit.numel < 0 || unit.numel > kMaxUnitElements) {
    throw Error("elements of unit " + unit.name, std::to_string(unit.numel),
                "0 to " + std::to_string(kMaxUnitElements));
  }
  if (error_feedback) feedback_.emplace(unit.numel, workers);
}

void FeedbackExchange::RescaleResiduals(float factor) {
  if (feedback_) feedback_->Rescale(factor);
}

std::span<const float> FeedbackExchange::Residual(int worker) const {
  return feedback_ ? feedback_->Residual(worker) : std::span<const float>();
}

int FeedbackExchange::Participants() const {
  return step_.participants.empty() ? workers_ : static_cast<int>(step_.participants.size());
}

int FeedbackExchange::Participant(int i) const {
  return step_.participants.empty() ? i : step_.participants[i];
}

CodecContext FeedbackExchange::SharedContext() const {
  CodecContext context;
  context.unit = unit_.id;
  context.parameter = step_.parameter;
  context.random = {.seed = step_.seed,
                    .step = static_cast<uint64_t>(step_.step),
                    .worker = 0,
                    .layer = unit_.id,
                    .purpose = Purpose::kStochastic};
  return context;
}

Bytes FeedbackExchange::Save() const {
  StateWriter out;
  out.Number(kStateVersion);
  out.Text(scheme_);
  out.Number(unit_.id);
  out.Number(unit_.numel);
  out.Number(workers_);
  out.Number(feedback_.has_value());
  if (feedback_) feedback_->Save(out);
  return out.Take();
}

void FeedbackExchange::Load(ByteSpan state) {
  StateReader in(state);
  in.ExpectNumber("version", kStateVersion);
  in.ExpectText("scheme", scheme_);
  in.ExpectNumber("unit", unit_.id);
  in.ExpectNumber("elements", unit_.numel);
  in.ExpectNumber("workers", workers_);
  in.ExpectNumber("error feedback", feedback_.has_value());
  if (feedback_) {
    feedback_->Load(in);
  } else {
    in.ExpectFloatsLeft(0);
  }
}

}  // namespace legacy
