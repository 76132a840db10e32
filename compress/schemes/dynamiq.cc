// The exchange of DynamiQ, and its row (dynamiq.h).
#include "compress/schemes/dynamiq.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/cast.h"
#include "compress/cpu/vector.h"
#include "compress/schemes/exchange_base.h"
#include "compress/schemes/hops/dynamiq_hops.h"
#include "compress/schemes/hops/hop_sum.h"

namespace legacy {
namespace {

using dynamiq::kSuper;
using dynamiq::Layout;
using dynamiq::StatisticsOf;
using dynamiq::SupersOf;

constexpr int64_t kStatisticsBytes = 4;  // of a super-group

const ParameterSpec& BudgetSpec() {
  static const ParameterSpec spec = {.name = "bits",
                                     .minimum = 3,
                                     .maximum = 8 + dynamiq::kOverheadBits,
                                     .fallback = 5,
                                     .help = "bits per value on average, with all overhead"};
  return spec;
}

class DynamiqExchange : public ExchangeBase {
 public:
  DynamiqExchange(const DynamiqOptions& options, const Unit& unit, int workers)
      : ExchangeBase("dynamiq", unit, workers, {.kind = MemoryKind::kNone}),
        options_(options),
        own_(workers),
        messages_(workers) {}

  void Begin(const UnitStep& context) override {
    if (!context.candidates.empty()) return Exchange::Choose(0);  // throws
    CheckParameter(BudgetSpec(), context.parameter);
    SetStep(context);
    call_ = kStatistics;
    sums_.assign(2 * SupersOf(unit().numel), 0.0);
    layout_.reset();
  }

  std::optional<CollectiveCall> NextCall() override {
    if (call_ == kDone) return std::nullopt;
    if (call_ == kStatistics) return DynamiqStatisticsCall(unit().numel);
    return DynamiqValuesCall(options_, *layout_, unit().numel, workers());
  }

  Message Encode(int worker, std::span<const float> gradient) override {
    Message message;
    if (call_ == kStatistics) {
      CheckFinite(gradient, unit().id);
      own_[worker].assign(gradient.begin(), gradient.end());
      WriteExtendedHeader(HeaderOf(), message.bytes);
      const std::vector<float> statistics = StatisticsOf(gradient);
      const size_t begin = message.bytes.size();
      message.bytes.resize(begin + 2 * statistics.size());
      cpu::EncodeBfloat16(statistics, std::span(message.bytes).subspan(begin));
      return message;
    }
    own_[worker] = layout_->Sorted(own_[worker]);
    WriteExtendedHeader(HeaderOf(), message.bytes);
    const Bytes payload = CoderOf({}).Encode(worker, 0, {0, Padded()}, own_[worker]);
    message.bytes.insert(message.bytes.end(), payload.begin(), payload.end());
    return message;
  }

  void Accumulate(int worker, ByteSpan message) override {
    const ByteSpan payload = CheckedPayload(message, HeaderOf());
    if (call_ == kStatistics) {
      CheckLength(payload, kStatisticsBytes * SupersOf(unit().numel));
      std::vector<float> statistics(sums_.size());
      cpu::DecodeBfloat16(payload, statistics);
      for (size_t i = 0; i < statistics.size(); ++i) {
        if (!std::isfinite(statistics[i]) || (i % 2 == 1 && std::signbit(statistics[i]))) {
          throw Error("message: a statistic is not a finite number");
        }
      }
      for (size_t i = 0; i < statistics.size(); ++i) sums_[i] += statistics[i];
      return;
    }
    std::vector<float> decoded(Padded());
    CoderOf({}).Decode(payload, {0, Padded()}, decoded);  // checks it
    messages_[worker].assign(payload.begin(), payload.end());
  }

  // Hops add values that no message has.
  void WriteNotes(int worker, StateWriter& out) const override {
    out.Number(own_[worker].size());
    out.Floats(own_[worker]);
  }
  void ReadNotes(int worker, StateReader& in) override {
    own_[worker] = in.Floats(in.Number("values of a worker", static_cast<uint64_t>(Padded())));
  }

  void FinishCall() override {
    if (call_++ == kStatistics) {
      layout_.emplace(sums_, ActiveWorkers(), step().parameter);
      return;
    }
    const std::vector<float> zeros(Padded());
    std::vector<ByteSpan> payloads;
    std::vector<std::span<const float>> own;
    for (int w = 0; w < workers(); ++w) {
      payloads.emplace_back(messages_[w]);
      own.emplace_back(messages_[w].empty() ? zeros : own_[w]);
    }
    const dynamiq::Coder coder = CoderOf(payloads);
    const auto pieces = HopRanges(Padded(), kSuper, HopPieces(options_.order, workers()));
    result_.resize(Padded());
    GatherPieces(coder, pieces, ReduceByHops(options_.order, coder, own, pieces), result_);
    for (Bytes& message : messages_) message.clear();
    for (std::vector<float>& values : own_) values.clear();
  }

  void Mean(std::span<float> out) const override {
    layout_->MeanOf(result_, static_cast<float>(ActiveWorkers()), out);
  }
  int64_t ElementsSent() const override { return unit().numel; }

 private:
  enum CallIndex { kStatistics, kValues, kDone };

  int64_t Padded() const { return SupersOf(unit().numel) * kSuper; }
  dynamiq::Coder CoderOf(std::span<const ByteSpan> payloads) const {
    return {*layout_, SharedContext(), workers(), options_.rounding, payloads};
  }
  ExtendedHeader HeaderOf() const { return DynamiqHeader(unit(), call_ == kStatistics); }

  DynamiqOptions options_;
  int call_ = kDone;
  std::vector<std::vector<float>> own_;  // values of each worker, from call 2 on as they are sent
  std::vector<Bytes> messages_;          // payloads of call 2, by worker
  std::vector<double> sums_;             // sums of statistics
  std::optional<Layout> layout_;
  std::vector<float> result_;  // the sum, in the order of sending
};

}  // namespace

ExtendedHeader DynamiqHeader(const Unit& unit, bool statistics) {
  const int64_t count = statistics ? SupersOf(unit.numel) : unit.numel;
  return {.header = {.unit = unit.id,
                     .numel = static_cast<uint32_t>(unit.numel),
                     .count = static_cast<uint32_t>(count)},
          .method = statistics ? ExtendedMethod::kDynamiqStatistics : ExtendedMethod::kDynamiq,
          .values = static_cast<uint8_t>(statistics ? ValueType::kBfloat16 : ValueType::kFloat32)};
}

CollectiveCall DynamiqStatisticsCall(int64_t numel) {
  CollectiveCall call;
  call.collective = Collective::kAllReduce;
  call.reduction = Reduction::kSum;
  call.encode = {{"dynamiq.statistics", numel}};
  return call;
}

CollectiveCall DynamiqValuesCall(const DynamiqOptions& options, const Layout& layout, int64_t numel,
                                 int workers) {
  CollectiveCall call;
  call.collective = Collective::kAllReduce;
  call.reduction = Reduction::kHops;
  const int64_t padded = SupersOf(numel) * kSuper, bytes = layout.Bytes();
  const int pieces = HopPieces(options.order, workers);
  const int64_t first = padded / (options.order == HopOrder::kRing ? pieces : 1);
  // Each group has a permutation of the workers.
  const int64_t drawn = int64_t{sizeof(uint16_t)} * (padded / dynamiq::kGroup) * workers;
  call.encode = {{"dynamiq.encode", first},
                 Moved(bytes * first / std::max<int64_t>(1, padded) + drawn)};
  call.decode = {{"dynamiq.decode", padded, pieces}, Moved(bytes), {"mean", numel}};
  WorkList hop = {{"dynamiq.hop", padded}, Moved(2 * bytes)};
  const dynamiq::Coder coder(layout, {}, workers, options.rounding, {});
  call.hops = HopsOf(options.order, coder, HopRanges(padded, coder.Block(), pieces), workers,
                     options.slice, kExtendedHeaderBytes, std::move(hop));
  return call;
}

const ParameterSpec& DynamiqScheme::Parameter() const { return BudgetSpec(); }

std::unique_ptr<Exchange> DynamiqScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<DynamiqExchange>(options_, unit, workers);
}

std::optional<std::vector<PlannedCall>> DynamiqScheme::ExpectedCalls(const Unit& unit, double bits,
                                                                     int,
                                                                     const LinkEstimate&) const {
  const int64_t supers = SupersOf(unit.numel);
  const auto values = static_cast<int64_t>((bits - dynamiq::kOverheadBits) / 8 *
                                           static_cast<double>(supers * kSuper));
  CollectiveCall statistics, sum;
  statistics.collective = sum.collective = Collective::kAllReduce;
  statistics.reduction = Reduction::kSum;
  sum.reduction = Reduction::kHops;
  statistics.encode = {{"dynamiq.statistics", unit.numel}};
  sum.encode = {{"dynamiq.encode", unit.numel}, Moved(values)};
  sum.decode = {{"dynamiq.decode", unit.numel}, Moved(values), {"mean", unit.numel}};
  return std::vector<PlannedCall>{
      {std::move(statistics), kExtendedHeaderBytes + kStatisticsBytes * supers},
      {std::move(sum), kExtendedHeaderBytes + values + 18 * supers}};
}

// Encodes as a single worker does.
std::vector<double> DynamiqScheme::SquaredErrors(const Unit&, std::span<const float> values,
                                                 std::span<const double> parameters,
                                                 const RandomKey& random) const {
  CheckFinite(values, 0);
  const std::vector<float> statistics = StatisticsOf(values);
  const std::vector<double> sums(statistics.begin(), statistics.end());
  std::vector<double> errors;
  for (const double bits : parameters) {
    const Layout layout(sums, 1, bits);
    const dynamiq::Coder coder(layout, {.random = random}, 1, options_.rounding, {});
    std::vector<float> sorted = layout.Sorted(values);
    const HopRange all = {0, std::ssize(sorted)};
    coder.Decode(coder.Encode(0, 0, all, sorted), all, sorted);
    std::vector<float> decoded(values.size());
    layout.MeanOf(sorted, 1, decoded);
    errors.push_back(cpu::SquaredDistance(values, decoded));
  }
  return errors;
}

WorkList DynamiqScheme::ErrorWork(const Unit& unit, std::span<const double> parameters) const {
  WorkList work = {{"dynamiq.statistics", unit.numel}};
  for (size_t i = 0; i < parameters.size(); ++i) AddWork(Work{"dynamiq.encode", unit.numel}, work);
  return work;
}

SchemeRow DynamiqRow() {
  return {{.name = "dynamiq",
           .help = "sums by hops at 2, 4 or 8 bits a value, by the energy of 256 values each, and "
                   "rounds with draws that cancel between workers",
           .paper = "DynamiQ, SIGCOMM 2026",
           .options = {{"order", "ring", "ring, butterfly", "way of the partial sums"},
                       {"rounding", "value", "value, log",
                        "value: without bias; log: by the logarithm of the level, as the "
                        "published kernels round, which is biased upwards"},
                       SliceOption()}},
          "all-reduce, all-reduce by hops",
          [](const OptionReader& own, std::span<const Stage> rest,
             const SchemeOptions&) -> std::unique_ptr<Scheme> {
            if (!rest.empty()) throw Error("scheme dynamiq: it takes no second stage");
            constexpr std::string_view kOrders[] = {"ring", "butterfly"};
            constexpr std::string_view kRoundings[] = {"value", "log"};
            DynamiqOptions options;
            options.order = static_cast<HopOrder>(own.Choice("order", kOrders));
            options.rounding = static_cast<dynamiq::Rounding>(own.Choice("rounding", kRoundings));
            options.slice = ReadSlice(own);
            return std::make_unique<DynamiqScheme>(options);
          }};
}

}  // namespace legacy
