#include "compress/schemes/codec_step.h"

#include <algorithm>

#include "compress/error.h"
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
                " as it is set (its error can exceed its input); switch it off");
  }
}

Round CodecStep::Lengths() const {
  Round round;
  round.encode = EncodeWork();
  return round;
}

Round CodecStep::Messages(std::optional<int64_t> values) const {
  Round round;
  if (!values) round.encode = EncodeWork();
  round.decode = DecodeWork(values);
  if (requantise) {
    round.reduction = Reduction::kRequantisedSum;
    round.primitive = Primitive::kAllReduce;
  } else if (codec.Linear(unit.numel, parameter)) {
    round.reduction = Reduction::kSum;
    round.primitive = Primitive::kAllReduce;
  }
  return round;
}

int64_t CodecStep::ElementsSent(std::optional<int64_t> values) const {
  if (values) return (*values + participants / 2) / participants;
  return codec.ElementsSent(unit.numel, parameter);
}

WorkList CodecStep::EncodeWork() const {
  if (selected) return {{"copy", codec.ElementsSent(unit.numel, parameter), 1}};
  return codec.EncodeWork(unit.numel, parameter);
}

// Of all messages together; where their number of values depends on the data, of those that there
// are.
WorkList CodecStep::DecodeWork(std::optional<int64_t> values) const {
  WorkList work = codec.DecodeWork(unit.numel, parameter);
  if (requantise) return RequantiseWork(codec, unit.numel, parameter, participants);
  const bool linear = codec.Linear(unit.numel, parameter);
  const int64_t one = std::max(codec.ElementsSent(unit.numel, parameter), int64_t{1});
  const int64_t all = values.value_or(one * participants);
  for (Work& part : work) {
    if (linear) break;  // the network adds
    part.launches *= participants;
    part.elements = part.elements / one * all;
  }
  std::ranges::copy(codec.FinishWork(unit.numel, parameter), std::back_inserter(work));
  return work;
}

}  // namespace legacy
