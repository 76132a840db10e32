#include "compress/codec.h"

#include <cassert>

#include "compress/cpu/vector.h"

namespace legacy {
Message Codec::EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                  const CodecContext& context, std::vector<uint32_t>* sent) const {
  if (!gradient.empty()) cpu::Add(gradient, residual);
  Message message = Encode(residual, context);
  std::vector<float> decoded(residual.size());
  DecodeAdd(message.bytes, context, decoded);
  for (size_t i = 0; i < residual.size(); ++i) residual[i] -= decoded[i];
  if (sent != nullptr) sent->clear();
  return message;
}

void Codec::MeanOf(std::span<const float> sum, float divisor, const CodecContext&,
                   std::span<float> mean) const {
  assert(sum.size() == mean.size());
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = sum[i] / divisor;
}

WorkList Codec::FinishWork(int64_t numel, double parameter) const {
  if (Linear(numel, parameter)) return {};
  return {{"mean", numel}};
}

WorkList Codec::FeedbackWork(int64_t numel, double parameter, Feeding feeding) const {
  WorkList work;
  if (feeding == Feeding::kGradient) work.push_back({"accumulate", numel});
  AddWork(DecodeWork(numel, parameter), work);
  AddWork(FinishWork(numel, parameter), work);
  return work;
}

WorkList Codec::ErrorWork(int64_t numel, std::span<const double> parameters) const {
  WorkList work;
  for (const double parameter : parameters) {
    AddWork(Work{"copy", numel}, work);
    AddWork(EncodeWork(numel, {.parameter = parameter, .random = {}}), work);
    if (CountVaries(numel, parameter)) {
      AddWork(PackWork(ElementsSent(numel, parameter), Feeding::kAdded), work);
    }
    AddWork(FeedbackWork(numel, parameter, Feeding::kAdded), work);
    AddWork(Work{"norm", numel}, work);
  }
  return work;
}

std::vector<double> Codec::SquaredErrors(std::span<const float> values,
                                         std::span<const double> parameters,
                                         const CodecContext& context) const {
  std::vector<double> errors;
  for (const double parameter : parameters) {
    CodecContext own = context;
    own.parameter = parameter;
    own.state = nullptr;
    std::vector<float> residual(values.begin(), values.end());
    EncodeWithFeedback({}, residual, own);
    errors.push_back(cpu::SquaredNorm(residual));
  }
  return errors;
}

}  // namespace legacy
