// Momentum correction: the memory itself, and DGC.
#include "compress/schemes/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compress/exchange.h"
#include "compress/schemes/exchange_base.h"
#include "tests/compress/test_data.h"

namespace legacy::memory_test {
namespace {

constexpr int64_t kNumel = 400;
constexpr int kWorkers = 3;

std::vector<std::vector<float>> Gradients(int64_t step) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) {
    gradients.push_back(test::Normals(kNumel, 1000 * step + w));
  }
  return gradients;
}

Unit Matrix(int64_t rows, int64_t columns) {
  Unit unit = test::MakeUnit(rows * columns);
  unit.shape = {rows, columns};
  return unit;
}

TEST(Momentum, IsZeroWhereSomethingWasSentAndNothingIsLost) {
  for (const bool nesterov : {false, true}) {
    Memory memory({.kind = MemoryKind::kMomentum, .nesterov = nesterov}, kNumel, 1);
    const auto codec = MakeCodec("topk");
    std::vector<double> u(kNumel), sent(kNumel), corrected(kNumel);
    for (int64_t step = 0; step < 30; ++step) {
      const auto gradient = test::Normals(kNumel, step);
      for (int64_t i = 0; i < kNumel; ++i) {
        u[i] = nesterov ? 0.9 * (u[i] + gradient[i]) : 0.9 * u[i] + gradient[i];
        corrected[i] += u[i] + (nesterov ? gradient[i] : 0);
      }
      const CodecContext context{.unit = 0, .parameter = 0.1, .random = {}};
      const Message message = memory.Encode(*codec, 0, gradient, context);
      std::vector<float> decoded(kNumel);
      codec->DecodeAdd(message.bytes, context, decoded);
      int64_t zeros = 0;
      for (int64_t i = 0; i < kNumel; ++i) {
        sent[i] += decoded[i];
        ASSERT_NEAR(sent[i] + memory.Residual(0)[i], corrected[i], 1e-4);
        if (decoded[i] == 0) continue;
        ++zeros;
        ASSERT_EQ(memory.Velocity(0)[i], 0.0f);
        ASSERT_EQ(memory.Residual(0)[i], 0.0f);
        u[i] = 0;
      }
      ASSERT_EQ(zeros, kNumel / 10);
    }
  }
}

// e = decay r + g: of SparseLoCo, in double precision.
TEST(Decay, ForgetsResiduals) {
  constexpr double kDecay = 0.75;
  const auto exchange = MakeScheme("topk:decay=0.75")->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<std::vector<double>> residuals(kWorkers, std::vector<double>(kNumel));
  for (int64_t step = 0; step < 20; ++step) {
    const auto gradients = Gradients(step);
    UnitStep context{.info = {.step = step}, .parameter = 0.1};
    if (step == 7) context.info.active_workers = {0, 2};  // worker 1 keeps its residual
    const auto mean = test::RunStep(*exchange, context, gradients);
    const double active = step == 7 ? 2 : kWorkers;
    std::vector<double> expected(kNumel);
    for (int w = 0; w < kWorkers; ++w) {
      if (step == 7 && w == 1) continue;
      std::vector<double>& e = residuals[w];
      for (int64_t i = 0; i < kNumel; ++i) e[i] = kDecay * e[i] + gradients[w][i];
      std::vector<double> order(e);
      std::ranges::nth_element(order, order.begin() + kNumel / 10 - 1,
                               [](double a, double b) { return std::abs(a) > std::abs(b); });
      const double threshold = std::abs(order[kNumel / 10 - 1]);
      for (int64_t i = 0; i < kNumel; ++i) {
        if (std::abs(e[i]) < threshold) continue;
        expected[i] += e[i] / active;
        e[i] = 0;
      }
    }
    for (int64_t i = 0; i < kNumel; ++i) {
      ASSERT_NEAR(mean[i], expected[i], 1e-5) << step;
      for (int w = 0; w < kWorkers; ++w) {
        ASSERT_NEAR(exchange->Residual(w)[i], residuals[w][i], 1e-5) << step;
      }
    }
  }
}

// A state that is loaded does not decay.
TEST(Decay, LoadingIsNoStep) {
  const auto exchange = MakeScheme("topk:decay=0.5")->Open(test::MakeUnit(kNumel), kWorkers);
  test::RunStep(*exchange, {.parameter = 0.1}, Gradients(0));
  const Bytes state = exchange->Save();
  exchange->Load(state);
  EXPECT_EQ(exchange->Save(), state);
}

TEST(Decay, IsRefusedWhereThereAreNoResiduals) {
  for (const char* text : {"signsgd:decay=0.9", "terngrad-shared:decay=0.9", "variance:decay=0.9",
                           "topk:decay=1.5", "topk:decay=-1"}) {
    EXPECT_THROW(MakeScheme(text), Error) << text;
  }
  EXPECT_EQ(MakeScheme("signsgd:decay=1")->Traits().residual_decay, 1);
  // SparseLoCo's: its quantiser keeps residuals bounded.
  EXPECT_NO_THROW(MakeScheme("topk:decay=0.95+maxmin:bits=2")
                      ->Open(test::MakeUnit(4), 1)
                      ->Begin({.parameter = 0.5}));
}

// The vector that ErrorFed predicts is the one that is compressed, to the bit: gradient, residual,
// decay and momentum.
TEST(ErrorFed, IsWhatWillBeCompressed) {
  for (const char* text :
       {"topk", "topk:decay=0.5", "topk:decay=0", "topk:memory=momentum,decay=0.5", "dgc",
        "dgc:nesterov=on", "dgc:masking=off", "ar-topk:decay=0.5", "powersgd:decay=0.5",
        "topk:min_numel=500", "topk:dense_start=2"}) {
    const auto scheme = MakeScheme(text);
    const auto exchange = scheme->Open(Matrix(20, 20), kWorkers);
    for (int64_t step = 0; step < 5; ++step) {
      const auto gradients = Gradients(step);
      std::vector<std::vector<float>> e;
      for (int w = 0; w < kWorkers; ++w) e.push_back(exchange->ErrorFed(w, gradients[w]));
      const Bytes state = exchange->Save();
      EXPECT_EQ(exchange->ErrorFed(0, gradients[0]), e[0]) << text;
      EXPECT_EQ(exchange->Save(), state) << text;
      // A step that sends everything decodes to the mean of e; it starts from the same state.
      const auto whole = scheme->Open(Matrix(20, 20), kWorkers);
      whole->Load(state);
      const double all = scheme->Parameter().Kind() == ParameterKind::kRank ? 20 : 1;
      const auto sent =
          test::RunStep(*whole, {.info = {.step = step}, .parameter = all}, gradients);
      for (int64_t i = 0; i < kNumel; ++i) {
        float sum = 0;
        for (int w = 0; w < kWorkers; ++w) sum += e[w][i];
        if (all == 1) {
          ASSERT_EQ(sent[i], sum / kWorkers) << text << " step " << step;
        } else {
          ASSERT_NEAR(sent[i], sum / kWorkers, 1e-4) << text << " step " << step;
        }
      }
      test::RunStep(*exchange, {.info = {.step = step}, .parameter = scheme->Parameter().fallback},
                    gradients);
    }
  }
}

TEST(ErrorFed, WithoutErrorFeedbackIsTheGradient) {
  const auto gradients = Gradients(0);
  for (const char* text : {"topk", "signsgd", "terngrad-shared", "dense"}) {
    const auto exchange =
        MakeScheme(text, {.error_feedback = false})->Open(Matrix(20, 20), kWorkers);
    EXPECT_EQ(exchange->ErrorFed(1, gradients[1]), gradients[1]) << text;
  }
}

TEST(Momentum, WithoutMaskingItIsKept) {
  Memory memory({.kind = MemoryKind::kMomentum, .masking = false}, 4, 1);
  const auto codec = MakeCodec("topk");
  memory.Encode(*codec, 0, std::vector<float>{1, 8, 2, 3},
                {.unit = 0, .parameter = 0.25, .random = {}});
  EXPECT_EQ(memory.Velocity(0)[1], 8.0f);
  EXPECT_EQ(memory.Residual(0)[1], 0.0f);
}

TEST(Momentum, RescalingLeavesTheMomentum) {
  Memory memory({.kind = MemoryKind::kMomentum}, 2, 1);
  memory.Compensate(0, std::vector<float>{1, 2});
  memory.Rescale(10);
  EXPECT_EQ(memory.Residual(0)[1], 20.0f);
  EXPECT_EQ(memory.Velocity(0)[1], 2.0f);
}

// Everything is sent, at density 1, and of vectors at any density: DGC equals momentum SGD on the
// mean gradient.
TEST(Dgc, IsMomentumSgdWhereAllIsSent) {
  for (const bool nesterov : {false, true}) {
    const auto scheme = MakeScheme(nesterov ? "dgc:nesterov=on" : "dgc");
    EXPECT_TRUE(scheme->Traits().owns_momentum);
    const auto matrix = scheme->Open(Matrix(20, 20), kWorkers);
    const auto vector = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    EXPECT_FALSE(scheme->Compresses(test::MakeUnit(kNumel), 0.001));
    std::vector<double> buffer(kNumel);
    for (int64_t step = 0; step < 20; ++step) {
      const auto gradients = Gradients(step);
      const auto one = test::RunStep(*matrix, {.info = {.step = step}, .parameter = 1}, gradients);
      const auto two =
          test::RunStep(*vector, {.info = {.step = step}, .parameter = 0.001}, gradients);
      for (int64_t i = 0; i < kNumel; ++i) {
        double mean = 0;
        for (const auto& gradient : gradients) mean += double{gradient[i]} / kWorkers;
        buffer[i] = 0.9 * buffer[i] + mean;
        const double update = nesterov ? mean + 0.9 * buffer[i] : buffer[i];
        ASSERT_NEAR(one[i], update, 2e-6);
        ASSERT_NEAR(two[i], update, 2e-6);
      }
      EXPECT_EQ(test::ResidualSquared(*matrix, 1), 0);
    }
  }
}

// Sent values and the residual add up to the momentum that was computed, whatever the densities.
TEST(Dgc, ChangesOfDensityLoseNothing) {
  const auto exchange = MakeScheme("dgc:masking=off")->Open(Matrix(20, 20), 1);
  std::vector<double> u(kNumel), corrected(kNumel), sent(kNumel);
  const std::vector<double> densities = {0.1, 1, 0.01, 0.5, 1, 0.001};
  for (size_t step = 0; step < densities.size(); ++step) {
    const auto gradient = test::Normals(kNumel, 50 + step);
    const auto mean = test::RunStep(
        *exchange, {.info = {.step = static_cast<int64_t>(step)}, .parameter = densities[step]},
        {gradient});
    for (int64_t i = 0; i < kNumel; ++i) {
      u[i] = 0.9 * u[i] + gradient[i];
      corrected[i] += u[i];
      sent[i] += mean[i];
      ASSERT_NEAR(sent[i] + exchange->Residual(0)[i], corrected[i], 1e-4);
    }
    EXPECT_EQ(test::ResidualSquared(*exchange, 0) == 0, densities[step] == 1);
  }
}

TEST(Dgc, OptionsAndClipping) {
  EXPECT_EQ(MakeScheme("dgc+fp16")->Name(), "dgc+fp16");
  EXPECT_EQ(MakeScheme("dgc:local_clip=4")->LocalClipNorm(16), 1.0);
  EXPECT_FALSE(MakeScheme("dgc")->LocalClipNorm(16));
  EXPECT_FALSE(MakeScheme("topk")->Traits().owns_momentum);
  EXPECT_TRUE(MakeScheme("topk:memory=momentum")->Traits().owns_momentum);
  for (const char* bad : {"dgc:memory=none", "dgc:momentum=1", "dgc:sample=2", "dgc:unknown=1"}) {
    EXPECT_THROW(MakeScheme(bad), Error) << bad;
  }
  EXPECT_THROW(MakeScheme("dgc", {.error_feedback = false}), Error);
}

// LoCo: the residual is a moving average of what was left over, and begins again.
TEST(Memory, AveragesResiduals) {
  constexpr int64_t kNumel = 50;
  const auto open = [](const std::string& text) {
    return MakeScheme(text)->Open(test::MakeUnit(kNumel, 0), 1);
  };
  const auto plain = open("topk"), exact = open("topk:memory=loco,beta=0,reset_every=0"),
             loco = open("topk:memory=loco,beta=0.8,reset_every=5");
  std::vector<float> residual(kNumel);
  for (int64_t step = 0; step < 12; ++step) {
    const UnitStep context{.info = {.seed = 1, .step = step}, .parameter = 0.1};
    const std::vector<std::vector<float>> gradients = {test::Normals(kNumel, 20 + step)};
    EXPECT_EQ(test::RunStep(*plain, context, gradients), test::RunStep(*exact, context, gradients));
    const std::vector<float> sent = test::RunStep(*loco, context, gradients);
    for (int64_t i = 0; i < kNumel; ++i) {
      const float left = gradients[0][i] + residual[i] - sent[i];
      residual[i] = step % 5 == 4 ? 0 : 0.8f * residual[i] + (1 - 0.8f) * left;
      ASSERT_NEAR(loco->Residual(0)[i], residual[i], 1e-6) << step;
    }
  }
}

// What is left over is rounded: to bf16, or to whole 127ths of the largest magnitude of 256 values.
TEST(Memory, StoresResidualsInFewerBits) {
  constexpr int64_t kNumel = 600;
  for (const std::string storage : {"fp32", "bf16", "int8"}) {
    const auto exchange = MakeScheme("topk:storage=" + storage)->Open(test::MakeUnit(kNumel, 0), 2);
    const auto plain = MakeScheme("topk")->Open(test::MakeUnit(kNumel, 0), 2);
    std::vector<float> residual(kNumel);
    for (int64_t step = 0; step < 5; ++step) {
      const UnitStep context{.info = {.seed = 1, .step = step}, .parameter = 0.1};
      const std::vector<std::vector<float>> gradients = {test::Normals(kNumel, 20 + step),
                                                         std::vector<float>(kNumel)};
      const std::vector<float> sent = test::RunStep(*exchange, context, gradients);
      if (storage == "fp32") {
        EXPECT_EQ(sent, test::RunStep(*plain, context, gradients));
        continue;
      }
      for (int64_t i = 0; i < kNumel; ++i) residual[i] += gradients[0][i] - 2 * sent[i];
      for (int64_t begin = 0; begin < kNumel; begin += 256) {
        const int64_t end = std::min(kNumel, begin + 256);
        float largest = 0;
        for (int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(residual[i]));
        for (int64_t i = begin; i < end; ++i) {
          const float kept = exchange->Residual(0)[i];
          if (storage == "int8") {
            const float code = kept / largest * 127;
            ASSERT_NEAR(code, std::round(code), 1e-4);
            ASSERT_LE(std::abs(kept - residual[i]), largest / 254 * 1.0001f);
          } else {
            ASSERT_LE(std::abs(kept - residual[i]), std::abs(residual[i]) / 256 + 1e-6f);
          }
          residual[i] = kept;
        }
      }
      exchange->RescaleResiduals(2);
      for (float& value : residual) value *= 2;
      for (int64_t i = 0; i < kNumel; ++i) {
        ASSERT_NEAR(exchange->Residual(0)[i], residual[i], 1e-5);
        residual[i] = exchange->Residual(0)[i];
      }
    }
  }
}

// Rounding the residual in every step neither lets it grow nor biases what is sent: over 10,000
// steps its largest norm is that of an exact residual, and sums of what is lost stay small.
TEST(Memory, StoredResidualsStayBounded) {
  constexpr int64_t kNumel = 64, kSteps = 10'000;
  struct Run {
    double largest = 0;  // norm of the residual
    double lost = 0;     // largest magnitude of the sum of what was neither sent nor kept
  };
  const auto run = [&](const std::string& text, double parameter) {
    const auto exchange = MakeScheme(text)->Open(test::MakeUnit(kNumel, 0), 1);
    std::vector<double> lost(kNumel);
    Run result;
    for (int64_t step = 0; step < kSteps; ++step) {
      const UnitStep context{.info = {.seed = 1, .step = step}, .parameter = parameter};
      const std::vector<std::vector<float>> gradients = {test::Normals(kNumel, 20 + step)};
      const std::vector<float> sent = test::RunStep(*exchange, context, gradients);
      double norm = 0;
      for (int64_t i = 0; i < kNumel; ++i) {
        lost[i] += double{gradients[0][i]} - sent[i];
        norm += std::pow(exchange->Residual(0)[i], 2);
      }
      result.largest = std::max(result.largest, std::sqrt(norm));
    }
    for (int64_t i = 0; i < kNumel; ++i) {
      result.lost = std::max(result.lost, std::abs(lost[i] - exchange->Residual(0)[i]));
    }
    return result;
  };
  const Run exact = run("topk", 0.1), loco = run("int:bucket=64,memory=loco", 4);
  EXPECT_LT(exact.lost, 0.01);
  for (const char* storage : {"bf16", "int8"}) {
    const Run kept = run(std::string("topk:storage=") + storage, 0.1);
    EXPECT_LT(kept.largest, 1.05 * exact.largest) << storage;
    EXPECT_LT(kept.lost, 5) << storage << ", of gradients of 1 in 10,000 steps";
    const Run average = run(std::string("int:bucket=64,memory=loco,storage=") + storage, 4);
    EXPECT_LT(average.largest, 1.05 * loco.largest) << storage;
  }
}

// The state of a worker has a byte for each value, and is exact. A mean of states has that storage,
// too.
TEST(Memory, SavesWhatIsStored) {
  const auto open = [] {
    return MakeScheme("topk:storage=int8")->Open(test::MakeUnit(kNumel, 0), 2);
  };
  const auto exchange = open(), other = open();
  const UnitStep context{.info = {.seed = 1, .step = 0}, .parameter = 0.1};
  test::RunStep(*exchange, context, {test::Normals(kNumel, 1), test::Normals(kNumel, 2)});
  std::vector<Bytes> states;
  for (int w = 0; w < 2; ++w) {
    StateWriter out;
    exchange->SaveWorker(w, out);
    states.push_back(out.Take());
    EXPECT_LT(states.back().size(), kNumel + 150);
    StateReader in(states.back());
    other->LoadWorker(w, in);
    in.ExpectEnd();
  }
  EXPECT_EQ(other->Save(), exchange->Save());
  const Bytes mean = MeanOfWorkers(std::vector<ByteSpan>(states.begin(), states.end()));
  StateReader in(mean);
  other->LoadWorker(0, in);
  in.ExpectEnd();
  const std::span<const float> given = exchange->Residual(0);
  const std::vector<float> first(given.begin(), given.end());
  for (int64_t i = 0; i < kNumel; ++i) {
    ASSERT_NEAR(other->Residual(0)[i], (first[i] + exchange->Residual(1)[i]) / 2, 0.02) << i;
  }
  const auto exact = MakeScheme("topk")->Open(test::MakeUnit(kNumel, 0), 2);
  StateReader wrong(states[0]);
  EXPECT_THROW(exact->LoadWorker(0, wrong), Error);
  Bytes corrupt = states[1];
  corrupt[corrupt.size() - 12] = std::byte{0xFF};  // no code is above 254
  StateReader bad(corrupt);
  EXPECT_THROW(other->LoadWorker(1, bad), Error);
}

TEST(Memory, ChargesWhatStorageTakes) {
  const auto elements = [](const char* text) {
    const auto plan = MakeScheme(text)->Plan(test::MakeUnit(1000, 0), 0.1, 2);
    int64_t sum = 0;
    for (const Work& work : plan->front().call.encode) sum += work.elements;
    return sum;
  };
  EXPECT_GE(elements("topk:storage=bf16"), elements("topk") + 2000) << "read once, written once";
  EXPECT_GE(elements("topk:storage=int8"), elements("topk") + 2000);
  EXPECT_EQ(elements("topk:storage=fp32"), elements("topk"));
}

TEST(Memory, RefusesStorageOfOtherMemories) {
  for (const char* text :
       {"topk:storage=int8,memory=momentum", "topk:storage=bf16,memory=ef21", "dgc:storage=int8",
        "maxmin:reduction=ring,storage=int8", "topk:storage=int4"}) {
    EXPECT_THROW(MakeScheme(text), Error) << text;
  }
  EXPECT_FALSE(MakeScheme("topk:storage=int8")->Traits().takes_candidates);
}

}  // namespace
}  // namespace legacy::memory_test