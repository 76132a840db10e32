#include "trainer/calibration/scheme_speed.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <span>

#include "base/median.h"
#include "compress/gradients/gradients.h"
#include "trainer/calibration/lone_kernels.h"

namespace legacy {
namespace {

// Exceeded by 1 % of the values of an exponential tail of scale 1.
constexpr double kThreshold = 4.6;

// Returns the time that reading the clock takes.
double ClockSeconds() {
  std::vector<double> costs;
  for (int i = 0; i < 101; ++i) {
    const double start = ProcessorSeconds();
    costs.push_back(ProcessorSeconds() - start);
  }
  return Median(costs);
}

// A Noise gives gradients that differ from step to step and sum to zero over time, as noise does,
// without work between the steps. They are parts of one vector, or of its negative, that begin at a
// different position in each step.
class Noise {
 public:
  Noise(int64_t numel, uint32_t worker) : numel_(numel) {
    const int64_t all = numel + kShift * kPeriod;
    values_ = DrawGradient("laplace:n=" + std::to_string(all), worker);
    for (const float x : values_) negative_.push_back(-x);
  }
  std::span<const float> At(int64_t step) const {
    const std::vector<float>& from = step / kPeriod % 2 == 0 ? values_ : negative_;
    return std::span(from).subspan(step % kPeriod * kShift, numel_);
  }

 private:
  static constexpr int64_t kPeriod = 61, kShift = 16;

  int64_t numel_;
  std::vector<float> values_, negative_;
};

// A SchemeRun runs steps of an exchange and sums their times.
class SchemeRun {
 public:
  SchemeRun(const SchemeCase& one, int64_t numel, int workers)
      : parameter_(one.parameter), workers_(workers), mean_(numel) {
    const int64_t side = int64_t{1} << std::countr_zero(static_cast<uint64_t>(numel)) / 2;
    assert(side * side == numel);
    const auto scheme = MakeScheme(one.scheme, {.error_feedback = one.error_feedback});
    Unit unit;
    unit.name = "measured";
    unit.shape = {side, side};
    unit.numel = numel;
    exchange_ = scheme->Open(unit, workers);
    for (int w = 0; w < workers; ++w) noise_.emplace_back(numel, w);
  }

  void Step() {
    const auto begin = [&] {
      exchange_->Begin(
          {.info = {.seed = 1, .step = step_, .learning_rate = 0.1}, .parameter = parameter_});
    };
    total_.decode_seconds += Timed(begin);
    bool first = true;
    while (const std::optional<CollectiveCall> call = exchange_->NextCall()) {
      RunCall(*call, first);
      first = false;
    }
    total_.decode_seconds += Timed([&] { exchange_->Mean(mean_); });
    ++step_;
    ++steps_;
  }
  void Reset() {
    total_ = {};
    steps_ = 0;
  }
  // Returns the mean step since Reset(), as the number of values that are sent may change from step
  // to step.
  SchemeStep Mean() const {
    SchemeStep mean = total_;
    mean.encode_seconds /= static_cast<double>(steps_);
    mean.decode_seconds /= static_cast<double>(steps_);
    for (WorkList* list : {&mean.encode, &mean.decode}) {
      for (Work& work : *list) {
        work.elements /= steps_;
        work.launches /= steps_;
        work.sets /= steps_;
      }
    }
    return mean;
  }
  // True if the network summed in all collective calls; receivers then have one message.
  bool summed() const { return summed_; }

 private:
  void RunCall(const CollectiveCall& call, bool first) {
    std::vector<Message> messages(workers_);
    const auto encode = [&] {
      for (int w = 0; w < workers_; ++w) {
        messages[w] = exchange_->Encode(w, first ? noise_[w].At(step_) : std::span<const float>());
      }
    };
    const auto accumulate = [&] {
      for (int w = 0; w < workers_; ++w) exchange_->Accumulate(w, messages[w].bytes);
    };
    total_.encode_seconds += Timed(encode) / workers_;
    const bool summed = call.collective == Collective::kAllReduce;
    summed_ = summed_ && summed;
    total_.decode_seconds += Timed(accumulate) / (summed ? workers_ : 1);
    total_.decode_seconds += Timed([&] { exchange_->FinishCall(); });
    AddWork(call.encode, total_.encode);
    AddWork(call.decode, total_.decode);
  }

  template <class Body>
  double Timed(Body body) const {
    const double start = ProcessorSeconds();
    body();
    return std::max(0.0, ProcessorSeconds() - start - clock_seconds_);
  }

  double parameter_;
  int workers_;
  std::unique_ptr<Exchange> exchange_;
  std::vector<Noise> noise_;
  std::vector<float> mean_;
  int64_t step_ = 0;
  SchemeStep total_;
  int64_t steps_ = 0;  // number of steps in `total_`
  bool summed_ = true;
  double clock_seconds_ = ClockSeconds();
};

// Returns a run after some warm-up steps. One worker is enough if receivers only decode a sum.
SchemeRun MakeRun(const SchemeCase& one, int64_t numel, int workers) {
  constexpr int kWarmUp = 3;
  SchemeRun trial(one, numel, workers);
  trial.Step();
  SchemeRun run(one, numel, trial.summed() ? 1 : workers);
  for (int i = 0; i < kWarmUp; ++i) run.Step();
  return run;
}

struct Runs {
  std::vector<double> encode, decode;  // seconds of a step
};

SchemeStep MeanStep(SchemeRun& run, double seconds) {
  run.Reset();
  const double start = ProcessorSeconds();
  do {
    run.Step();
  } while (ProcessorSeconds() - start < seconds);
  return run.Mean();
}

}  // namespace

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<SchemeCase> CasesOf(const std::string& scheme) {
  const auto kept = MakeScheme(scheme, {.error_feedback = true});
  const ParameterSpec& spec = kept->Parameter();
  const double parameter = spec.Kind() == ParameterKind::kDensity ? kMeasuredDensity
                           : spec.name == "threshold"             ? kThreshold
                                                                  : spec.fallback;
  std::vector<SchemeCase> cases;
  if (!kept->Traits().needs_error_feedback) cases.push_back({scheme, false, parameter});
  if (kept->UsesErrorFeedback(parameter)) cases.push_back({scheme, true, parameter});
  return cases;
}

std::vector<SchemeCase> MeasuredSchemes() {
  std::vector<SchemeCase> cases;
  for (const std::string& name : SchemeNames()) {
    // A step of sums by hops computes what all workers do, one after the other (lone_kernels.h).
    if (name == "dynamiq") continue;
    const bool by_size = name == "redsync";
    std::ranges::copy(CasesOf(by_size ? name + ":small=0,large=0,reuse=1" : name),
                      std::back_inserter(cases));
  }
  std::ranges::copy(CasesOf("qsgd:code=elias"), std::back_inserter(cases));
  return cases;
}

std::vector<SchemeStep> MeasureSchemes(const std::vector<SchemeCase>& cases, int64_t numel,
                                       int workers, const Repetition& repetition) {
  constexpr int kTurns = 3;
  const int turns = std::min(kTurns, repetition.runs);
  std::vector<Runs> all(cases.size());
  std::vector<SchemeStep> steps(cases.size());
  for (int turn = 0; turn < turns; ++turn) {
    for (size_t i = 0; i < cases.size(); ++i) {
      SchemeRun run = MakeRun(cases[i], numel, workers);
      for (int r = 0; r < repetition.runs / turns; ++r) {
        steps[i] = MeanStep(run, repetition.seconds);
        all[i].encode.push_back(steps[i].encode_seconds);
        all[i].decode.push_back(steps[i].decode_seconds);
      }
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    steps[i].encode_seconds = Median(all[i].encode);
    steps[i].decode_seconds = Median(all[i].decode);
  }
  return steps;
}

}  // namespace legacy
