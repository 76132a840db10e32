#include "compress/cuda/exchange/powersgd_exchange.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "compress/cpu/vector.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/cuda/run_step.h"
#include "tests/compress/test_data.h"
#if defined(__CUDACC__)
#include "compress/cuda/exchange/powersgd.h"
#endif

namespace legacy::cuda::powersgd_exchange_test {
namespace {

std::vector<Unit> Units(const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<int64_t> sizes;
  for (const std::vector<int64_t>& shape : shapes) {
    sizes.push_back(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies()));
  }
  std::vector<Unit> units = test::MakeUnits(sizes);
  for (size_t u = 0; u < units.size(); ++u) units[u].shape = shapes[u];
  return units;
}

const std::vector<std::vector<int64_t>> kShapes = {{64, 3, 7, 7}, {10}, {12, 500}, {300, 9},
                                                   {64, 3, 7, 7}, {1},  {6, 5},    {40, 64}};
constexpr int kWorkers = 3;

// Runs the CPU's exchanges together with the device's.
class Pair {
 public:
  Pair(test::Device& device, const PowerSgdOptions& options,
       const std::vector<std::vector<int64_t>>& shapes = kShapes, int workers = kWorkers)
      : scheme_(options), units_(Units(shapes)), workers_(workers), near_(units_.size()) {
    for (const Unit& unit : units_) cpu_.push_back(scheme_.Open(unit, workers));
    device_ = OpenPowerSgd(device, scheme_, units_, workers);
  }

  const std::vector<Unit>& units() const { return units_; }
  DeviceExchange& device() { return *device_; }
  int64_t elements() const { return units_.back().offset + units_.back().numel; }
  std::vector<std::vector<float>> Gradients(uint64_t seed) const {
    std::vector<std::vector<float>> gradients;
    for (int w = 0; w < workers_; ++w) gradients.push_back(test::Normals(elements(), seed + w));
    return gradients;
  }
  std::span<const float> Of(const Unit& unit, const std::vector<float>& flat) const {
    return std::span(flat).subspan(unit.offset, unit.numel);
  }
  std::vector<float> Residual(int unit, int worker) const {
    return device_->CopyResidual(unit, worker);
  }

  std::vector<float> Step(const ModelStep& step, const std::vector<std::vector<float>>& gradients) {
    return test::RunStep(*device_, step, gradients);
  }

  // Takes the step on both sides and compares all results.
  void Compare(const ModelStep& step, const std::vector<std::vector<float>>& gradients,
               double tolerance) {
    std::vector<std::vector<float>> before;
    for (int w = 0; w < workers_; ++w) {
      for (size_t u = 0; u < units_.size(); ++u) before.push_back(Residual(int(u), w));
    }
    const std::vector<float> mean = Step(step, gradients);
    for (size_t u = 0; u < units_.size(); ++u) {
      SCOPED_TRACE("unit " + std::to_string(u));
      const Unit& unit = units_[u];
      const double rank = step.parameters[u];
      const UnitStep context{.info = step.info, .parameter = rank};
      std::vector<std::vector<float>> own;
      for (int w = 0; w < workers_; ++w) {
        const auto part = Of(unit, gradients[w]);
        own.emplace_back(part.begin(), part.end());
      }
      const bool whole = !scheme_.Compresses(unit, rank);
      std::vector<Message> messages;
      const std::vector<float> expected = test::RunStep(*cpu_[u], context, own, &messages);
      near_[u] = near_[u] || !whole;  // and so is the residual from now on
      const double error = near_[u] ? tolerance : 0;
      CompareFloats(Of(unit, mean), expected, error);
      CompareCalls(static_cast<int>(u), messages, step, error);
      for (int w = 0; w < workers_; ++w) {
        const auto residual = Residual(static_cast<int>(u), w);
        CompareFloats(residual, cpu_[u]->Residual(w), error);
        if (!TakesPart(step, w) || residual.empty()) continue;
        // The residual is the input less the values that were sent.
        for (int64_t i = 0; i < unit.numel; ++i) {
          const float in = before[w * units_.size() + u][i] + own[w][i];
          ASSERT_EQ(residual[i], whole ? 0 : in - mean[unit.offset + i]) << i;
        }
      }
    }
  }

  void Rescale(float factor) {
    device_->RescaleResiduals(factor);
    for (const auto& exchange : cpu_) exchange->RescaleResiduals(factor);
  }

 private:
  static bool TakesPart(const ModelStep& step, int worker) {
    return step.info.active_workers.empty() ||
           std::ranges::count(step.info.active_workers, worker) > 0;
  }
  static void CompareFloats(std::span<const float> found, std::span<const float> expected,
                            double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    if (tolerance == 0) {
      EXPECT_TRUE(test::SameBits(found, expected));
      return;
    }
    double most = 0;
    for (const float x : expected) most = std::max(most, std::abs(double{x}));
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], tolerance * most) << i;
    }
  }
  void CompareCalls(int u, const std::vector<Message>& messages, const ModelStep& step,
                    double tolerance) {
    const auto calls = device_->Calls(u);
    const UnitStep context{.parameter = step.parameters[u]};
    const auto expected = scheme_.Calls(units_[u], context.parameter);
    ASSERT_EQ(calls.size(), expected.size());
    EXPECT_EQ(device_->ElementsSent(u), cpu_[u]->ElementsSent());
    const size_t senders = messages.size() / calls.size();
    for (size_t r = 0; r < calls.size(); ++r) {
      EXPECT_EQ(calls[r].reduction, Reduction::kSum);
      EXPECT_EQ(calls[r].decode.size(), expected[r].decode.size());
      size_t sender = 0;
      for (int w = 0; w < workers_; ++w) {
        const bool sends = TakesPart(step, w);
        const int64_t bytes = sends ? messages[r * senders + sender++].size() : 0;
        EXPECT_EQ(calls[r].bytes[w], bytes);
      }
    }
    size_t sender = messages.size() - senders;
    for (int w = 0; w < workers_; ++w) {
      const Bytes message = device_->CopyMessage(u, w);
      if (!TakesPart(step, w)) {
        EXPECT_TRUE(message.empty());
        continue;
      }
      const Bytes& other = messages[sender++].bytes;
      ASSERT_EQ(message.size(), other.size());
      EXPECT_TRUE(std::equal(message.begin(), message.begin() + kHeaderBytes, other.begin()));
      CompareFloats(Values(message), Values(other), tolerance);
    }
  }
  static std::vector<float> Values(const Bytes& message) {
    std::vector<float> values((message.size() - kHeaderBytes) / sizeof(float));
    if (!values.empty()) {
      std::memcpy(values.data(), message.data() + kHeaderBytes, values.size() * sizeof(float));
    }
    return values;
  }

  PowerSgdScheme scheme_;
  std::vector<Unit> units_;
  int workers_;
  std::vector<bool> near_;  // for each unit: equal up to rounding only
  std::vector<std::unique_ptr<Exchange>> cpu_;
  std::unique_ptr<DeviceExchange> device_;
};

// Tolerance for sums of up to 500 terms of well-conditioned matrices, over some steps.
constexpr double kTolerance = 3e-5;

TEST(CudaPowerSgdExchange, IsTheCpusUpToRounding) {
  test::OnDevice([](test::Device& device) {
    Pair pair(device, {});
    const std::vector<std::vector<double>> ranks = {
        {4, 4, 4, 4, 4, 4, 4, 4}, {4, 4, 4, 4, 4, 4, 4, 4},   {1, 1, 2, 3, 5, 1, 1, 64},
        {8, 1, 3, 3, 5, 1, 1, 2}, {16, 2, 64, 9, 4, 1, 2, 9}, {16, 2, 3, 2, 4, 1, 2, 9}};
    for (size_t step = 0; step < ranks.size(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      ModelStep now = {.info = {.seed = 7, .step = static_cast<int64_t>(step)},
                       .parameters = ranks[step]};
      if (step == 2) now.info.active_workers = {0, 2};
      if (step == 3) now.info.active_workers = {1};
      if (step == 4) pair.Rescale(2.5f);
      pair.Compare(now, pair.Gradients(100 * step), kTolerance);
    }
  });
}

TEST(CudaPowerSgdExchange, IsTheCpusWithEveryOption) {
  test::OnDevice([](test::Device& device) {
    for (const PowerSgdOptions& options :
         {PowerSgdOptions{.min_rate = 0}, PowerSgdOptions{.warm_start = false},
          PowerSgdOptions{.error_feedback = false}, PowerSgdOptions{.min_rate = 1e6}}) {
      Pair pair(device, options);
      const std::vector<double> ranks(kShapes.size(), 2);
      for (int64_t step = 0; step < 3; ++step) {
        SCOPED_TRACE("step " + std::to_string(step));
        pair.Compare({.info = {.seed = 1, .step = step}, .parameters = ranks}, pair.Gradients(step),
                     kTolerance);
      }
    }
  });
}

TEST(CudaPowerSgdExchange, NegativeZerosAndEmptyUnitsAreSentUnchanged) {
  test::OnDevice([](test::Device& device) {
    Pair pair(device, {.error_feedback = false}, {{3}, {0, 5}, {2, 2}, {0}}, 2);
    const std::vector<double> ranks(4, 1);
    const std::vector<float> gradient = {-0.0f, 1, 0, -0.0f, -0.0f, 2, -3};
    pair.Compare({.parameters = ranks}, {gradient, gradient}, kTolerance);
  });
}

// A matrix of rank 2 leaves a third vector dead, which is drawn again with the CPU's key.
TEST(CudaPowerSgdExchange, DeadVectorsAreDrawnAgain) {
  test::OnDevice([](test::Device& device) {
    Pair pair(device, {.error_feedback = false}, {{40, 30}}, 1);
    const auto left = test::Normals(2 * 40, 1), right = test::Normals(2 * 30, 2);
    std::vector<float> poor(40 * 30);  // exactly of rank 2: two rows, repeated
    for (int64_t i = 0; i < 40 * 30; ++i) poor[i] = right[i / 30 % 2 * 30 + i % 30];
    const std::vector<double> rank = {3};
    pair.Step({.info = {.seed = 5, .step = 0}, .parameters = rank}, {poor});
    const Bytes message = pair.device().CopyMessage(0, 0);
    const auto* const values = reinterpret_cast<const float*>(message.data() + kHeaderBytes);
    for (int i = 0; i < 30; ++i) EXPECT_EQ(values[60 + i], 0);
    const auto rich = test::Normals(40 * 30, 9);
    const auto mean = pair.Step({.info = {.seed = 5, .step = 1}, .parameters = rank}, {rich});
    const Bytes next = pair.device().CopyMessage(0, 0);
    const auto* const alive = reinterpret_cast<const float*>(next.data() + kHeaderBytes);
    EXPECT_GT(cpu::SquaredNorm({alive + 60, 30}), 1);
    // The CPU draws the same vector.
    Pair both(device, {.error_feedback = false}, {{40, 30}}, 1);
    both.Compare({.info = {.seed = 5, .step = 0}, .parameters = rank}, {poor}, kTolerance);
    both.Compare({.info = {.seed = 5, .step = 1}, .parameters = rank}, {rich}, 1e-3);
  });
}

TEST(CudaPowerSgdExchange, NamesWorkerAndUnitOfWhatIsNotFinite) {
  test::OnDevice([](test::Device& device) {
    const std::vector<double> ranks(kShapes.size(), 4);
    for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
      Pair pair(device, {});
      auto gradients = pair.Gradients(3);
      const Unit& unit = pair.units()[2];
      gradients[1][unit.offset + 4321] = bad;
      gradients[1][unit.offset + 5999] = bad;
      try {
        pair.Step({.parameters = ranks}, gradients);
        FAIL();
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(),
                     "gradient of worker 1, unit 2, element 4321: got 'NaN or infinity'; allowed: "
                     "finite numbers");
      }
    }
    Pair pair(device, {});
    auto gradients = pair.Gradients(3);
    for (auto& gradient : gradients) {
      for (float& x : gradient) x = std::copysign(3e38f, x);
    }
    EXPECT_THROW(pair.Step({.parameters = ranks}, gradients), Error);
    std::vector<double> wrong = ranks;
    wrong[3] = 65;
    EXPECT_THROW(pair.device().Begin({.parameters = wrong}), Error);
  });
}

}  // namespace
}  // namespace legacy::cuda::powersgd_exchange_test