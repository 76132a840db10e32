#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/cuda/open_exchange.h"
#include "tests/compress/cuda/run_step.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::exchange_test {
namespace {

constexpr int kWorkers = 3;

// Returns a vector, a single element, an empty unit and matrices, with a gap in the flat gradient.
std::vector<Unit> Units(int64_t largest) {
  std::vector<Unit> units = test::MakeUnits({10, 5000, 1, 0, largest, 33});
  units[1].shape = {50, 100};
  units[4].shape = {2, largest / 2};
  units[5].shape = {3, 11};
  for (size_t u = 4; u < units.size(); ++u) units[u].offset += 7;
  return units;
}

int64_t FlatSize(const std::vector<Unit>& units) {
  return units.back().offset + units.back().numel;
}

struct Case {
  std::string scheme;
  bool feedback = false;
  std::vector<double> parameters = {};  // units take turns, from step to step
  int workers = kWorkers;
};

// Draws normal values. Long vectors repeat some, each time at another scale.
std::vector<float> Drawn(int64_t n, uint64_t seed) {
  constexpr int64_t kDrawn = 1 << 20;
  std::vector<float> values = test::Normals(std::min(n, kDrawn), seed);
  values.resize(n);
  for (int64_t i = kDrawn; i < n; ++i) {
    values[i] = values[i % kDrawn] * (1 + 1e-3f * static_cast<float>(i / kDrawn));
  }
  return values;
}

// Returns the flat gradient of each worker.
std::vector<std::vector<float>> Gradients(const std::vector<Unit>& units, int64_t step,
                                          int workers = kWorkers) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < workers; ++w) {
    std::vector<float>& values = gradients.emplace_back(Drawn(FlatSize(units), 10 * step + w));
    for (size_t i = 0; i < values.size(); i += 3) values[i] *= 0.01f;
  }
  return gradients;
}

// The CPU's exchanges, one for each unit.
class Oracle {
 public:
  Oracle(const Scheme& scheme, const std::vector<Unit>& units, int workers = kWorkers)
      : units_(units), workers_(workers) {
    for (const Unit& unit : units) exchanges_.push_back(scheme.Open(unit, workers));
  }

  void Step(const ModelStep& step, const std::vector<std::vector<float>>& gradients) {
    calls_.assign(units_.size(), {});
    messages_.assign(units_.size(), std::vector<Message>(workers_));
    mean_.assign(FlatSize(units_), 0);
    for (size_t u = 0; u < units_.size(); ++u) StepOf(u, step, gradients);
  }

  // Compares with an exchange on a device that took the same step.
  void ExpectSame(const DeviceExchange& exchange, const ModelStep& step,
                  const std::vector<float>& mean) const {
    for (size_t u = 0; u < units_.size(); ++u) {
      SCOPED_TRACE("unit " + std::to_string(u) + ", step " + std::to_string(step.info.step));
      const auto unit = static_cast<int>(u);
      const auto begin = units_[u].offset;
      ASSERT_TRUE(test::SameBits(std::span(mean).subspan(begin, units_[u].numel),
                                 std::span(mean_).subspan(begin, units_[u].numel)));
      ExpectSameCalls(exchange.Calls(unit), calls_[u]);
      EXPECT_EQ(exchange.ElementsSent(unit), exchanges_[u]->ElementsSent());
      for (const int w : step.info.ActiveWorkers(workers_)) {
        ASSERT_EQ(exchange.CopyMessage(unit, w), messages_[u][w].bytes) << w;
      }
      for (int w = 0; w < workers_; ++w) {
        ASSERT_TRUE(test::SameBits(exchange.CopyResidual(unit, w), exchanges_[u]->Residual(w)))
            << w;
        const auto next = std::span(mean_).subspan(begin, units_[u].numel);
        ASSERT_TRUE(
            test::SameBits(exchange.ErrorFed(unit, w, next), exchanges_[u]->ErrorFed(w, next)))
            << w;
      }
    }
  }
  void RescaleResiduals(float factor) {
    for (const auto& exchange : exchanges_) exchange->RescaleResiduals(factor);
  }

 private:
  void StepOf(size_t u, const ModelStep& step, const std::vector<std::vector<float>>& gradients) {
    Exchange& exchange = *exchanges_[u];
    const Unit& unit = units_[u];
    exchange.Begin({.info = step.info, .parameter = step.parameters[u]});
    bool first = true;
    while (const auto call = exchange.NextCall()) {
      SentCall sent = {*call, std::vector<int64_t>(workers_)};
      for (const int w : step.info.ActiveWorkers(workers_)) {
        const auto gradient = std::span(gradients[w]).subspan(unit.offset, unit.numel);
        messages_[u][w] = exchange.Encode(w, first ? gradient : std::span<const float>());
        sent.bytes[w] = messages_[u][w].size();
      }
      for (const int w : step.info.ActiveWorkers(workers_))
        exchange.Accumulate(w, messages_[u][w].bytes);
      exchange.Complete(sent);
      exchange.FinishCall();
      calls_[u].push_back(sent);
      first = false;
    }
    exchange.Mean(std::span(mean_).subspan(unit.offset, unit.numel));
  }
  static void ExpectSameCalls(const std::vector<SentCall>& got,
                              const std::vector<SentCall>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t r = 0; r < got.size(); ++r) {
      EXPECT_EQ(got[r].bytes, expected[r].bytes);
      EXPECT_EQ(got[r].reduction, expected[r].reduction);
      EXPECT_EQ(got[r].collective, expected[r].collective);
      EXPECT_EQ(got[r].root, expected[r].root);
      EXPECT_EQ(got[r].pull, expected[r].pull);
      EXPECT_EQ(got[r].blocks, expected[r].blocks);
      ASSERT_EQ(got[r].hops.has_value(), expected[r].hops.has_value());
      if (got[r].hops) {
        EXPECT_EQ(got[r].hops->order, expected[r].hops->order);
        EXPECT_EQ(got[r].hops->slices, expected[r].hops->slices);
        ExpectSameWork(got[r].hops->work, expected[r].hops->work);
      }
      ExpectSameWork(got[r].encode, expected[r].encode);
      ExpectSameWork(got[r].decode, expected[r].decode);
    }
  }
  static void ExpectSameWork(const WorkList& got, const WorkList& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].kernel, expected[i].kernel);
      EXPECT_EQ(got[i].elements, expected[i].elements);
      EXPECT_EQ(got[i].launches, expected[i].launches);
    }
  }

  std::vector<Unit> units_;
  int workers_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<std::vector<SentCall>> calls_;
  std::vector<std::vector<Message>> messages_;  // [unit][worker], of the last call
  std::vector<float> mean_;
};

std::unique_ptr<DeviceExchange> Open(test::Device& device, const Scheme& scheme,
                                     std::span<const Unit> units, int workers = kWorkers) {
  std::string why;
  auto exchange = test::OpenExchange(device, scheme, units, workers, &why);
  EXPECT_NE(exchange, nullptr) << why;
  return exchange;
}

// Takes some steps in which parameters and active workers change, and compares each.
void ExpectSame(const Case& one, const std::vector<Unit>& units, int64_t steps = 5) {
  SCOPED_TRACE(one.scheme + (one.feedback ? ", error feedback" : ""));
  const auto scheme = MakeScheme(one.scheme, {.error_feedback = one.feedback});
  std::vector<double> some = one.parameters;
  if (some.empty()) some = {scheme->Parameter().fallback};
  test::OnDevice([&](test::Device& device) {
    Oracle oracle(*scheme, units, one.workers);
    const auto exchange = Open(device, *scheme, units, one.workers);
    ASSERT_NE(exchange, nullptr);
    for (int64_t step = 0; step < steps; ++step) {
      std::vector<double> parameters;
      for (size_t u = 0; u < units.size(); ++u) {
        parameters.push_back(some[(u + step / 2) % some.size()]);
      }
      ModelStep at = {.info = {.seed = 7, .step = step}, .parameters = parameters};
      if (step % 3 == 1 && one.workers > 2) at.info.active_workers = {0, 2};
      if (step == 4 && one.workers > 1) at.info.active_workers = {1};
      const auto gradients = Gradients(units, step, one.workers);
      oracle.Step(at, gradients);
      oracle.ExpectSame(*exchange, at, test::RunStep(*exchange, at, gradients));
      if (step != 2) continue;
      oracle.RescaleResiduals(0.3f);
      exchange->RescaleResiduals(0.3f);
    }
  });
}

const std::vector<double> kDensities = {0.01, 0.3, 1, 0.001, 0.05};

std::vector<Case> Quantisers() {
  std::vector<Case> cases;
  for (const bool feedback : {false, true}) {
    for (const char* name :
         {"dense", "fp16", "bf16", "natural", "natural:bits=8", "sign", "onebit",
          "dense:min_numel=20", "sign:min_numel=20,vectors=off", "mx", "mx:format=e2m1,block=64",
          "mx:format=e2m3,block=8192,scale=up", "fp8"}) {
      cases.push_back({name, feedback});
    }
    cases.push_back({"uniform", feedback, {8, 3, 16}});
    cases.push_back({"qsgd", feedback, {4, 8, 3}});
    cases.push_back({"qsgd:rounding=nearest,bucket=8192", feedback, {4}});
    cases.push_back({"maxmin", feedback, {4, 2}});
    cases.push_back({"maxmin:rounding=stochastic,bucket=64", feedback, {4}});
    cases.push_back({"rbf", feedback, {10, 6}});
    cases.push_back({"rbf:mantissa=2", feedback, {8, 3}});
    cases.push_back({"qsgd:memory=momentum", true, {4}});
    cases.push_back({"fp16:memory=momentum,nesterov=on,vectors=off", true});
  }
  cases.push_back({"qsgd:norm=l2", false, {4, 8}});
  cases.push_back({"qsgd:norm=l2,bucket=8192", false, {4}});
  cases.push_back({"terngrad", false});
  cases.push_back({"terngrad:clip=0", false});
  return cases;
}

TEST(CudaExchange, QuantisersAreTheCpus) {
  for (const Case& one : Quantisers()) ExpectSame(one, Units(9000));
}

TEST(CudaExchange, SparsifiersAreTheCpus) {
  for (const bool feedback : {false, true}) {
    for (const char* name :
         {"topk", "topk:index=u32", "topk:index=bitmap", "topk:index=packed,vectors=off",
          "topk:min_numel=20", "randomk", "randomk:seed=worker", "sampled", "sampled:sample=0.2",
          "sampled:index=bitmap"}) {
      ExpectSame({name, feedback, kDensities}, Units(9000));
    }
    ExpectSame({"threshold", feedback, {1.5, 1e-12, 1e6, 0.4, 2.5}}, Units(9000));
  }
  ExpectSame({"randomk:unbiased=on", false, kDensities}, Units(9000));
  ExpectSame({"randomk:unbiased=on,seed=worker", false, kDensities}, Units(9000));
}

TEST(CudaExchange, MomentumIsTheCpus) {
  for (const char* name :
       {"dgc", "dgc:nesterov=on,masking=off", "dgc:vectors=on,momentum=0.5", "topk:memory=momentum",
        "topk:memory=momentum,nesterov=on", "randomk:memory=momentum",
        "randomk:memory=momentum,seed=worker,masking=off"}) {
    ExpectSame({name, true, kDensities}, Units(9000));
  }
  ExpectSame({"threshold:memory=momentum", true, {1.5, 1e-12, 1e6, 0.4}}, Units(9000));
}

// Selected values go through every quantiser.
TEST(CudaExchange, SelectedValuesAreQuantisedAsTheCpuDoes) {
  const char* const quantisers[] = {
      "fp16",    "bf16", "uniform", "qsgd:bits=5",    "maxmin",         "rbf",
      "natural", "sign", "onebit",  "natural:bits=8", "mx:format=e3m2", "fp8"};
  for (const bool feedback : {false, true}) {
    for (const char* name : quantisers) {
      ExpectSame({std::string("topk+") + name, feedback, {0.1, 0.5}}, Units(9000), 3);
    }
    for (const char* name : {"randomk", "randomk:seed=worker", "sampled", "threshold"}) {
      const std::vector<double> parameters =
          name == std::string("threshold") ? std::vector{1.5, 1e-12, 1e6} : kDensities;
      ExpectSame({std::string(name) + "+qsgd", feedback, parameters}, Units(9000), 4);
      ExpectSame({std::string(name) + "+fp16", feedback, parameters}, Units(9000), 4);
    }
  }
  ExpectSame({"topk+terngrad", false, {0.1}}, Units(9000), 2);
  ExpectSame({"randomk:unbiased=on+terngrad", false, {0.1}}, Units(9000), 2);
  ExpectSame({"dgc+qsgd", true, kDensities}, Units(9000), 4);
  ExpectSame({"topk:memory=momentum+sign", true, {0.1}}, Units(9000), 3);
}

TEST(CudaExchange, SpectraAreTheCpus) {
  const std::vector<double> thetas = {0.85, 0, 0.5, 1, 0.99};
  for (const bool feedback : {false, true}) {
    for (const char* name : {"fft", "fft+fp32", "fft+fp16", "fft:chunk=256", "fft:index=u32+qsgd",
                             "fft:index=bitmap,min_numel=20+sign", "fft:chunk=8192,index=packed",
                             "fft:vectors=off+natural", "fft:index=bitmap+mx"}) {
      ExpectSame({name, feedback, thetas}, Units(9000));
    }
  }
  ExpectSame({"fft:memory=momentum", true, thetas}, Units(9000));
  ExpectSame({"fft", true, {0.85}}, Units(300000), 2);
}

TEST(CudaExchange, RotationsAreTheCpus) {
  const std::vector<double> bits = {1, 4, 2, 3};
  for (const bool feedback : {false, true}) {
    for (const char* name : {"eden", "eden:block=64", "eden:block=1", "eden:block=4096",
                             "eden:scale=least", "eden:min_numel=20", "eden:vectors=off"}) {
      ExpectSame({name, feedback, bits}, Units(9000));
    }
    ExpectSame({"eden", feedback, bits}, Units(70000), 3);
  }
  ExpectSame({"eden:scale=unbiased", false, bits}, Units(9000));
  ExpectSame({"eden:memory=momentum", true, bits}, Units(9000));
}

TEST(CudaExchange, CosinesAreTheCpus) {
  const std::vector<double> densities = {0.0078125, 0.3, 1, 0.05};
  for (const bool feedback : {false, true}) {
    for (const char* name : {"dct", "dct:chunk=8", "dct:chunk=1", "dct:shape=line",
                             "dct:shape=matrix", "dct:min_numel=20", "dct:vectors=off"}) {
      ExpectSame({name, feedback, densities}, Units(9000));
    }
    ExpectSame({"dct:k=5", feedback}, Units(9000));
    ExpectSame({"dct", feedback, {0.0078125}}, Units(1 << 16), 2);
  }
  ExpectSame({"dct:memory=momentum", true, densities}, Units(9000));
}

TEST(CudaExchange, TablesThatAllShareAreTheCpus) {
  for (const bool feedback : {false, true}) {
    for (const char* name :
         {"thc", "thc:block=64", "thc:block=1,bits=2", "thc:block=8192,bits=3,granularity=255",
          "thc:sums=server", "thc:sums=server,bits=1,block=16"}) {
      ExpectSame({name, feedback}, Units(9000));
    }
    ExpectSame({"thc", feedback}, Units(70000), 3);
  }
}

TEST(CudaExchange, SumsByHopsAreTheCpus) {
  for (const char* order : {"ring", "butterfly"}) {
    const std::string by = std::string("reduction=") + order;
    for (const char* name :
         {"mx:", "mx:format=e2m1,block=64,", "maxmin:", "maxmin:bits=2,min_numel=20,",
          "qsgd:bucket=1024,", "qsgd:norm=l2,bits=8,"}) {
      ExpectSame({name + by, false}, Units(9000));
    }
    ExpectSame({"maxmin:feedback=first," + by, true}, Units(9000));
    ExpectSame({"mx:" + by, false}, Units(70000), 3);
    for (const int workers : {1, 2, 4, 7}) {
      ExpectSame({"maxmin:feedback=first," + by, true, {4}, workers}, Units(9000));
      ExpectSame({"mx:" + by, false, {}, workers}, Units(9000));
    }
  }
}

TEST(CudaExchange, BlocksAreTheCpus) {
  for (const bool feedback : {false, true}) {
    for (const char* name : {"omnireduce", "omnireduce:block=7", "omnireduce:block=1",
                             "omnireduce:block=1024", "omnireduce:block=33,slots=2"}) {
      ExpectSame({name, feedback, {0.01, 0.3, 1, 0.05}}, Units(9000));
      ExpectSame({name, feedback, {1}}, Units(9000), 2);
      ExpectSame({name, feedback, {0.1}}, Units(9000), 3);
    }
    ExpectSame({"omnireduce", feedback, {0.02}}, Units(200000), 2);
  }
}

TEST(CudaExchange, RowsThatAllShareAreTheCpus) {
  const std::vector<double> densities = {0.2, 0.01, 1, 0.5};
  for (const bool feedback : {false, true}) {
    for (const char* name : {"arc", "arc:rank=1", "arc:rank=7"}) {
      for (const int64_t rows : {2, 30, 3000}) {
        std::vector<Unit> units = Units(9000);
        units[4].shape = {rows, 9000 / rows};
        ExpectSame({name, feedback, densities}, units);
        ExpectSame({name, feedback, {0.1}}, units, 3);
      }
    }
  }
}

TEST(CudaExchange, SumsAtBitsByEnergyAreTheCpus) {
  const std::vector<double> bits = {5, 3, 4, 8};
  for (const char* name : {"dynamiq", "dynamiq:order=butterfly", "dynamiq:rounding=log"}) {
    ExpectSame({name, false, bits}, Units(9000));
    for (const int workers : {1, 2, 4, 7}) ExpectSame({name, false, bits, workers}, Units(2000));
  }
}

// Units have many tiles, and need more memory than there is at first.
TEST(CudaExchange, LargeUnitsGiveTheCpusBits) {
  for (const char* name : {"topk", "dgc", "randomk", "sampled+rbf", "qsgd"}) {
    const bool bits = name == std::string("qsgd");
    ExpectSame({name, true, bits ? std::vector<double>{4} : std::vector{0.01, 0.1}}, Units(70000),
               3);
  }
  ExpectSame({"threshold", true, {1.5, 0.2}}, Units(70000), 3);
  ExpectSame({"threshold", false, {1.5, 0.2}}, Units(70000), 3);
}

// Gradients have few magnitudes, zeros only, one value only, or denormals.
TEST(CudaExchange, HardInputsGiveTheCpusBits) {
  const std::vector<Unit> units = Units(9000);
  const auto inputs = test::HardInputs(FlatSize(units));
  for (const char* name :
       {"topk", "dgc", "randomk", "sampled", "threshold+fp16", "qsgd", "fp16", "fft", "fft+fp32",
        "eden", "eden:bits=3,block=32", "dct", "thc", "omnireduce:block=16", "arc", "dynamiq",
        "maxmin:reduction=ring", "mx:reduction=butterfly"}) {
    SCOPED_TRACE(name);
    const auto scheme = MakeScheme(name, {});
    const std::vector<double> parameters(units.size(), scheme->Parameter().fallback);
    test::OnDevice([&](test::Device& device) {
      Oracle oracle(*scheme, units);
      const auto exchange = Open(device, *scheme, units);
      for (int64_t step = 0; step < std::ssize(inputs); ++step) {
        const ModelStep at = {.info = {.seed = 3, .step = step}, .parameters = parameters};
        const std::vector<std::vector<float>> gradients(kWorkers, inputs[step]);
        oracle.Step(at, gradients);
        oracle.ExpectSame(*exchange, at, test::RunStep(*exchange, at, gradients));
      }
    });
  }
}

TEST(CudaExchange, WhatIsNotFiniteIsNamed) {
  const std::vector<Unit> units = Units(9000);
  for (const char* name : {"dense", "qsgd", "topk", "topk+sign", "randomk", "randomk:seed=worker",
                           "threshold", "sampled", "dgc", "fft", "eden", "dct", "thc", "omnireduce",
                           "arc", "dynamiq", "mx:reduction=ring", "maxmin:reduction=butterfly"}) {
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      SCOPED_TRACE(name);
      const auto scheme = MakeScheme(name, {});
      const std::vector<double> parameters(units.size(), scheme->Parameter().fallback);
      test::OnDevice([&](test::Device& device) {
        const auto exchange = Open(device, *scheme, units);
        auto gradients = Gradients(units, 1);
        gradients[2][units[1].offset + 4321] = bad;
        gradients[2][units[5].offset + 1] = bad;
        try {
          test::RunStep(*exchange, {.parameters = parameters}, gradients);
          FAIL();
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("gradient of worker 2, unit 1"),
                    std::string::npos)
              << error.what();
        }
      });
    }
  }
}

TEST(CudaExchange, WhatIsTooLargeForATransformIsNamed) {
  const std::vector<Unit> units = Units(9000);
  auto gradients = Gradients(units, 1);
  gradients[1][units[4].offset + 8999] = -0x1.8p100f;
  for (const char* name : {"fft", "eden", "dct", "thc"}) {
    const auto scheme = MakeScheme(name, {});
    const std::vector<double> parameters(units.size(), scheme->Parameter().fallback);
    test::OnDevice([&](test::Device& device) {
      const auto exchange = Open(device, *scheme, units);
      try {
        test::RunStep(*exchange, {.parameters = parameters}, gradients);
        FAIL();
      } catch (const Error& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("gradient of worker 1, unit 4, largest magnitude"), std::string::npos)
            << what;
        EXPECT_NE(what.find("with codecs that transform it"), std::string::npos) << what;
      }
    });
  }
}

TEST(CudaExchange, SumsThatOverflowAreNamed) {
  const std::vector<Unit> units = Units(9000);
  auto gradients = Gradients(units, 1);
  for (auto& gradient : gradients) gradient[units[4].offset + 77] = 3e38f;
  for (const char* name : {"maxmin:reduction=ring", "mx:reduction=butterfly"}) {
    const auto scheme = MakeScheme(name, {.error_feedback = false});
    const std::vector<double> parameters(units.size(), scheme->Parameter().fallback);
    test::OnDevice([&](test::Device& device) {
      const auto exchange = Open(device, *scheme, units);
      try {
        test::RunStep(*exchange, {.parameters = parameters}, gradients);
        FAIL();
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("sum of unit 4"), std::string::npos)
            << error.what();
      }
    });
  }
}

TEST(CudaExchange, RefusesWhatTheCpuRefuses) {
  const std::vector<Unit> units = Units(9000);
  test::OnDevice([&](test::Device& device) {
    const auto terngrad = Open(device, *MakeScheme("terngrad", {}), units);
    const std::vector<double> ones(units.size(), 1);
    EXPECT_THROW(terngrad->Begin({.parameters = ones}), Error);  // diverges
    const auto topk = Open(device, *MakeScheme("topk", {}), units);
    const std::vector<double> twos(units.size(), 2);
    EXPECT_THROW(topk->Begin({.parameters = twos}), Error);
    std::string why;
    for (const char* name : {"topk", "powersgd"}) {
      EXPECT_THROW(test::OpenExchange(device, *MakeScheme(name, {}), units, 0, &why), Error)
          << name;
    }
  });
}

TEST(CudaExchange, NamesSchemesWithoutKernels) {
  test::OnDevice([&](test::Device& device) {
    for (const auto& [name, what] : std::vector<std::pair<const char*, const char*>>{
             {"topk:index=delta", "index=delta"},
             {"topk:rule=kth", "topk"},
             {"topk+qsgd:code=elias", "qsgd"},
             {"rbf:range=ema", "rbf"},
             {"redsync", "redsync"},
             {"fft:chunk=65536", "chunk=65536"},
             {"fft+rbf:range=ema", "rbf"},
             {"eden:block=16384", "block=16384"},
             {"eden:rotation=own", "rotation=own"},
             {"thc:block=16384", "block=16384"},
             {"omnireduce:block=2048", "block=2048"},
             {"arc:memory=ef21", "arc"},
             {"maxmin:bucket=8192,reduction=ring", "4096"},
             {"dct:chunk=128", "chunk=128"},
             {"dct+fp16", "dct+fp16"},
             {"topk:where=after-mean", "topk"},
             {"fft:index=delta", "index=delta"},
             {"qsgd:reduction=requantise", "requantise"},
             {"bf16:reduction=hop", "hop"},
             {"topk:decay=0.5", "option decay"},
             {"powersgd:decay=0.5", "option decay"},
             {"onebit-adam", "onebit-adam"},
             {"signsgd", "signsgd"}}) {
      std::string why;
      EXPECT_EQ(test::OpenExchange(device, *MakeScheme(name, {}), Units(100), kWorkers, &why),
                nullptr);
      EXPECT_NE(why.find(what), std::string::npos) << name << ": " << why;
    }
  });
}

#if defined(__CUDACC__)  // on the host this would take minutes

// A unit has more bytes than 32 bits count, and so has the sum of the workers' messages.
std::vector<Unit> HugeUnit() { return test::MakeUnits({300'000'000}); }

TEST(CudaHugeTopK, IsTheCpus) { ExpectSame({"topk", true, {0.01}}, HugeUnit(), 1); }
TEST(CudaHugeThreshold, IsTheCpus) { ExpectSame({"threshold", true, {3}}, HugeUnit(), 1); }
TEST(CudaHugeQsgd, IsTheCpus) { ExpectSame({"qsgd", true, {4}}, HugeUnit(), 1); }

#endif

}  // namespace
}  // namespace legacy::cuda::exchange_test
