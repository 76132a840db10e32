// What the exchanges with error feedback share: unit, workers, step, residuals and their state.
#pragma once

#include <optional>
#include <string_view>

#include "compress/exchange.h"
#include "compress/schemes/error_feedback.h"

namespace legacy {

class FeedbackExchange : public Exchange {
 public:
  // `scheme` must outlive the exchange (a literal).
  FeedbackExchange(std::string_view scheme, const Unit& unit, int workers, bool error_feedback);

  void RescaleResiduals(float factor) override;
  std::span<const float> Residual(int worker) const override;
  Bytes Save() const override;
  void Load(ByteSpan state) override;

 protected:
  const Unit& unit() const { return unit_; }
  int workers() const { return workers_; }
  const StepContext& step() const { return step_; }
  // How many workers take part in the step, and which is the i-th of them.
  int Participants() const;
  int Participant(int i) const;
  // Nothing without error feedback.
  std::optional<ErrorFeedback>& feedback() { return feedback_; }
  const std::optional<ErrorFeedback>& feedback() const { return feedback_; }

  void SetStep(const StepContext& context) { step_ = context; }
  // Parameter, random key and unit of the step, as sender and receivers share them.
  CodecContext SharedContext() const;

 private:
  std::string_view scheme_;
  Unit unit_;
  int workers_;
  StepContext step_;
  std::optional<ErrorFeedback> feedback_;
};

}  // namespace legacy
