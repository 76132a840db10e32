#include "compress/gradients/gradients.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace legacy {
namespace {

// Largest size that text may request: 4 GB of values.
constexpr int64_t kMostValues = int64_t{1} << 30;

// Prepends the options of all rows to a row's own.
std::vector<OptionSpec> WithCommon(std::vector<OptionSpec> own) {
  own.insert(own.begin(), {{"n", "1e6", "0 to 2^30", "number of values"},
                           {"seed", "1", "whole numbers", "seed of the random numbers"}});
  return own;
}

float Sign(RandomStream& stream) { return stream.NextU32() % 2 == 0 ? 1.0f : -1.0f; }
// Returns a number in (0, 1].
double PositiveUniform(RandomStream& stream) { return 1 - stream.Uniform(); }

void Gaussian(const OptionReader&, RandomStream& stream, std::span<float> values) {
  for (float& x : values) x = static_cast<float>(stream.Normal());
}

void Laplace(const OptionReader&, RandomStream& stream, std::span<float> values) {
  for (float& x : values) {
    x = Sign(stream) * static_cast<float>(-std::log(PositiveUniform(stream)));
  }
}

// Draws as in Bailey, "Polar generation of random variates with the t-distribution", Math. Comp. 62
// (1994).
void StudentT(const OptionReader& options, RandomStream& stream, std::span<float> values) {
  const double freedom = options.Number("freedom", 0.5, 1e6);
  for (float& x : values) {
    const double radius =
        std::sqrt(freedom * (std::pow(PositiveUniform(stream), -2 / freedom) - 1));
    const double drawn = radius * std::cos(2 * std::numbers::pi * stream.Uniform());
    // With few degrees of freedom the tails are unbounded.
    constexpr double kLargest = 1e30;
    x = static_cast<float>(std::clamp(drawn, -kLargest, kLargest));
  }
}

void LogNormal(const OptionReader& options, RandomStream& stream, std::span<float> values) {
  const double sigma = options.Number("sigma", 0, 8);
  for (float& x : values) {
    x = Sign(stream) * static_cast<float>(std::exp(sigma * stream.Normal()));
  }
}

void Zeros(const OptionReader& options, RandomStream& stream, std::span<float> values) {
  const double share = options.Number("share", 0, 1);
  for (float& x : values) {
    const double drawn = stream.Normal();
    x = stream.Uniform() < share ? 0.0f : static_cast<float>(drawn);
  }
}

void Constant(const OptionReader& options, RandomStream&, std::span<float> values) {
  std::ranges::fill(values, static_cast<float>(options.Number("value", -1e30, 1e30)));
}

void Denormals(const OptionReader&, RandomStream& stream, std::span<float> values) {
  constexpr uint32_t kSignAndMantissa = 0x807FFFFFu;
  for (float& x : values) x = std::bit_cast<float>(stream.NextU32() & kSignAndMantissa);
}

void Ties(const OptionReader& options, RandomStream& stream, std::span<float> values) {
  const auto levels = static_cast<double>(options.Integer("levels", 1, 1 << 20));
  for (float& x : values) {
    x = static_cast<float>(std::round(std::clamp(stream.Normal(), -1.0, 1.0) * levels));
  }
}

void Mixed(const OptionReader& options, RandomStream& stream, std::span<float> values) {
  const auto layers = static_cast<size_t>(options.Integer("layers", 1, 1 << 20));
  const double decades = options.Number("decades", 0, 30);
  const size_t length = std::max<size_t>(1, (values.size() + layers - 1) / layers);
  double scale = 1;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % length == 0) scale = std::pow(10.0, -decades * stream.Uniform());
    values[i] = static_cast<float>(scale * stream.Normal());
  }
}

// Adds waves with whole periods and amplitudes that fall as 1 / wave, and a little noise.
void Smooth(const OptionReader& options, RandomStream& stream, std::span<float> values) {
  const int64_t waves = options.Integer("waves", 1, 1000);
  const double noise = options.Number("noise", 0, 1e6);
  std::vector<double> phases(static_cast<size_t>(waves));
  for (double& phase : phases) phase = stream.Uniform();
  for (size_t i = 0; i < values.size(); ++i) {
    double sum = noise * stream.Normal();
    for (size_t wave = 1; wave <= phases.size(); ++wave) {
      // Whole turns are removed before the cosine, so that its argument stays small.
      const double turns =
          static_cast<double>(wave * i % values.size()) / static_cast<double>(values.size());
      sum +=
          std::cos(2 * std::numbers::pi * (turns + phases[wave - 1])) / static_cast<double>(wave);
    }
    values[i] = static_cast<float>(sum);
  }
}

GradientRow Row(const char* name, const char* help, std::vector<OptionSpec> options,
                decltype(GradientRow::fill) fill) {
  return {{.name = name, .help = help, .paper = "", .options = WithCommon(std::move(options))},
          fill};
}

std::vector<GradientRow> MakeTable() {
  return {Row("gaussian", "values from a normal distribution", {}, Gaussian),
          Row("laplace", "values from a Laplace distribution, which has exponential tails", {},
              Laplace),
          Row("student-t", "values from Student's t-distribution, which has heavy tails",
              {{"freedom", "3", "0.5 to 1e6", "degrees of freedom"}}, StudentT),
          Row("lognormal", "log-normal magnitudes of either sign, which have very heavy tails",
              {{"sigma", "2", "0 to 8", "standard deviation of the logarithm"}}, LogNormal),
          Row("zeros", "mostly exact zeros, the others from a normal distribution",
              {{"share", "90%", "0 to 1", "fraction of exact zeros"}}, Zeros),
          Row("constant", "the same value everywhere",
              {{"value", "0.5", "-1e30 to 1e30", "value of all elements"}}, Constant),
          Row("denormals", "denormal numbers, and zeros of either sign", {}, Denormals),
          Row("ties", "values of few distinct magnitudes",
              {{"levels", "4", "1 to 2^20", "number of distinct magnitudes besides zero"}}, Ties),
          Row("mixed", "layers of equal size with very different scales",
              {{"layers", "20", "1 to 2^20", "number of layers"},
               {"decades", "8", "0 to 30", "number of decades that the scales span"}},
              Mixed),
          Row("smooth", "a few sine waves and noise, which transforms compress best",
              {{"waves", "20", "1 to 1000", "number of sine waves"},
               {"noise", "0.01", "0 to 1e6", "standard deviation of the normal noise"}},
              Smooth)};
}

}  // namespace

std::span<const GradientRow> GradientTable() {
  static const std::vector<GradientRow> table = MakeTable();
  return table;
}

std::vector<float> DrawGradient(std::string_view text, uint32_t worker, uint64_t step,
                                uint32_t layer) {
  const std::vector<Stage> stages = ParseStages(text);
  if (stages.size() > 1) throw Error("gradient", std::string(text), "one name with options");
  const GradientRow& row = FindRow("gradient", stages.front().name, GradientTable());
  const OptionReader options(stages.front(), row.info.options);
  // Whole numbers up to this limit are exact in text.
  constexpr int64_t kMostSeeds = int64_t{1} << 53;
  RandomStream stream({.seed = static_cast<uint64_t>(options.Integer("seed", 0, kMostSeeds)),
                       .step = step,
                       .worker = worker,
                       .layer = layer,
                       .purpose = Purpose::kGradient});
  std::vector<float> values(static_cast<size_t>(options.Integer("n", 0, kMostValues)));
  row.fill(options, stream, values);
  return values;
}

const RealGradient& FindRealGradient(std::string_view name) {
  std::vector<std::string> known;
  for (const RealGradient& gradient : RealGradients()) {
    if (gradient.name == name) return gradient;
    known.emplace_back(gradient.name);
  }
  if (known.empty()) known.emplace_back("none: none was compiled in");
  ThrowUnknown("gradient", name, known);
}

}  // namespace legacy
