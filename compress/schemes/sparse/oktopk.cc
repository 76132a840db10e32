#include "compress/schemes/sparse/oktopk.h"

#include "base/error.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/density.h"
#include "compress/schemes/sparse/oktopk_exchange.h"

namespace legacy {
namespace {

constexpr double kMostBalance = 1e6;

class OkTopKScheme : public Scheme {
 public:
  explicit OkTopKScheme(const OkTopKOptions& options)
      : options_(options), topk_(MakeCodec("topk")) {}
  std::string_view Name() const override { return "oktopk"; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  SchemeTraits Traits() const override { return {.residual_decay = options_.residual_decay}; }
  int64_t ElementsSent(const Unit& unit, double density) const override {
    return KeptCount(unit.numel, density);
  }
  std::optional<int64_t> MessageBytes(const Unit&, double) const override { return std::nullopt; }
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double density,
                                                        int active_workers,
                                                        const LinkEstimate&) const override {
    CheckParameter(DensityParameter(), density);
    return OkTopKStep(options_, unit.numel, KeptCount(unit.numel, density), active_workers)
        .Expected();
  }
  // Returns the errors of a worker's own Top-K.
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override {
    return topk_->SquaredErrors(values, parameters,
                                {.unit = unit.id, .parameter = 0, .random = random});
  }
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override {
    return topk_->ErrorWork(unit.numel, parameters);
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<OkTopKExchange>(options_, unit, workers);
  }

 private:
  OkTopKOptions options_;
  std::shared_ptr<const Codec> topk_;
};

CollectiveCall AllToAll() {
  CollectiveCall call;
  call.collective = Collective::kAllToAll;
  return call;
}

}  // namespace

WorkList OkTopKStep::SetWork(bool exact) const {
  WorkList work;
  const MemoryOptions memory = options_.Memory();
  if (memory.Decays()) AddWork(Work{"copy", numel_}, work);
  AddWork(Work{memory.kind == MemoryKind::kNone ? "copy" : "accumulate", numel_}, work);
  if (exact) AddWork(TopKWork(numel_), work);
  AddWork(Work{"threshold.encode", numel_}, work);
  return work;
}

CollectiveCall OkTopKStep::Bounds() const {
  CollectiveCall call;
  call.reduction = Reduction::kSum;
  call.collective = Collective::kAllReduce;
  return call;
}

CollectiveCall OkTopKStep::Counts() const { return AllToAll(); }

CollectiveCall OkTopKStep::Parts(int64_t values) const {
  CollectiveCall call = AllToAll();
  call.encode = {{"sparse.encode", values}};
  call.decode = {{.kernel = "sparse.decode", .elements = values, .launches = active_},
                 {"sparse.sum", Region()}};
  return call;
}

CollectiveCall OkTopKStep::RegionCounts() const {
  CollectiveCall call;
  call.encode = {{"threshold.encode", Region()}};
  return call;
}

CollectiveCall OkTopKStep::Magnitudes(int64_t values) const {
  CollectiveCall call;
  call.encode = TopKWork(Region());
  call.decode = TopKWork(values);
  return call;
}

CollectiveCall OkTopKStep::Selected() const { return RegionCounts(); }

CollectiveCall OkTopKStep::Balance(int64_t values) const {
  CollectiveCall call = AllToAll();
  call.encode = {{"sparse.encode", values}};
  call.decode = {{.kernel = "sparse.decode", .elements = values, .launches = active_}};
  return call;
}

CollectiveCall OkTopKStep::Gather(int64_t values, int64_t all) const {
  CollectiveCall call;
  call.encode = {{"sparse.encode", values}};
  call.decode = {{.kernel = "sparse.decode", .elements = all, .launches = active_},
                 {"sparse.sum", numel_}};
  if (options_.error_feedback) call.decode.push_back({"entries.store", count_});
  return call;
}

std::vector<PlannedCall> OkTopKStep::Expected() const {
  constexpr int64_t kNumber = sizeof(uint32_t);
  constexpr int64_t kEntry = 2 * kNumber;
  const int64_t held = (count_ + active_ - 1) / active_;
  std::vector<PlannedCall> calls;
  calls.push_back({Counts(), kNumber * active_});
  calls.back().call.encode = SetWork(false);
  calls.push_back({Parts(count_), kExtendedHeaderBytes * active_ + kEntry * count_});
  calls.push_back({Selected(), kNumber});
  calls.push_back({Gather(held, count_), kExtendedHeaderBytes + kEntry * held});
  return calls;
}

SchemeRow OkTopKRow() {
  return {
      {.name = "oktopk",
       .help = "sums Top-K values by regions, whose largest sums are gathered, so that volumes do "
               "not grow with the number of workers",
       .paper = "Li and Hoefler, Near-Optimal Sparse Allreduce for Distributed Deep Learning, "
                "PPoPP 2022",
       .options = {{"thresholds", "32", "1 to 2^53", "number of steps between exact thresholds"},
                   {"regions", "64", "1 to 2^53", "number of steps between new bounds of regions"},
                   {"balance", "2", "1 to 1000000",
                    "values are spread evenly over the workers before they are gathered, if one "
                    "has more than this times the mean"}}},
      "2 or 3 all-to-alls, 2 all-gathers",
      [](const OptionReader& own, std::span<const Stage> rest,
         const SchemeOptions& options) -> std::unique_ptr<Scheme> {
        if (!rest.empty()) throw Error("scheme oktopk: it takes no second stage");
        constexpr int64_t kMost = int64_t{1} << 53;
        return std::make_unique<OkTopKScheme>(
            OkTopKOptions{.thresholds = own.Integer("thresholds", 1, kMost),
                          .regions = own.Integer("regions", 1, kMost),
                          .balance = own.Number("balance", 1, kMostBalance),
                          .error_feedback = options.error_feedback,
                          .residual_decay = options.residual_decay});
      }};
}

}  // namespace legacy
