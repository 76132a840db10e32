// L-GreCo as a policy, alone and with Accordion's reference; knapsack_test.cc tests its solver.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "compress/policies/parameter_grid.h"
#include "tests/compress/policy_driver.h"

namespace legacy::lgreco_test {
namespace {

constexpr double kDensity = 0.02;

PolicyContext Context(const std::vector<int64_t>& sizes, double parameter = kDensity) {
  return {.scheme = nullptr,
          .units = test::MakeUnits(sizes),
          .workers = 2,
          .total_steps = 40,
          .steps_per_epoch = 8,
          .parameter = parameter,
          .seed = 5};
}

StepInfo At(int64_t step, double rate = 0.1) {
  return {.step = step, .total_steps = 40, .learning_rate = rate, .steps_per_epoch = 8};
}

// Returns the sums over units of ||G - C(G)|| and of bytes, at each unit's own parameter.
std::pair<double, double> ErrorAndBytes(const Scheme& scheme, const std::vector<Unit>& units,
                                        std::span<const float> gradient,
                                        std::span<const double> parameters) {
  double error = 0;
  double bytes = 0;
  for (size_t u = 0; u < units.size(); ++u) {
    const auto part = gradient.subspan(units[u].offset, units[u].numel);
    const std::vector<double> one = {parameters[u]};
    error += std::sqrt(scheme.SquaredErrors(units[u], part, one, {})[0]);
    bytes += static_cast<double>(*scheme.MessageBytes(units[u], parameters[u]));
  }
  return {error, bytes};
}

TEST(Lgreco, StaysWithinTheUniformErrorWithFewerBytes) {
  const auto context = Context({3000, 50, 2000, 40000, 10});
  test::PolicyDriver driver("lgreco:period=6,start=4,accumulate=3", "topk", context);
  const auto gradients = test::NormalGradients(context.units);
  std::vector<float> sum;
  std::vector<double> decided(5, kDensity);
  int decisions = 0;
  for (int64_t step = 0; step < 24; ++step) {
    const bool due = step >= 3 && (step - 3) % 6 == 0;
    if (step == 1 || (step >= 7 && (step - 7) % 6 == 0)) sum.assign(45060, 0);
    std::vector<float> local = gradients(step, 0);
    for (size_t u = 0; u < 5; ++u) {
      const auto residual = driver.exchange(u).Residual(0);
      for (size_t i = 0; i < residual.size(); ++i) {
        local[context.units[u].offset + i] += residual[i];
      }
    }
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += local[i];
    const auto result = driver.Step(At(step), gradients);
    EXPECT_EQ(result.parameters, decided) << step;
    EXPECT_EQ(result.announcement.empty(), !due) << step;
    if (!due) continue;
    ++decisions;
    EXPECT_EQ(result.announcement.size(), 16u + 5);
    driver.policy().Decide(At(step + 1), context.units, decided);
    const auto [error, bytes] = ErrorAndBytes(driver.scheme(), context.units, sum, decided);
    const auto [uniform_error, uniform_bytes] =
        ErrorAndBytes(driver.scheme(), context.units, sum, std::vector<double>(5, kDensity));
    // The policy's sum is a mean, which rounds differently.
    EXPECT_LE(error, uniform_error * (1 + 1e-5));
    EXPECT_LT(bytes, uniform_bytes);
  }
  EXPECT_EQ(decisions, 4);
}

TEST(Lgreco, FirstDecisionAfterAnEpochByDefault) {
  const auto context = Context({300, 200});
  test::PolicyDriver driver("lgreco", "topk", context);
  const auto gradients = test::NormalGradients(context.units);
  for (int64_t step = 0; step < 24; ++step) {
    EXPECT_EQ(driver.Step(At(step), gradients).announcement.empty(), step % 8 != 7) << step;
  }
}

TEST(Lgreco, ZeroGradientsTakeTheLeastParameter) {
  const auto context = Context({1000, 1000});
  test::PolicyDriver driver("lgreco:period=2,accumulate=1", "topk", context);
  const auto gradients = [&](int64_t step, int worker) {
    auto flat = test::NormalGradients(context.units)(step, worker);
    std::fill_n(flat.begin(), 1000, 0.0f);
    return flat;
  };
  driver.Step(At(0), gradients);
  driver.Step(At(1), gradients);
  const auto parameters = driver.Step(At(2), gradients).parameters;
  EXPECT_DOUBLE_EQ(parameters[0], kDensity / 8);
  EXPECT_GE(parameters[1], kDensity);
}

TEST(Lgreco, MeanGradientsReplaceLocalOnes) {
  const auto context = Context({3000, 500});
  test::PolicyDriver driver("lgreco:period=4,source=mean,accumulate=2", "topk", context);
  const auto gradients = test::NormalGradients(context.units);
  std::vector<float> sum(3500);
  for (int64_t step = 0; step < 4; ++step) {
    const auto result = driver.Step(At(step), gradients);
    EXPECT_FALSE(driver.policy().ReadsLocalGradient());
    // The mean of the deciding step comes too late to count.
    if (step == 1 || step == 2) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += result.mean[i];
    }
  }
  std::vector<double> decided(2);
  driver.policy().Decide(At(4), context.units, decided);
  const std::vector<double> uniform(2, kDensity);
  EXPECT_NE(decided, uniform);
  const auto [error, bytes] = ErrorAndBytes(driver.scheme(), context.units, sum, decided);
  const auto [most, all] = ErrorAndBytes(driver.scheme(), context.units, sum, uniform);
  EXPECT_LE(error, most * (1 + 1e-5));
  EXPECT_LT(bytes, all);
}

TEST(Lgreco, HiddenTransfersLeaveTheirErrorToOthers) {
  const auto context = Context({4000, 4000, 4000});
  const auto gradients = [&](int64_t step, int worker) {
    auto flat = test::Normals(12000, static_cast<uint64_t>(step * 10 + worker + 1));
    return flat;
  };
  std::vector<double> by_bytes;
  std::vector<double> by_time;
  for (const std::string cost : {"bytes", "time"}) {
    test::PolicyDriver driver("lgreco:period=3,cost=" + cost, "topk", context);
    EXPECT_EQ(driver.policy().Traits().reads_clock, cost == "time");
    const std::vector<double> bytes = {800, 800, 800};
    const std::vector<double> exposed = {0, 2e-3, 2e-3};
    for (int64_t step = 0; step < 3; ++step) {
      StepFeedback feedback;
      feedback.unit_bytes = bytes;
      feedback.unit_exposed_seconds = exposed;
      driver.Step(At(step), gradients, feedback);
    }
    auto& decided = cost == "time" ? by_time : by_bytes;
    decided.resize(3);
    driver.policy().Decide(At(3), context.units, decided);
  }
  EXPECT_DOUBLE_EQ(by_time[0], 8 * kDensity);  // sending less of the hidden unit gains nothing
  EXPECT_LT(by_time[1] + by_time[2], by_bytes[1] + by_bytes[2]);
}

// Returns the least cost of all choices from a grid with at most the error of `reference`, and the
// cost and error of the parameters that were decided.
struct Compared {
  double least = 1e300;
  double cost = 0;
  double error = 0;
  double budget = 0;
};

Compared CompareAll(const ParameterGrid& grid, const std::vector<std::vector<double>>& errors,
                    const std::vector<std::vector<double>>& costs, const Choices& reference,
                    std::span<const double> decided) {
  Compared all;
  const size_t units = errors.size(), options = errors[0].size();
  for (size_t u = 0; u < units; ++u) {
    all.budget += errors[u][reference[u]];
    size_t at = 0;
    while (grid.Parameter(u, at) != decided[u]) ++at;
    all.cost += costs[u][at];
    all.error += errors[u][at];
  }
  for (size_t code = 0; code < static_cast<size_t>(std::pow(options, units)); ++code) {
    double cost = 0, error = 0;
    for (size_t u = 0, rest = code; u < units; ++u, rest /= options) {
      cost += costs[u][rest % options];
      error += errors[u][rest % options];
    }
    if (error <= all.budget) all.least = std::min(all.least, cost);
  }
  return all;
}

// Returns ||x - C(x)|| of each unit for each of its options, from messages.
std::vector<std::vector<double>> ErrorsOfMessages(const ParameterGrid& grid,
                                                  const std::vector<Unit>& units,
                                                  std::span<const float> gradient) {
  const auto codec = MakeCodec("topk");
  std::vector<std::vector<double>> errors(units.size());
  for (size_t u = 0; u < units.size(); ++u) {
    const auto x = gradient.subspan(units[u].offset, units[u].numel);
    for (size_t option = 0; option < grid.Options(); ++option) {
      const CodecContext context = {
          .unit = units[u].id, .parameter = grid.Parameter(u, option), .random = {}};
      std::vector<float> decoded(x.size());
      codec->DecodeAdd(codec->Encode(x, context).bytes, context, decoded);
      double error = 0;
      for (size_t i = 0; i < x.size(); ++i) error += std::pow(double{x[i]} - decoded[i], 2);
      errors[u].push_back(std::sqrt(error));
    }
  }
  return errors;
}

// cost=time: seconds are bytes times the slope of exposed seconds over bytes, through zero, and a
// hidden unit costs nothing. All choices are compared.
TEST(Lgreco, TimeIsLeastOfAllChoices) {
  const auto context = Context({4000, 9000, 600, 2500});
  const auto gradients = test::NormalGradients(context.units);
  test::PolicyDriver driver("lgreco:period=1,start=1,accumulate=1,cost=time,steps=1000000", "topk",
                            context);
  const ParameterGrid grid(driver.scheme(), context.units, kDensity,
                           GridRange{.low = 0.125, .high = 8});
  StepFeedback feedback;
  const std::vector<double> sent = {800, 2000, 100, 500}, exposed = {0, 3e-3, 2e-4, 1e-3};
  feedback.unit_bytes = sent;
  feedback.unit_exposed_seconds = exposed;
  driver.Step(At(0), gradients, feedback);
  std::vector<float> fed;
  const auto flat = gradients(1, 0);
  for (size_t u = 0; u < context.units.size(); ++u) {
    const Unit& unit = context.units[u];
    const auto part =
        driver.exchange(u).ErrorFed(0, std::span(flat).subspan(unit.offset, unit.numel));
    fed.insert(fed.end(), part.begin(), part.end());
  }
  driver.Step(At(1), gradients, feedback);
  std::vector<double> decided(4);
  driver.policy().Decide(At(2), context.units, decided);
  const double slope =
      (2000 * 3e-3 + 100 * 2e-4 + 500 * 1e-3) / (2000. * 2000 + 100 * 100 + 500 * 500);
  std::vector<std::vector<double>> costs(4);
  for (size_t u = 0; u < 4; ++u) {
    for (size_t option = 0; option < grid.Options(); ++option) {
      const auto bytes = *driver.scheme().MessageBytes(context.units[u], grid.Parameter(u, option));
      costs[u].push_back(u == 0 ? 0 : slope * static_cast<double>(bytes));
    }
  }
  const Compared all =
      CompareAll(grid, ErrorsOfMessages(grid, context.units, fed), costs, grid.Nearest(1), decided);
  EXPECT_LE(all.error, all.budget * (1 + 1e-5));
  EXPECT_NEAR(all.cost, all.least, 1e-6 * all.least);
}

// Returns matrices with falling spectra of different spreads, and a vector.
PolicyContext Matrices(double parameter) {
  PolicyContext context = Context({4096, 6400, 2048, 100}, parameter);
  context.units[0].shape = {64, 64};
  context.units[1].shape = {40, 160};
  context.units[2].shape = {2048, 1};
  return context;
}

std::vector<float> FallingSpectra(int64_t step, int worker) {
  std::vector<float> flat = test::Normals(12644, static_cast<uint64_t>(100 * step + worker + 1));
  for (size_t i = 0; i < flat.size(); ++i) {
    const size_t column = i < 4096 ? i % 64 : i % 160;
    flat[i] *=
        (i < 4096 ? 16 : 1) * std::exp(-(i < 4096 ? 0.3f : 0.02f) * static_cast<float>(column));
  }
  return flat;
}

// The time of encoding and decoding beyond a constant is learnt per multiply-add once ranks have
// changed.
TEST(Lgreco, TimeCountsTheWorkOfRanks) {
  const auto context = Matrices(4);
  const std::vector<double> bytes = {800, 800, 800, 400};
  const std::vector<double> exposed = {0, 1e-3, 1e-3, 0};
  double of_hidden[2] = {0, 0};
  for (const bool grows : {false, true}) {
    test::PolicyDriver driver("lgreco:period=2,accumulate=1,cost=time", "powersgd", context);
    std::vector<double> ranks(4);
    for (int64_t step = 0; step < 8; ++step) {
      driver.policy().Decide(At(step), context.units, ranks);
      StepFeedback feedback;
      feedback.unit_bytes = bytes;
      feedback.unit_exposed_seconds = exposed;
      feedback.codec_seconds = 1;  // constant: the launches
      const double amount = 4096 * ranks[0] + 6400 * ranks[1];
      if (grows) feedback.codec_seconds += 1e-3 * amount;
      driver.Step(At(step), FallingSpectra, feedback);
      of_hidden[grows] = ranks[0];
    }
  }
  EXPECT_EQ(of_hidden[0], 8);  // its bytes are hidden
  EXPECT_LT(of_hidden[1], 8);  // its products are not
}

// Training starts dense, by either option; the first decision comes a period after the dense start.
TEST(Lgreco, StartsAfterADenseStart) {
  const auto context = Matrices(4);
  test::PolicyDriver driver("lgreco:period=2,accumulate=1", "powersgd:dense_start=3", context);
  for (int64_t step = 0; step < 8; ++step) {
    const auto result = driver.Step(At(step), FallingSpectra);
    EXPECT_EQ(!result.announcement.empty(), step >= 4 && step % 2 == 0) << step;
    EXPECT_EQ(result.bytes > 4 * 12644, step < 3) << step;
  }
}

TEST(Lgreco, ParametersOfEveryKind) {
  struct Case {
    const char* scheme;
    double anchor;
    double least;
    double most;
  };
  for (const Case& c : {Case{"topk", 0.02, 0.0025, 0.16}, Case{"qsgd", 4, 2, 8},
                        Case{"powersgd", 4, 2, 8}, Case{"fft", 0.85, 0.5, 0.982}}) {
    const auto context = Matrices(c.anchor);
    test::PolicyDriver driver("lgreco:period=2,accumulate=1", c.scheme, context);
    driver.Step(At(0), FallingSpectra);
    driver.Step(At(1), FallingSpectra);
    const std::vector<double> chosen = driver.Step(At(2), FallingSpectra).parameters;
    EXPECT_NE(chosen, std::vector<double>(4, c.anchor)) << c.scheme;
    double bytes = 0;
    double uniform = 0;
    for (size_t u = 0; u < context.units.size(); ++u) {
      EXPECT_GE(chosen[u], c.least) << c.scheme;
      EXPECT_LE(chosen[u], c.most) << c.scheme;
      if (driver.scheme().Parameter().integer) {
        EXPECT_EQ(chosen[u], std::round(chosen[u]));
      }
      if (!driver.scheme().Compresses(context.units[u], c.anchor)) {
        EXPECT_EQ(chosen[u], c.anchor);
      }
      bytes += static_cast<double>(*driver.scheme().MessageBytes(context.units[u], chosen[u]));
      uniform += static_cast<double>(*driver.scheme().MessageBytes(context.units[u], c.anchor));
    }
    EXPECT_LT(bytes, uniform) << c.scheme;
  }
}

TEST(Lgreco, RefusesUnsuitableSchemesAndOptions) {
  for (const auto& [policy, scheme, parameter] :
       {std::tuple{"lgreco", "dense", 1.0}, std::tuple{"lgreco", "threshold", 0.1},
        std::tuple{"lgreco:gamma=2", "topk", 0.1}, std::tuple{"lgreco", "topk", 1.5},
        std::tuple{"lgreco:metric=l3", "topk", 0.1}, std::tuple{"lgreco:eta=1", "topk", 0.1}}) {
    EXPECT_THROW(test::PolicyDriver(policy, scheme, Context({10}, parameter)), Error)
        << policy << " " << scheme;
  }
}

TEST(Lgreco, WorkAndMetrics) {
  const auto context = Context({300, 100});
  for (const std::string metric : {"l2", "l2_sq", "rel_l2"}) {
    test::PolicyDriver driver("lgreco:period=1,steps=1000,metric=" + metric, "topk", context);
    const auto result = driver.Step(At(0), test::NormalGradients(context.units));
    const WorkList local = driver.policy().LocalWork();
    ASSERT_EQ(local.size(), 2u);
    EXPECT_EQ(local[0].elements, 400);      // the sum,
    EXPECT_EQ(local[1].elements, 4 * 400);  // and its sum with the residual
    ASSERT_EQ(result.policy_work.size(), metric == "rel_l2" ? 4u : 3u);
    EXPECT_EQ(result.policy_work[0].kernel, "moved");  // clears the sum
    EXPECT_EQ(result.policy_work[1].kernel, "histogram");
    EXPECT_EQ(result.policy_work.back().kernel, "lgreco.solve");
    EXPECT_EQ(result.policy_work.back().elements, 2 * 13 * 1000);
  }
}

TEST(LgrecoAccordion, ErrorOfTheRegime) {
  const auto context = Context({5000, 5000});
  test::PolicyDriver driver("lgreco-accordion:period=1,accumulate=1", "topk:vectors=on", context);
  // With constant gradients the first decision is critical and the next ones are not.
  const auto constant = [&](int64_t, int) { return test::Normals(10000, 3); };
  const auto first = driver.Step(At(0), constant);
  EXPECT_DOUBLE_EQ(first.parameters[0], 2 * kDensity);  // low compression at the start
  const std::vector<float> gradient = constant(0, 0);
  std::vector<double> decided(2);
  driver.policy().Decide(At(1), context.units, decided);
  const auto low =
      ErrorAndBytes(driver.scheme(), context.units, gradient, std::vector<double>(2, 2 * kDensity));
  EXPECT_LE(ErrorAndBytes(driver.scheme(), context.units, gradient, decided).first,
            low.first * (1 + 1e-5));
}

// The regime of each unit is that of the norms of two decisions, and the choice sends the least of
// all choices with the error of Accordion's.
TEST(LgrecoAccordion, SendsLeastOfAllChoicesInEveryRegime) {
  const auto context = Context({4000, 2500, 900});
  test::PolicyDriver driver("lgreco-accordion:period=1,start=1,accumulate=1,eta=0.5,steps=1000000",
                            "topk", context);
  const ParameterGrid grid(driver.scheme(), context.units, kDensity,
                           GridRange{.low = 0.125, .high = 8});
  std::vector<double> before(3);
  int critical = 0, calm = 0;
  for (int64_t step = 0; step < 10; ++step) {
    const auto gradients = [&](int64_t at, int worker) {
      std::vector<float> flat = test::NormalGradients(context.units)(at, worker);
      // The first unit jumps at times; the others are calm.
      if (at % 3 == 2) {
        for (int64_t i = 0; i < 4000; ++i) flat[static_cast<size_t>(i)] *= 9;
      }
      return flat;
    };
    std::vector<float> fed;
    const auto flat = gradients(step, 0);
    for (size_t u = 0; u < 3; ++u) {
      const Unit& unit = context.units[u];
      const auto part =
          driver.exchange(u).ErrorFed(0, std::span(flat).subspan(unit.offset, unit.numel));
      fed.insert(fed.end(), part.begin(), part.end());
    }
    driver.Step(At(step), gradients);
    std::vector<double> decided(3);
    driver.policy().Decide(At(step + 1), context.units, decided);
    Choices reference = grid.Nearest(0.5);
    std::vector<std::vector<double>> costs(3);
    for (size_t u = 0; u < 3; ++u) {
      double norm = 0;
      for (const float x :
           std::span(fed).subspan(context.units[u].offset, context.units[u].numel)) {
        norm += double{x} * x;
      }
      norm = std::sqrt(norm);
      const bool jumps = before[u] == 0 || std::abs(norm - before[u]) >= 0.5 * before[u];
      before[u] = norm;
      if (jumps) reference[u] = grid.Nearest(2)[u];
      ++(jumps ? critical : calm);
      for (size_t option = 0; option < grid.Options(); ++option) {
        costs[u].push_back(static_cast<double>(
            *driver.scheme().MessageBytes(context.units[u], grid.Parameter(u, option))));
      }
    }
    const Compared all =
        CompareAll(grid, ErrorsOfMessages(grid, context.units, fed), costs, reference, decided);
    EXPECT_LE(all.error, all.budget * (1 + 1e-5)) << step;
    EXPECT_NEAR(all.cost, all.least, 1e-6 * all.least) << step;
  }
  EXPECT_GE(critical, 4);
  EXPECT_GE(calm, 10);
}

}  // namespace
}  // namespace legacy::lgreco_test