#include "compress/schemes/codec_step.h"

#include <algorithm>

#include "base/error.h"
#include "compress/schemes/hops/quantised_hops.h"
#include "compress/schemes/requantise.h"

namespace legacy {

MemoryOptions MemoryOf(MemoryOptions options, bool whole) {
  if (whole && options.kind == MemoryKind::kResidual) options.kind = MemoryKind::kNone;
  return options;
}

void CheckCodecStep(const Codec& codec, double parameter, bool error_feedback) {
  CheckParameter(codec.Parameter(), parameter);
  if (error_feedback && !codec.AllowsErrorFeedback(parameter)) {
    throw Error("error feedback: diverges with codec " + std::string(codec.Name()) +
                " with these options (its error can exceed its input); switch it off");
  }
}

std::optional<HopOrder> HopOrderOf(Summing summing) {
  if (summing == Summing::kRing) return HopOrder::kRing;
  if (summing == Summing::kButterfly) return HopOrder::kButterfly;
  return std::nullopt;
}

WorkList FirstHopWork(const Codec& codec, int64_t values, double parameter,
                      const MemoryOptions& memory) {
  CodecContext context;
  context.parameter = parameter;
  WorkList work;
  if (memory.Decays()) AddWork(Work{"copy", values}, work);
  AddWork(codec.EncodeWork(values, context), work);
  if (memory.kind != MemoryKind::kNone) {
    AddWork(codec.FeedbackWork(values, parameter, Feeding::kGradient), work);
  }
  return work;
}

CollectiveCall CodecStep::Lengths() const {
  CollectiveCall call;
  call.encode = EncodeWork();
  return call;
}

CollectiveCall CodecStep::Messages(std::optional<int64_t> values) const {
  CollectiveCall call;
  call.encode = values ? PackWork(ElementsSent(values)) : EncodeWork();
  call.decode = DecodeWork(values);
  if (summing == Summing::kRequantise) {
    call.reduction = Reduction::kRequantisedSum;
    call.collective = Collective::kAllReduce;
  } else if (const auto order = HopOrderOf(summing)) {
    call.reduction = Reduction::kHops;
    call.collective = Collective::kAllReduce;
    call.hops = QuantisedHops(codec, QuantisedPieces(codec, unit.numel, *order, workers), parameter,
                              *order, workers, slice);
  } else if (codec.Linear(unit.numel, parameter)) {
    call.reduction = Reduction::kSum;
    call.collective = Collective::kAllReduce;
  }
  return call;
}

int64_t CodecStep::ElementsSent(std::optional<int64_t> values) const {
  if (values) return (*values + active_workers / 2) / active_workers;
  return codec.ElementsSent(unit.numel, parameter);
}

Feeding CodecStep::FeedingOf() const {
  switch (memory.kind) {
    case MemoryKind::kNone:
      return Feeding::kNone;
    case MemoryKind::kResidual:
      return Feeding::kGradient;
    case MemoryKind::kMomentum:
      return Feeding::kAdded;
  }
  return Feeding::kNone;
}

// Returns the work for a message of `count` values, if that number is known only after selection.
WorkList CodecStep::PackWork(int64_t count) const {
  WorkList work;
  if (codec.CountVaries(unit.numel, parameter)) work = codec.PackWork(count, FeedingOf());
  if (memory.kind == MemoryKind::kMomentum && memory.masking && count < unit.numel) {
    AddWork(Work{"entries.store", count}, work);
  }
  return work;
}

WorkList CodecStep::EncodeWork() const {
  const int64_t count = codec.ElementsSent(unit.numel, parameter);
  WorkList work;
  if (const auto order = HopOrderOf(summing)) {
    const auto pieces = QuantisedPieces(codec, unit.numel, *order, workers);
    return FirstHopWork(codec, FirstHopSize(*order, workers, pieces), parameter, memory);
  }
  if (memory.Decays()) AddWork(Work{"copy", unit.numel}, work);
  // The residual is copied before, and the average written after.
  if (memory.Averages()) AddWork(Work{"copy", 2 * unit.numel, 2, 2}, work);
  if (const Quantiser* storing = memory.Storing()) {
    const double own = storing->Parameter().fallback;
    AddWork(DequantiseWork(*storing, unit.numel, own), work);
    AddWork(QuantiseWork(*storing, unit.numel, own), work);
  }
  if (memory.kind == MemoryKind::kMomentum) AddWork(Work{"momentum", unit.numel}, work);
  if (selected) {
    AddWork(codec.PackWork(count, FeedingOf()), work);
  } else {
    CodecContext context = sender;
    context.parameter = parameter;
    AddWork(WorkOf(codec, "EncodeWork", [&] { return codec.EncodeWork(unit.numel, context); }),
            work);
  }
  if (memory.kind != MemoryKind::kNone) {
    AddWork(codec.FeedbackWork(unit.numel, parameter, FeedingOf()), work);
  }
  if (!SendsLengths()) AddWork(PackWork(count), work);
  return work;
}

// Returns the work of decoding: of one message if the network sums them, otherwise of each. If
// their number of values depends on the data, `values` is that number in all messages together.
WorkList CodecStep::DecodeWork(std::optional<int64_t> values) const {
  const int64_t numel = unit.numel;
  if (summing == Summing::kRequantise) {
    return RequantiseWork(codec, numel, parameter, active_workers);
  }
  if (const auto order = HopOrderOf(summing)) {
    return GatheredWork(codec, numel, parameter, HopPieces(*order, workers));
  }
  WorkList work = WorkOf(codec, "DecodeWork", [&] { return codec.DecodeWork(numel, parameter); });
  if (codec.CountVaries(numel, parameter)) {
    work = codec.UnpackWork(values.value_or(codec.ElementsSent(numel, parameter) * active_workers));
    for (Work& part : work) part.launches *= active_workers;
  } else if (!codec.Linear(numel, parameter)) {
    work = Times(std::move(work), active_workers);
  }
  AddWork(codec.FinishWork(numel, parameter), work);
  return work;
}

}  // namespace legacy
