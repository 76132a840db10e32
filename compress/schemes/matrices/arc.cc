#include "compress/schemes/matrices/arc.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/schemes/codec_exchange.h"
#include "compress/schemes/ef21.h"
#include "compress/schemes/exchange_base.h"
#include "compress/schemes/matrices/powersgd.h"

namespace legacy {
namespace {

constexpr const char* kArc = "arc";
constexpr double kArcDensity = 0.2;
constexpr std::array<std::string_view, 3> kArcMemories = {"residual", kEf21, kEf21Momentum};

std::vector<double> SquaredRows(std::span<const float> vectors, int64_t rows) {
  std::vector<double> squares(static_cast<size_t>(rows));
  for (size_t i = 0; i < vectors.size(); ++i) {
    squares[i % squares.size()] += double{vectors[i]} * vectors[i];
  }
  return squares;
}

}  // namespace

std::vector<float> ArcStep::Draws(const RandomKey& key) const {
  const MatrixShape shape = Shape();
  std::vector<float> draws(static_cast<size_t>(shape.columns * options.rank));
  for (int64_t c = 0; c < options.rank; ++c) {
    DrawVector(key, c, std::span(draws).subspan(c * shape.columns, shape.columns));
  }
  return draws;
}

std::vector<float> ArcStep::Sketch(std::span<const float> e, const RandomKey& key) const {
  std::vector<float> sketch(static_cast<size_t>(SketchValues()));
  Multiply(e, Shape(), Draws(key), sketch);
  return sketch;
}

ExtendedHeader ArcStep::Header(bool sketch) const {
  return {.header = {.unit = unit.id,
                     .numel = static_cast<uint32_t>(unit.numel),
                     .count = static_cast<uint32_t>(sketch ? SketchValues() : RowValues())},
          .method = sketch ? ExtendedMethod::kArcSketch : ExtendedMethod::kArcRows,
          .parameter = static_cast<uint16_t>(options.rank)};
}

WorkList ArcStep::SketchWork() const {
  const MatrixShape shape = Shape();
  WorkList work = ProductWork(
      {.kernel = "powersgd.multiply", .elements = unit.numel * options.rank}, unit.numel, 1);
  AddWork(Moved(int64_t{sizeof(float)} * shape.columns * options.rank), work);
  return work;
}

std::vector<PlannedCall> ArcStep::Calls() const {
  const auto bytes = [](int64_t header, int64_t values) {
    return header + int64_t{sizeof(float)} * values;
  };
  CollectiveCall call;
  call.reduction = Reduction::kSum;
  call.collective = Collective::kAllReduce;
  const bool keeps = Memory().kind != MemoryKind::kNone;
  WorkList before = {{keeps ? "accumulate" : "copy", unit.numel}};
  if (Memory().Decays()) before.insert(before.begin(), {"copy", unit.numel});
  if (!Compresses()) {
    call.encode = std::move(before);
    call.decode = {{"fp32.decode", unit.numel}};
    return {{std::move(call), bytes(kHeaderBytes, unit.numel)}};
  }
  CollectiveCall sketch = call, rows = call;
  sketch.encode = std::move(before);
  AddWork(SketchWork(), sketch.encode);
  sketch.decode = {{"blocks.norm", SketchValues()}, {"blocks.select", Shape().rows}};
  rows.encode = {{"copy", RowValues()}};  // and what is left of them
  if (keeps) rows.encode.push_back(Moved(int64_t{sizeof(float)} * RowValues()));
  rows.decode = {{"fp32.decode", RowValues()}, {"mean", unit.numel}};
  return {{std::move(sketch), bytes(kExtendedHeaderBytes, SketchValues())},
          {std::move(rows), bytes(kExtendedHeaderBytes, RowValues())}};
}

namespace {

class ArcExchange : public ExchangeBase {
 public:
  ArcExchange(const ArcOptions& options, const Unit& unit, int workers)
      : ExchangeBase(kArc, unit, workers, ArcStep{options, unit}.Memory()),
        options_(options),
        mean_(static_cast<size_t>(unit.numel)) {}

  void Begin(const UnitStep& context) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override;
  void Mean(std::span<float> out) const override { std::ranges::copy(mean_, out.begin()); }
  int64_t ElementsSent() const override {
    const ArcStep now = Now();
    return now.Compresses() ? now.SketchValues() + now.RowValues() : unit().numel;
  }

 private:
  enum CallIndex { kSketchCall, kRowsCall, kWholeCall, kDone };

  ArcStep Now() const { return {options_, unit(), step().parameter}; }
  ExtendedHeader CallHeader() const { return Now().Header(call_ == kSketchCall); }
  std::span<float> Row(std::span<float> matrix, uint32_t row) const {
    const int64_t columns = Now().Shape().columns;
    return matrix.subspan(row * columns, columns);
  }

  ArcOptions options_;
  int call_ = kDone;
  std::vector<uint32_t> rows_;
  std::vector<float> sum_;  // of the call's messages
  std::vector<float> mean_;
};

void ArcExchange::Begin(const UnitStep& context) {
  CheckParameter(DensityParameter(), context.parameter);
  SetStep(context);
  call_ = Now().Compresses() ? kSketchCall : kWholeCall;
  rows_.clear();
  sum_.assign(call_ == kSketchCall ? Now().SketchValues() : unit().numel, 0.0f);
}

std::optional<CollectiveCall> ArcExchange::NextCall() {
  if (call_ == kDone) return std::nullopt;
  const std::vector<PlannedCall> calls = Now().Calls();
  return call_ == kRowsCall ? calls.back().call : calls.front().call;
}

Message ArcExchange::Encode(int worker, std::span<const float> gradient) {
  if (call_ != kRowsCall) {
    assert(static_cast<int64_t>(gradient.size()) == unit().numel);
    CheckFinite(memory().Compensate(worker, gradient), unit().id);
  }
  const std::span<float> residual = memory().MutableResidual(worker);
  if (call_ == kWholeCall) {
    Message message = DenseCodec().Encode(residual, SenderContext(worker));
    std::ranges::fill(residual, 0.0f);
    return message;
  }
  Message message = StartMessage(CallHeader(), int64_t{sizeof(float)} * std::ssize(sum_));
  if (call_ == kSketchCall) {
    AppendFloats(Now().Sketch(residual, SharedContext().random), message.bytes);
    return message;
  }
  for (const uint32_t row : rows_) {
    const std::span<float> values = Row(residual, row);
    AppendFloats(values, message.bytes);
    std::ranges::fill(values, 0.0f);
  }
  return message;
}

void ArcExchange::Accumulate(int, ByteSpan message) {
  if (call_ == kWholeCall) return DenseCodec().DecodeAdd(message, SharedContext(), sum_);
  AddSegment(CheckedPayload(message, CallHeader(), int64_t{sizeof(float)} * std::ssize(sum_)),
             sum_);
}

void ArcExchange::FinishCall() {
  const auto count = static_cast<float>(ActiveWorkers());
  for (float& x : sum_) x /= count;
  CheckFinite(sum_, unit().id);  // sums may overflow
  if (call_ == kSketchCall) {
    rows_ = LargestRows(sum_, Now().Shape().rows, Now().Rows());
    sum_.assign(static_cast<size_t>(Now().RowValues()), 0.0f);
    call_ = kRowsCall;
    return;
  }
  if (call_ == kRowsCall) {
    std::ranges::fill(mean_, 0.0f);
    auto from = sum_.begin();
    for (const uint32_t row : rows_) {
      const std::span<float> values = Row(mean_, row);
      std::copy_n(from, values.size(), values.begin());
      from += std::ssize(values);
    }
  } else {
    mean_ = sum_;
  }
  call_ = kDone;
}

}  // namespace

std::unique_ptr<Exchange> ArcScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<ArcExchange>(options_, unit, workers);
}

const ParameterSpec& ArcScheme::Parameter() const {
  static const ParameterSpec spec = [] {
    ParameterSpec density = DensityParameter();
    density.fallback = kArcDensity;
    density.help = "fraction of a matrix's rows that is sent";
    return density;
  }();
  return spec;
}

// Returns the errors of rows that the worker's own sketch chooses.
std::vector<double> ArcScheme::SquaredErrors(const Unit& unit, std::span<const float> values,
                                             std::span<const double> densities,
                                             const RandomKey& random) const {
  std::vector<double> errors(densities.size());
  std::vector<float> sketch;
  std::vector<double> squares;
  for (size_t i = 0; i < densities.size(); ++i) {
    CheckParameter(DensityParameter(), densities[i]);
    const ArcStep step{options_, unit, densities[i]};
    if (!step.Compresses()) continue;
    const MatrixShape shape = step.Shape();
    if (sketch.empty()) {
      sketch = step.Sketch(values, random);
      for (int64_t row = 0; row < shape.rows; ++row) {
        squares.push_back(cpu::SquaredNorm(values.subspan(row * shape.columns, shape.columns)));
      }
    }
    errors[i] = std::accumulate(squares.begin(), squares.end(), 0.0);
    for (const uint32_t row : LargestRows(sketch, shape.rows, step.Rows())) {
      errors[i] -= squares[row];
    }
    errors[i] = std::max(errors[i], 0.0);
  }
  return errors;
}

WorkList ArcScheme::ErrorWork(const Unit& unit, std::span<const double> densities) const {
  WorkList work;
  for (const double density : densities) {
    const ArcStep step{options_, unit, density};
    if (!step.Compresses()) continue;
    if (work.empty()) {
      work = step.SketchWork();
      AddWork(Work{"norm", unit.numel}, work);
    }
    AddWork({{"blocks.norm", step.SketchValues()}, {"blocks.select", step.Shape().rows}}, work);
  }
  return work;
}

std::vector<uint32_t> LargestRows(std::span<const float> vectors, int64_t rows, int64_t count) {
  return cpu::SelectLargest(SquaredRows(vectors, rows), count);
}

SchemeRow ArcRow() {
  return {{.name = kArc,
           .help = "all-reduces a sketch of each matrix, and the rows that are largest in it",
           .paper = "ARC-Top-K: all-reduce compatible Top-K compression with error feedback, 2025",
           .options = {{"rank", "4", "1 to 64", "number of columns of the sketch"},
                       {"memory", "residual", "residual, ef21, ef21m",
                        "error feedback: add the residual to the next gradient, or compress "
                        "differences to what receivers know of the gradient, or of its momentum"},
                       EtaOption()}},
          "2 all-reduces",
          [](const OptionReader& own, std::span<const Stage> rest,
             const SchemeOptions& options) -> std::unique_ptr<Scheme> {
            if (!rest.empty()) throw Error("scheme arc: it takes no second stage");
            auto scheme =
                std::make_unique<ArcScheme>(ArcOptions{.rank = own.Integer("rank", 1, kLargestRank),
                                                       .error_feedback = options.error_feedback,
                                                       .residual_decay = options.residual_decay});
            const auto memory = kArcMemories[own.Choice("memory", kArcMemories)];
            if (const auto ef21 = ReadEf21(memory, own, options)) {
              return WithEf21(std::move(scheme), *ef21);
            }
            return scheme;
          }};
}

}  // namespace legacy
