#include "compress/schemes/sparse/ar_topk_step.h"

#include "compress/codecs/sparse_codec.h"
#include "compress/density.h"
#include "compress/schemes/call_cost.h"
#include "compress/schemes/codec_step.h"

namespace legacy {

using Mode = ArTopKOptions::Mode;

int64_t ArTopKStep::Count() const { return KeptCount(unit.numel, density); }

IndexCoding ArTopKStep::Coding() const {
  return PositionCoding(options.index, unit.numel, Count());
}

int64_t ArTopKStep::PositionBytes() const {
  const IndexCoding coding = Coding();
  if (coding == IndexCoding::kNone) return 0;
  return IndexBytes(coding == IndexCoding::kDelta ? IndexCoding::kU32 : coding, unit.numel,
                    Count());
}

std::vector<PlannedCall> ArTopKStep::Gathered() const {
  const CodecStep step = {.codec = *options.topk,
                          .unit = unit,
                          .parameter = density,
                          .active_workers = active_workers,
                          .memory = options.Memory()};
  const int64_t bytes = options.topk->MessageBytes(unit, density)
                            .value_or(kHeaderBytes + PositionBytes() + ValueBytes());
  return {{step.Messages(std::nullopt), bytes}};
}

std::vector<PlannedCall> ArTopKStep::Reduced() const {
  const int64_t numel = unit.numel;
  // Gradient and residual are read once.
  const Work fed = {options.error_feedback ? "accumulate" : "copy", numel};
  WorkList before = {fed};
  if (options.Memory().Decays()) before.insert(before.begin(), {"copy", numel});
  std::vector<PlannedCall> calls;
  CollectiveCall positions;  // Only the root selects; all workers wait for it.
  positions.collective = Collective::kBroadcast;
  if (options.root_by_variance) {  // sums of values and of squares
    CollectiveCall variance;
    variance.encode = before;
    variance.encode.push_back({.kernel = "norm", .elements = 2 * numel, .launches = 2, .sets = 2});
    calls.push_back({std::move(variance), int64_t{sizeof(float)}});
  } else {
    positions.encode = before;
  }
  AddWork(TopKWork(numel), positions.encode);
  calls.push_back({std::move(positions), kHeaderBytes + PositionBytes()});
  CollectiveCall values;
  values.reduction = Reduction::kSum;
  values.collective = Collective::kAllReduce;
  values.encode = {{"copy", Count()}, {"entries.store", Count()}};
  values.decode = {{"copy", Count()}, {"mean", numel}, {"entries.store", Count()}};
  calls.push_back({std::move(values), kHeaderBytes + ValueBytes()});
  return calls;
}

bool ArTopKStep::Gathers(const LinkEstimate& link) const {
  if (options.mode != Mode::kAuto) return options.mode == Mode::kGather;
  return CallsSeconds(link, Gathered(), unit.numel, active_workers) <=
         CallsSeconds(link, Reduced(), unit.numel, active_workers);
}

}  // namespace legacy
