// signSGD with majority vote (Bernstein et al., signSGD: Compressed Optimisation for Non-Convex
// Problems, ICML 2018): every worker sends the signs of its gradient, 1 bit per element, and all
// take the majority, +1 for equal votes. sign(0) = +1. The mean is scale * vote, which is meant for
// learning rates of about 1e-4.
//
// momentum=b is SIGNUM of the same paper: worker i sends the signs of m_i = b m_i + (1 - b) g_i,
// which is 0 before its first gradient.
//
// As in the paper there is no residual, whether error feedback is on or off.
#include <algorithm>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/exchange.h"
#include "compress/schemes/exchange_base.h"

namespace legacy {
namespace {

constexpr double kLargestScale = 1e6;
constexpr double kMostSignMomentum = 0.999999;

struct SignSgdOptions {
  float scale = 1;
  float momentum = 0;
};

class SignSgdExchange : public ExchangeBase {
 public:
  SignSgdExchange(const SignSgdOptions& options, const Unit& unit, int workers)
      : ExchangeBase("signsgd", unit, workers, {.kind = MemoryKind::kNone}),
        options_(options),
        votes_(unit.numel),
        momenta_(workers) {}

  void Begin(const UnitStep& context) override {
    SetStep(context);
    std::ranges::fill(votes_, 0.0f);
    begun_ = true;
  }
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override { begun_ = false; }
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override { return unit().numel; }
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override;
  Bytes Save() const override;
  void Load(ByteSpan state) override;
  void SaveWorker(int worker, StateWriter& out) const override;
  void LoadWorker(int worker, StateReader& in) override;

 private:
  void Feed(std::span<const float> gradient, std::vector<float>& momentum) const;
  Header VoteHeader() const {
    const auto numel = static_cast<uint32_t>(unit().numel);
    return {.codec = static_cast<uint8_t>(CodecId::kVote),
            .values = ValueType::kSign,
            .unit = unit().id,
            .numel = numel,
            .count = numel};
  }

  SignSgdOptions options_;
  std::vector<float> votes_;                 // sums of +-1, exact
  std::vector<std::vector<float>> momenta_;  // m_i by worker, if there is momentum
  bool begun_ = false;
};

std::optional<CollectiveCall> SignSgdExchange::NextCall() {
  if (!begun_) return std::nullopt;
  CollectiveCall call;
  call.reduction = Reduction::kVote;
  if (options_.momentum > 0) call.encode = {{"accumulate", unit().numel}};
  call.encode.push_back({"votes.encode", unit().numel});
  call.decode = Times({{"votes.decode", unit().numel}}, ActiveWorkers());
  call.decode.push_back({"mean", unit().numel});
  return call;
}

std::vector<float> SignSgdExchange::ErrorFed(int worker, std::span<const float> gradient) const {
  std::vector<float> fed(gradient.begin(), gradient.end());
  if (options_.momentum == 0) return fed;
  fed = momenta_[worker];
  Feed(gradient, fed);
  return fed;
}

// Reads gradient and momentum, and writes the latter.
void SignSgdExchange::Feed(std::span<const float> gradient, std::vector<float>& momentum) const {
  momentum.resize(gradient.size());
  const float rest = 1 - options_.momentum;
  for (size_t i = 0; i < gradient.size(); ++i) {
    momentum[i] = options_.momentum * momentum[i] + rest * gradient[i];
  }
}

Message SignSgdExchange::Encode(int worker, std::span<const float> gradient) {
  CheckFinite(gradient, unit().id);
  if (options_.momentum > 0) {
    Feed(gradient, momenta_[worker]);
    gradient = momenta_[worker];
  }
  const int64_t payload = cpu::PackedBytes(unit().numel, 1);
  Message message = StartMessage(VoteHeader(), payload);
  message.bytes.resize(kHeaderBytes + payload);
  cpu::PackSigns(gradient, std::span(message.bytes).subspan(kHeaderBytes));
  return message;
}

void SignSgdExchange::Accumulate(int, ByteSpan message) {
  const ByteSpan signs = CheckedPayload(message, VoteHeader(), cpu::PackedBytes(unit().numel, 1));
  std::vector<float> vote(votes_.size());
  cpu::UnpackSigns(signs, 1.0f, -1.0f, vote);
  cpu::Add(vote, votes_);
}

void SignSgdExchange::Mean(std::span<float> out) const {
  const float scale = options_.scale;
  for (size_t i = 0; i < out.size(); ++i) out[i] = votes_[i] >= 0 ? scale : -scale;
}

Bytes SignSgdExchange::Save() const {
  StateWriter out;
  out.Blob(ExchangeBase::Save());
  for (const auto& momentum : momenta_) SaveKept(momentum, out);
  return out.Take();
}

void SignSgdExchange::Load(ByteSpan state) {
  StateReader in(state);
  const ByteSpan base = in.Blob();
  std::vector<std::vector<float>> momenta(momenta_.size());
  for (auto& momentum : momenta) momentum = LoadKept("momentum", unit().numel, in);
  in.ExpectEnd();
  ExchangeBase::Load(base);
  momenta_ = std::move(momenta);
}

void SignSgdExchange::SaveWorker(int worker, StateWriter& out) const {
  ExchangeBase::SaveWorker(worker, out);
  SaveKept(momenta_[worker], out);
}

void SignSgdExchange::LoadWorker(int worker, StateReader& in) {
  ExchangeBase::LoadWorker(worker, in);
  momenta_[worker] = LoadKept("momentum", unit().numel, in);
}

class SignSgdScheme : public Scheme {
 public:
  explicit SignSgdScheme(const SignSgdOptions& options) : options_(options) {}
  std::string_view Name() const override { return "signsgd"; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  SchemeTraits Traits() const override { return {.owns_momentum = options_.momentum > 0}; }
  int64_t ElementsSent(const Unit& unit, double) const override { return unit.numel; }
  std::optional<int64_t> MessageBytes(const Unit& unit, double) const override {
    return kHeaderBytes + cpu::PackedBytes(unit.numel, 1);
  }
  bool UsesErrorFeedback(double) const override { return false; }
  // Returns the error of the worker's own sign, without those of other voters.
  std::vector<double> SquaredErrors(const Unit&, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey&) const override {
    double error = 0;
    for (const float x : values) {
      const double rest = static_cast<double>(x) - (x >= 0 ? options_.scale : -options_.scale);
      error += rest * rest;
    }
    return std::vector<double>(parameters.size(), error);
  }
  WorkList ErrorWork(const Unit& unit, std::span<const double>) const override {
    return {{"norm", unit.numel}};
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<SignSgdExchange>(options_, unit, workers);
  }

 private:
  SignSgdOptions options_;
};

}  // namespace

SchemeRow SignSgdRow() {
  return {{.name = "signsgd",
           .help = "sends signs and takes a majority vote; meant for learning rates of about 1e-4",
           .paper = "Bernstein et al., signSGD: Compressed Optimisation for Non-Convex Problems, "
                    "ICML 2018",
           .options = {{"scale", "1", "0 to 1000000", "magnitude of each element of the result"},
                       {"momentum", "0", "0 to 0.999999",
                        "momentum of each worker's gradient, whose signs are sent (SIGNUM)"}}},
          "all-gather, vote",
          [](const OptionReader& own, std::span<const Stage> rest,
             const SchemeOptions&) -> std::unique_ptr<Scheme> {
            if (!rest.empty()) throw Error("scheme signsgd: it takes no second stage");
            return std::make_unique<SignSgdScheme>(SignSgdOptions{
                .scale = static_cast<float>(own.Number("scale", 0, kLargestScale)),
                .momentum = static_cast<float>(own.Number("momentum", 0, kMostSignMomentum))});
          }};
}

}  // namespace legacy
