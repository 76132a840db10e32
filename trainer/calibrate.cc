#include "trainer/calibrate.h"

#include <time.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "compress/codec.h"
#include "compress/cpu/histogram.h"
#include "compress/cpu/spectrum.h"
#include "compress/cpu/vector.h"
#include "compress/policies/knapsack.h"
#include "compress/random.h"
#include "compress/schemes/low_rank.h"
#include "trainer/one_thread.h"
#include "trainer/operations.h"
#include "trainer/optimizer.h"

namespace legacy {
namespace {

// Sizes of two units: the line through both times separates launch from elements. Both exceed the
// caches' first level and stay within what layers of the shipped models have.
constexpr int64_t kSmallUnit = 1 << 10;
constexpr int64_t kLargeUnit = 1 << 20;
constexpr double kDensity = 0.01;  // of the sparsifiers, where decoding is priced per kept value

class ProcessorTime {
 public:
  explicit ProcessorTime(const CalibrationOptions& options) : options_(options) {}

  // Median seconds of one call of `work`, over runs of as many calls as fill a run.
  double Seconds(const std::function<void()>& work) const {
    work();  // caches, allocations and the libraries' own first-call work
    int64_t calls = 1;
    while (Run(work, calls) < options_.seconds_per_run) calls *= 2;
    std::vector<double> times;
    for (int run = 0; run < options_.runs; ++run) times.push_back(Run(work, calls) / calls);
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  }

 private:
  // Processor time: other programs on the machine do not count, threads of a library would.
  static double Now() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  static double Run(const std::function<void()>& work, int64_t calls) {
    const double start = Now();
    for (int64_t i = 0; i < calls; ++i) work();
    return Now() - start;
  }

  const CalibrationOptions& options_;
};

std::vector<float> Gaussian(int64_t numel) {
  RandomStream random({.seed = 1, .step = 0, .worker = 0, .layer = 0, .purpose = Purpose::kTest});
  std::vector<float> values(static_cast<size_t>(numel));
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

// The only kernel of `work` that costs something; none where there are several or none.
std::optional<Work> Priced(const WorkList& work) {
  std::optional<Work> priced;
  for (const Work& entry : work) {
    if (entry.kernel.empty()) continue;
    if (priced) return std::nullopt;
    priced = entry;
  }
  return priced;
}

KernelRate MeasureEncode(const ProcessorTime& watch, const Codec& codec, double parameter) {
  const auto seconds = [&](int64_t numel) {
    const std::vector<float> gradient = Gaussian(numel);
    std::vector<float> values(gradient.size());
    return watch.Seconds([&] {
      // Error feedback: what is encoded is gradient plus residual, and the residual is left behind.
      codec.EncodeWithFeedback(gradient, values, {.unit = 0, .parameter = parameter, .random = {}});
    });
  };
  const auto elements = [&](int64_t numel) {
    return Priced(codec.EncodeWork(numel, parameter))->elements;
  };
  return LineThrough(elements(kSmallUnit), seconds(kSmallUnit), elements(kLargeUnit),
                     seconds(kLargeUnit));
}

KernelRate MeasureDecode(const ProcessorTime& watch, const Codec& codec, double parameter) {
  const auto seconds = [&](int64_t numel) {
    const CodecContext context{.unit = 0, .parameter = parameter, .random = {}};
    const Message message = codec.Encode(Gaussian(numel), context);
    std::vector<float> sum(static_cast<size_t>(numel));
    return watch.Seconds([&] { codec.DecodeAdd(message.bytes, context, sum); });
  };
  const auto elements = [&](int64_t numel) {
    return Priced(codec.DecodeWork(numel, parameter))->elements;
  };
  return LineThrough(elements(kSmallUnit), seconds(kSmallUnit), elements(kLargeUnit),
                     seconds(kLargeUnit));
}

// Every codec's own kernels; free work has none.
void MeasureCodecs(const ProcessorTime& watch, Profile& profile) {
  for (const std::string& name : CodecNames()) {
    const std::unique_ptr<Codec> codec = MakeCodec(name);
    const double parameter =
        codec->Parameter().name == "density" ? kDensity : codec->Parameter().fallback;
    const auto encode = Priced(codec->EncodeWork(kLargeUnit, parameter));
    const auto decode = Priced(codec->DecodeWork(kLargeUnit, parameter));
    // Codecs of one kernel share its rate: the first that has it alone is measured.
    if (encode && !profile.kernels.contains(encode->kernel)) {
      profile.kernels[encode->kernel] = MeasureEncode(watch, *codec, parameter);
    }
    if (decode && !profile.kernels.contains(decode->kernel)) {
      profile.kernels[decode->kernel] = MeasureDecode(watch, *codec, parameter);
    }
  }
}

// Of a kernel whose work is `elements(size)` and one call of which is `call(size)`, already set up.
KernelRate MeasureCalls(const ProcessorTime& watch, int64_t small, int64_t large,
                        const std::function<int64_t(int64_t)>& elements,
                        const std::function<std::function<void()>(int64_t)>& prepare) {
  const double small_seconds = watch.Seconds(prepare(small));
  const double large_seconds = watch.Seconds(prepare(large));
  return LineThrough(elements(small), small_seconds, elements(large), large_seconds);
}

void MeasureStatistics(const ProcessorTime& watch, Profile& profile) {
  const auto itself = [](int64_t numel) { return numel; };
  profile.kernels["accumulate"] =
      MeasureCalls(watch, kSmallUnit, kLargeUnit, itself, [](int64_t numel) {
        auto sum = std::make_shared<std::vector<float>>(numel);
        return [sum, values = Gaussian(numel)] { cpu::Add(values, *sum); };
      });
  profile.kernels["histogram"] =
      MeasureCalls(watch, kSmallUnit, kLargeUnit, itself, [](int64_t numel) {
        auto histogram = std::make_shared<cpu::MagnitudeHistogram>();
        return [histogram, values = Gaussian(numel)] {
          histogram->Clear();
          histogram->Add(values);
        };
      });
}

void MeasureSpectra(const ProcessorTime& watch, Profile& profile) {
  constexpr int64_t kChunk = 4096;  // as the codec's default
  const auto plan = std::make_shared<cpu::SpectrumPlan>(kChunk);
  const auto itself = [](int64_t numel) { return numel; };
  profile.kernels["fft.forward"] =
      MeasureCalls(watch, kChunk, kLargeUnit, itself, [&](int64_t numel) {
        const auto out = std::make_shared<std::vector<float>>(3 * plan->Bins(numel));
        return [plan, out, values = Gaussian(numel)] {
          float* const re = out->data();
          const size_t bins = out->size() / 3;
          plan->Forward(values, 1, re, re + bins, re + 2 * bins);
        };
      });
  profile.kernels["fft.inverse"] =
      MeasureCalls(watch, kChunk, kLargeUnit, itself, [&](int64_t numel) {
        std::vector<uint32_t> positions;
        for (int64_t bin = 0; bin < plan->Bins(numel); bin += 7) {
          positions.push_back(static_cast<uint32_t>(bin));
        }
        const auto sum = std::make_shared<std::vector<float>>(numel);
        const auto pairs = Gaussian(2 * static_cast<int64_t>(positions.size()));
        return [plan, sum, positions, pairs] { plan->InverseAdd(positions, pairs, *sum); };
      });
}

// Square matrices of `side`, at rank 4.
void MeasureFactors(const ProcessorTime& watch, Profile& profile) {
  constexpr int64_t kRank = 4;
  const auto shape = [](int64_t side) { return MatrixShape{side, side}; };
  profile.kernels["powersgd.multiply"] = MeasureCalls(
      watch, 32, 1024, [](int64_t side) { return side * side * kRank; },
      [&](int64_t side) {
        const auto out = std::make_shared<std::vector<float>>(side * kRank);
        return [=, matrix = Gaussian(side * side), vectors = Gaussian(side * kRank)] {
          Multiply(matrix, shape(side), vectors, *out);
        };
      });
  profile.kernels["orthonormalise"] = MeasureCalls(
      watch, 32, 4096, [](int64_t length) { return length * kRank; },
      [&](int64_t length) {
        const auto vectors = std::make_shared<std::vector<float>>();
        return [=, start = Gaussian(length * kRank)] {
          *vectors = start;
          Orthonormalise(*vectors, length);
        };
      });
}

// L-GreCo's knapsack of `units` layers with 7 options, 10,000 steps of the budget.
void MeasureSolver(const ProcessorTime& watch, Profile& profile) {
  constexpr int64_t kOptions = 7;
  constexpr int64_t kSteps = 10000;
  profile.kernels["lgreco.solve"] = MeasureCalls(
      watch, 10, 60, [](int64_t units) { return units * kOptions * kSteps; },
      [&](int64_t units) {
        OptionTable errors(units, kOptions), costs(units, kOptions);
        RandomStream random({.seed = 2, .purpose = Purpose::kTest});
        for (int64_t u = 0; u < units; ++u) {
          for (int64_t o = 0; o < kOptions; ++o) {
            errors.At(u, o) = random.Uniform() / static_cast<double>(1 + o);
            costs.At(u, o) = random.Uniform() * static_cast<double>(1 + o);
          }
        }
        const double budget = 0.3 * static_cast<double>(units);
        return [=] { SolveKnapsack(errors, costs, budget, kSteps); };
      });
}

void MeasureOptimizer(const ProcessorTime& watch, Profile& profile) {
  const auto seconds = [&](int64_t numel) {
    Sgd sgd(numel, {});
    const std::vector<float> gradient = Gaussian(numel);
    std::vector<float> weights(gradient.size());
    return watch.Seconds([&] { sgd.Update(weights, gradient, 0, 1e-3); });
  };
  profile.kernels[kOptimizerKernel] =
      LineThrough(kSmallUnit, seconds(kSmallUnit), kLargeUnit, seconds(kLargeUnit));
}

}  // namespace

Profile Calibrate(const CalibrationOptions& options) {
  UseOneThread();
  const ProcessorTime watch(options);
  Profile profile;
  profile.name = options.name;
  profile.source =
      "measured (" + options.machine + "; " + options.command + "; " + options.date + ")";
  MeasureOperations([&](const auto& work) { return watch.Seconds(work); }, /*gpu=*/false, profile);
  MeasureCodecs(watch, profile);
  MeasureStatistics(watch, profile);
  MeasureSpectra(watch, profile);
  MeasureFactors(watch, profile);
  MeasureSolver(watch, profile);
  MeasureOptimizer(watch, profile);
  return profile;
}

}  // namespace legacy
