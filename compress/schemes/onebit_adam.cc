// 1-bit Adam (Tang et al., "1-bit Adam: Communication Efficient Large-Scale Training with Adam's
// Convergence Speed", ICML 2021). In the first `warmup` steps gradients are sent whole, and the
// optimizer is plain Adam. Then its variance is frozen (trainer/optimizer.h), and workers exchange
// momentum:
//
//   worker i   e_i = r_i + m_i;  sends C(e_i);  r_i' = e_i - C(e_i)
//   owner      e = s + mean of C(e_i);  sends C(e) to all;  s' = e - C(e)
//   result     C(e): the momentum of all workers
//
// C sends signs and the mean magnitude (quantisers/sign.cc), of a whole unit at a worker, and of a
// slice at its owner. Every worker owns one slice of each unit, as in the authors' compressed
// all-reduce; slices are as equal as possible. Each worker keeps its r_i; s is kept once for each
// element, by its owner. A message has the header, one scale and n bits.
#include <cassert>

#include "base/error.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/schemes/dense_start.h"
#include "compress/schemes/exchange_base.h"
#include "compress/schemes/requantise.h"

namespace legacy {
namespace {

constexpr const char* kOnebitAdam = "onebit-adam";

class OneBitAdamScheme : public Scheme {
 public:
  explicit OneBitAdamScheme(int64_t warmup) : warmup_(warmup) {}
  std::string_view Name() const override { return kOnebitAdam; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  SchemeTraits Traits() const override {
    return {.depends_on_collective = true, .needs_error_feedback = true, .momentum_from = warmup_};
  }
  int64_t ElementsSent(const Unit& unit, double) const override { return unit.numel; }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    return codec_->MessageBytes(unit, parameter);
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    return std::vector<PlannedCall>{{Call(unit, active_workers), *MessageBytes(unit, parameter)}};
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override {
    return codec_->SquaredErrors(values, parameters,
                                 {.unit = unit.id, .parameter = 0, .random = random});
  }
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override {
    return codec_->ErrorWork(unit.numel, parameters);
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

  CollectiveCall Call(const Unit& unit, int active_workers) const;
  const std::shared_ptr<const Codec>& codec() const { return codec_; }

 private:
  int64_t warmup_;
  std::shared_ptr<const Codec> codec_ = MakeCodec("sign");
};

// An owner adds s to its slice, and keeps what its message leaves out, as a worker does.
CollectiveCall OneBitAdamScheme::Call(const Unit& unit, int active_workers) const {
  CollectiveCall call;
  call.reduction = Reduction::kRequantisedSum;
  call.collective = Collective::kAllReduce;
  call.encode = codec_->EncodeWork(unit.numel, {});
  AddWork(codec_->FeedbackWork(unit.numel, 0, Feeding::kGradient), call.encode);
  call.decode = RequantiseWork(*codec_, unit.numel, 0, active_workers);
  const int64_t slice = (unit.numel + active_workers - 1) / active_workers;
  AddWork(codec_->FeedbackWork(slice, 0, Feeding::kGradient), call.decode);
  return call;
}

class OneBitAdamExchange : public ExchangeBase {
 public:
  OneBitAdamExchange(const OneBitAdamScheme& scheme, const Unit& unit, int workers)
      : ExchangeBase(kOnebitAdam, unit, workers, {.kind = MemoryKind::kResidual}),
        scheme_(scheme) {}

  void Begin(const UnitStep& context) override {
    SetStep(context);
    result_.assign(static_cast<size_t>(unit().numel), 0.0f);
    open_ = true;
  }
  std::optional<CollectiveCall> NextCall() override {
    if (!open_) return std::nullopt;
    return scheme_.Call(unit(), ActiveWorkers());
  }
  Message Encode(int worker, std::span<const float> gradient) override {
    assert(static_cast<int64_t>(gradient.size()) == unit().numel);
    return memory().Encode(*scheme_.codec(), worker, gradient, SenderContext(worker));
  }
  void Accumulate(int, ByteSpan message) override {
    scheme_.codec()->DecodeAdd(message, SharedContext(), result_);
  }
  void FinishCall() override;
  void Mean(std::span<float> out) const override { std::ranges::copy(result_, out.begin()); }
  int64_t ElementsSent() const override { return unit().numel; }
  // Residuals are of momentum, which the learning rate does not scale.
  void RescaleResiduals(float) override {}

 protected:
  void CheckShared(std::span<const float> shared) const override;

 private:
  const OneBitAdamScheme scheme_;
  std::vector<float> result_;
  bool open_ = false;
};

void OneBitAdamExchange::FinishCall() {
  cpu::Scale(result_, 1.0f / static_cast<float>(ActiveWorkers()));
  std::vector<float>& residual = shared();
  residual.resize(result_.size());
  cpu::Add(result_, residual);
  std::ranges::copy(residual, result_.begin());
  const auto& quantiser = static_cast<const QuantiserCodec&>(*scheme_.codec()).quantiser();
  Requantise(quantiser, 1, ActiveWorkers(), workers(), SharedContext(), result_);
  for (size_t i = 0; i < residual.size(); ++i) residual[i] -= result_[i];
  open_ = false;
}

void OneBitAdamExchange::CheckShared(std::span<const float> shared) const {
  if (shared.empty() || std::ssize(shared) == unit().numel) return;
  throw Error("state: residual of the owners", std::to_string(shared.size()),
              "0 or " + std::to_string(unit().numel));
}

std::unique_ptr<Exchange> OneBitAdamScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<OneBitAdamExchange>(*this, unit, workers);
}

}  // namespace

SchemeRow OneBitAdamRow() {
  return {{.name = kOnebitAdam,
           .help = "sends signs of Adam's momentum, after steps in which gradients are sent whole; "
                   "the variance is kept from then on",
           .paper = "Tang et al., 1-bit Adam: Communication Efficient Large-Scale Training with "
                    "Adam's Convergence Speed, ICML 2021",
           .options = {{"warmup", "100", "1 to 2^53",
                        "number of first steps, of Adam with gradients that are sent whole"}}},
          "all-reduce of slices",
          [](const OptionReader& own, std::span<const Stage> rest,
             const SchemeOptions& options) -> std::unique_ptr<Scheme> {
            if (!rest.empty()) throw Error("scheme onebit-adam: it takes no second stage");
            if (!options.error_feedback) {
              throw Error("error feedback", "off", "on with scheme onebit-adam, a part of it");
            }
            const int64_t warmup = own.Integer("warmup", 1, int64_t{1} << 53);
            return WithDenseStart(std::make_unique<OneBitAdamScheme>(warmup), warmup);
          }};
}

}  // namespace legacy
