// theta is the fraction of the spectrum that codec fft drops. This policy uses the same theta for
// all units; theta_0 is the anchor. Wang et al. (HPDC 2020) show that SGD converges with a
// diminishing theta, and that lowering it recovers accuracy. With a_t^2 = ||x - C(x)||^2 / ||x||^2,
// the compression's error is of the order of SGD's own noise if a_t^2 <= L eta_t, where L is the
// loss's smoothness and eta_t <= 1 / (4 L) the rate.
//
//   lr        theta_t = theta_0 sqrt(eta_t / eta), where eta is the highest rate so far, so that a
//             warm-up does not count. Nothing is sent: every worker knows the rate.
//   measured  the largest theta <= theta_0 with a^2(theta) <= L eta_t, where a^2 is over all units
//             of worker 0's error-fed gradient. The thetas tried have the kept fraction of theta_0
//             times 2^(j/2), and 0. Every `interval` steps worker 0 measures, and announces the
//             result for the following steps. Without `smoothness`, L = 1 / (4 eta), the largest
//             that the rates allow, which means a_t^2 <= 1/4.
//   recover   every `interval` steps worker 0 announces its mean loss since the last time. If
//             `patience` announcements in a row are not below the best so far by the fraction
//             `improvement`, theta becomes factor * theta; below 0.05 it becomes 0. Every worker
//             computes this by itself.
//
// The announcement is 8 bytes, an f64, from worker 0 to all; worker 0, too, uses the decoded
// number.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/number.h"
#include "base/state.h"
#include "compress/checks.h"
#include "compress/cpu/vector.h"
#include "compress/policies/policy_options.h"

namespace legacy {
namespace {

constexpr std::string_view kThetaForms[] = {"lr", "measured", "recover"};

class ThetaPolicy : public Policy {
 public:
  explicit ThetaPolicy(const PolicyContext& context) : context_(context) {}
  std::string_view Name() const override { return "theta"; }

  void Decide(const StepInfo& step, [[maybe_unused]] std::span<const Unit> units,
              std::span<double> parameters) override {
    assert(units.size() == parameters.size());
    step_ = step;
    highest_rate_ = std::max(highest_rate_, step.learning_rate);
    std::ranges::fill(parameters, Theta());
    LogTheta(step.step, {.reason = log().Started() ? "the learning rate changed" : "start"});
  }

  Bytes Save() const override {
    StateWriter out;
    out.Text(Form());
    for (const double number : Numbers()) out.Real(number);
    return out.Take();
  }
  void Load(ByteSpan state) override {
    StateReader in(state);
    in.ExpectText("form of policy theta", Form());
    std::vector<double> numbers = Numbers();
    for (double& number : numbers) number = in.Real("number");
    in.ExpectEnd();
    SetNumbers(numbers);
  }

 protected:
  virtual std::string_view Form() const = 0;
  virtual double Theta() const = 0;
  // Return and restore all state, as finite numbers.
  virtual std::vector<double> Numbers() const { return {highest_rate_}; }
  virtual void SetNumbers(std::span<const double> numbers) { highest_rate_ = numbers[0]; }

  const PolicyContext& context() const { return context_; }
  const StepInfo& step() const { return step_; }
  double highest_rate() const { return highest_rate_; }
  // Logs a decision that holds from step `from` on. Without an announcement, only a changed theta
  // is a decision.
  void LogTheta(int64_t from, DecisionGrounds grounds, bool announced = false) {
    const double theta = Theta();
    if (theta == log().Last() && !announced) return;
    if (log().Started()) log().Begin();
    log().SetLast(theta);
    log().Add(from, Decision::kAllUnits, theta, std::move(grounds));
  }

 private:
  const PolicyContext context_;
  StepInfo step_;
  double highest_rate_ = 0;
};

class RateTheta : public ThetaPolicy {
 public:
  using ThetaPolicy::ThetaPolicy;

 protected:
  std::string_view Form() const override { return kThetaForms[0]; }
  double Theta() const override {
    if (!(highest_rate() > 0)) return context().parameter;
    const double fallen = std::max(0.0, step().learning_rate / highest_rate());
    return context().parameter * std::sqrt(fallen);
  }
};

// The common part of forms in which worker 0 announces a number every `interval` steps.
class AnnouncedTheta : public ThetaPolicy {
 public:
  AnnouncedTheta(const PolicyContext& context, int64_t interval)
      : ThetaPolicy(context), interval_(interval), theta_(context.parameter) {}

  std::optional<CollectiveCall> OpenCall(PolicyMoment moment) override {
    if (moment != PolicyMoment::kAnnouncement || !IsDue()) return std::nullopt;
    return CollectiveCall{.reduction = Reduction::kConcat,
                          .collective = Collective::kBroadcast,
                          .root = 0,
                          .encode = {},
                          .decode = {}};
  }
  Message Encode(int worker, std::span<const Probe>) const override {
    Message message;
    if (worker != 0) return message;
    const double number = ToAnnounce();
    const auto bytes = std::as_bytes(std::span(&number, 1));
    message.bytes.assign(bytes.begin(), bytes.end());
    return message;
  }
  void Accumulate(int worker, ByteSpan message) override {
    if (worker != 0) return CheckLength(message, 0);
    double number = 0;
    CheckLength(message, sizeof number);
    std::memcpy(&number, message.data(), sizeof number);
    CheckAnnounced(number);
    received_ = number;
  }
  std::optional<DecisionForecast> DecisionsIn(int64_t total_steps) const override {
    return DecisionForecast{EndsOfPeriods(total_steps, interval_, interval_), "interval=5%"};
  }
  void FinishCall() override {
    // If worker 0 was not active in the step, nothing was received and the last theta stays.
    if (received_) {
      DecisionGrounds grounds = GroundsOf(*received_);
      Take(*received_);
      LogTheta(step().step + 1, std::move(grounds), true);
    }
    received_.reset();
    StartInterval();
  }

 protected:
  virtual bool IsDue() const { return (step().step + 1) % interval_ == 0; }
  virtual double ToAnnounce() const = 0;
  virtual void CheckAnnounced(double number) const = 0;  // throws Error
  virtual void Take(double number) = 0;
  // Returns the reasons of an announced number, before it is taken.
  virtual DecisionGrounds GroundsOf(double number) const = 0;
  virtual void StartInterval() = 0;
  double Theta() const override { return theta_; }
  void SetTheta(double theta) { theta_ = theta; }
  std::vector<double> Numbers() const override { return {highest_rate(), theta_}; }
  void SetNumbers(std::span<const double> numbers) override {
    CheckParameter(context().scheme->Parameter(), numbers[1]);
    ThetaPolicy::SetNumbers(numbers);
    theta_ = numbers[1];
  }

 private:
  int64_t interval_;
  double theta_;
  std::optional<double> received_;
};

class MeasuredTheta : public AnnouncedTheta {
 public:
  // `smoothness` = 0 means 1 / (4 highest rate).
  MeasuredTheta(const PolicyContext& context, int64_t interval, double smoothness)
      : AnnouncedTheta(context, interval), smoothness_(smoothness) {
    constexpr double kLeastKept = 0x1p-10;
    double kept = std::max(1 - context.parameter, kLeastKept);
    for (; kept < 1; kept *= std::sqrt(2.0)) thetas_.push_back(1 - kept);
    if (thetas_.empty()) thetas_.push_back(context.parameter);
    thetas_.front() = context.parameter;
    if (thetas_.back() != 0) thetas_.push_back(0);
    StartInterval();
  }

  bool ReadsLocalGradient() const override { return IsDue(); }
  WorkList LocalWork() const override {
    if (!IsDue()) return {};
    WorkList work;
    for (const Unit& unit : context().units) {
      WorkList own = {{"accumulate", unit.numel}, {"norm", unit.numel}};
      if (context().scheme->Traits().owns_momentum) {
        AddWork(Moved(int64_t{sizeof(float)} * unit.numel), own);
      }
      if (context().scheme->Compresses(unit, context().parameter)) {
        AddWork(context().scheme->ErrorWork(unit, thetas_), own);
      }
      JoinWork(own, work);
    }
    return work;
  }
  void OnLocalGradient(size_t unit, std::span<const float>,
                       std::span<const float> error_fed) override {
    energy_ += cpu::SquaredNorm(error_fed);
    const Unit& own = context().units[unit];
    if (!context().scheme->Compresses(own, context().parameter)) return;
    const RandomKey key = {.seed = context().seed,
                           .step = static_cast<uint64_t>(step().step),
                           .worker = 0,
                           .layer = own.id,
                           .purpose = Purpose::kStochastic};
    const auto errors = context().scheme->SquaredErrors(own, error_fed, thetas_, key);
    for (size_t i = 0; i < errors.size(); ++i) errors_[i] += errors[i];
  }

 protected:
  std::string_view Form() const override { return kThetaForms[1]; }
  double ToAnnounce() const override {
    for (size_t i = 0; i < thetas_.size(); ++i) {
      if (errors_[i] <= Allowed() * energy_) return thetas_[i];
    }
    return thetas_.back();
  }
  void CheckAnnounced(double number) const override {
    if (std::ranges::find(thetas_, number) != thetas_.end()) return;
    throw Error("announced theta", FormatNumber(number),
                "one of the " + std::to_string(thetas_.size()) + " thetas that the policy tries");
  }
  void Take(double number) override { SetTheta(number); }
  DecisionGrounds GroundsOf(double number) const override {
    DecisionGrounds grounds{.budget = Allowed()};
    const auto place = std::ranges::find(thetas_, number) - thetas_.begin();
    if (energy_ > 0) grounds.error = errors_[static_cast<size_t>(place)] / energy_;
    grounds.reason = number == thetas_.front()  ? "the anchor's error is allowed"
                     : number == thetas_.back() ? "nothing else is allowed"
                                                : "the most that the rate allows";
    return grounds;
  }
  void StartInterval() override {
    energy_ = 0;
    errors_.assign(thetas_.size(), 0.0);
  }

 private:
  // Returns the fraction of the energy that may be lost.
  double Allowed() const {
    const double rate = step().learning_rate;
    if (smoothness_ > 0) return smoothness_ * rate;
    return highest_rate() > 0 ? rate / (4 * highest_rate()) : 0.25;
  }

  double smoothness_;
  std::vector<double> thetas_;  // descending
  // Results of the measuring step, which are not kept between steps.
  double energy_ = 0;
  std::vector<double> errors_;
};

struct Recovery {
  int64_t patience = 3;
  double factor = 0.5;
  double improvement = 0.01;
};

class RecoveringTheta : public AnnouncedTheta {
 public:
  RecoveringTheta(const PolicyContext& context, int64_t interval, const Recovery& recovery)
      : AnnouncedTheta(context, interval), recovery_(recovery) {}
  PolicyTraits Traits() const override { return {.needs_training = "the loss"}; }

  void OnFeedback(const StepFeedback& feedback) override {
    sum_ += feedback.loss;
    ++count_;
  }

 protected:
  std::string_view Form() const override { return kThetaForms[2]; }
  bool IsDue() const override { return count_ > 0 && AnnouncedTheta::IsDue(); }
  double ToAnnounce() const override { return sum_ / count_; }
  void CheckAnnounced(double number) const override {
    if (!std::isfinite(number)) throw Error("announced loss", FormatNumber(number), "finite");
  }
  void Take(double loss) override {
    if (!started_ || loss < best_ - recovery_.improvement * std::abs(best_)) {
      started_ = 1;
      best_ = loss;
      stalled_ = 0;
      return;
    }
    if (++stalled_ < static_cast<double>(recovery_.patience)) return;
    stalled_ = 0;
    constexpr double kLeast = 0.05;
    const double theta = recovery_.factor * Theta();
    SetTheta(theta < kLeast ? 0 : theta);
  }
  DecisionGrounds GroundsOf(double loss) const override {
    DecisionGrounds grounds{.error = loss};
    if (started_) grounds.budget = best_ - recovery_.improvement * std::abs(best_);
    const bool better = !started_ || loss < grounds.budget;
    const bool patient = stalled_ + 1 < static_cast<double>(recovery_.patience);
    grounds.reason = better    ? "the loss fell"
                     : patient ? "the loss stalls"
                               : "the loss stalled for too long";
    return grounds;
  }
  void StartInterval() override { sum_ = count_ = 0; }
  std::vector<double> Numbers() const override {
    return {highest_rate(), Theta(), sum_, count_, started_, best_, stalled_};
  }
  void SetNumbers(std::span<const double> numbers) override {
    AnnouncedTheta::SetNumbers(numbers);
    sum_ = numbers[2];
    count_ = numbers[3];
    started_ = numbers[4];
    best_ = numbers[5];
    stalled_ = numbers[6];
  }

 private:
  Recovery recovery_;
  double sum_ = 0;  // sum of worker 0's losses since the last announcement
  double count_ = 0;
  double started_ = 0;  // 1 if there is a best loss
  double best_ = 0;
  double stalled_ = 0;  // number of announcements in a row
};

std::unique_ptr<Policy> MakeTheta(const OptionReader& options, const PolicyContext& context) {
  const ParameterSpec& spec = context.scheme->Parameter();
  if (spec.Kind() != ParameterKind::kTheta) {
    throw Error("policy theta with a scheme whose parameter is", spec.name,
                "theta, as of codec fft");
  }
  CheckParameter(spec, context.parameter);
  const int64_t interval = options.Steps("interval", 1, context.total_steps);
  const double smoothness = NumberOrAuto(options, "smoothness", 0, 1e-9, 1e9);
  const Recovery recovery = {.patience = options.Integer("patience", 1, kMostSteps),
                             .factor = options.Number("factor", 0, 1),
                             .improvement = options.Number("improvement", 0, 1)};
  switch (options.Choice("form", kThetaForms)) {
    case 0:
      return std::make_unique<RateTheta>(context);
    case 1:
      return std::make_unique<MeasuredTheta>(context, interval, smoothness);
    default:
      return std::make_unique<RecoveringTheta>(context, interval, recovery);
  }
}

}  // namespace

PolicyRow ThetaRow() {
  return {
      {.name = "theta",
       .help = "lowers theta as the learning rate falls, as the measured error requires, or when "
               "the loss stalls",
       .paper = "Wang et al., FFT-based Gradient Sparsification for the Distributed Training of "
                "Deep Neural Networks, HPDC 2020",
       .options =
           {{"form", "lr", "lr, measured, recover",
             "what theta follows: the learning rate, the measured error, or the loss"},
            {"interval", "10", "1 to 2^53, or a part of the run",
             "number of steps between announcements"},
            {"smoothness", "auto", "auto, 1e-9 to 1e9",
             "form=measured: smoothness L of the loss; auto: 1 / (4 times the highest learning "
             "rate)"},
            {"patience", "3", "1 to 2^53",
             "form=recover: number of announcements without a lower loss before theta is lowered"},
            {"factor", "0.5", "0 to 1", "form=recover: factor on theta when the loss stalls"},
            {"improvement", "0.01", "0 to 1",
             "form=recover: least relative decrease that counts as a lower loss"}}},
      MakeTheta};
}

}  // namespace legacy
