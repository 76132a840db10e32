// Compression of the mean: where=after-mean, server and both.
#include "compress/schemes/compressed_mean.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/exchange.h"
#include "compress/policy.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"

namespace legacy::compressed_mean_test {
namespace {

constexpr int64_t kNumel = 1000;
constexpr double kDensity = 0.02;

using Gradients = std::vector<std::vector<float>>;

Gradients Different(int workers, int64_t step) {
  Gradients gradients;
  for (int w = 0; w < workers; ++w) gradients.push_back(test::Normals(kNumel, 100 * step + w));
  return gradients;
}

std::vector<float> MeanOf(const Gradients& gradients) {
  std::vector<float> mean(kNumel);
  for (const auto& gradient : gradients) {
    for (int64_t i = 0; i < kNumel; ++i) mean[i] += gradient[i];
  }
  for (float& value : mean) value /= static_cast<float>(gradients.size());
  return mean;
}

UnitStep StepOf(int64_t step, double parameter = kDensity) {
  return {.info = {.seed = 7, .step = step}, .parameter = parameter};
}

// Runs steps with two schemes and expects the same means and residuals.
void ExpectEqual(const std::string& one, const std::string& other, int workers, bool alike) {
  const auto a = MakeScheme(one)->Open(test::MakeUnit(kNumel), workers);
  const auto b = MakeScheme(other)->Open(test::MakeUnit(kNumel), workers);
  const double parameter = one == "qsgd" ? 4 : kDensity;
  for (int64_t step = 0; step < 5; ++step) {
    Gradients gradients = Different(workers, step);
    if (alike) std::ranges::fill(gradients, Gradients::value_type(gradients.front()));
    ASSERT_EQ(test::RunStep(*a, StepOf(step, parameter), gradients),
              test::RunStep(*b, StepOf(step, parameter), gradients))
        << one << " and " << other;
    ASSERT_TRUE(std::ranges::equal(a->Residual(0), b->Residual(0))) << one << " and " << other;
  }
}

TEST(CompressedMean, EqualsWorkersWhereThereIsOneMean) {
  for (const std::string codec : {"topk", "randomk", "qsgd"}) {
    ExpectEqual(codec, codec + ":where=after-mean", 1, false);
  }
  ExpectEqual("topk+rbf", "topk:where=after-mean+rbf", 1, false);
  // Equal gradients, and a number of workers that divides exactly.
  ExpectEqual("topk", "topk:where=after-mean", 4, true);
  ExpectEqual("dense", "dense:where=after-mean", 3, false);
}

TEST(CompressedMean, SelectsFromTheMeanAndLosesNothing) {
  constexpr int kWorkers = 5;
  const auto exchange = MakeScheme("topk:where=after-mean")->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<float> residual(kNumel);
  for (int64_t step = 0; step < 6; ++step) {
    const Gradients gradients = Different(kWorkers, step);
    const std::vector<float> update = test::RunStep(*exchange, StepOf(step), gradients);
    EXPECT_LE(std::ranges::count_if(update, [](float u) { return u != 0; }), kDensity * kNumel);
    const std::vector<float> mean = MeanOf(gradients);
    for (int64_t i = 0; i < kNumel; ++i) {
      ASSERT_NEAR(exchange->Averaged()[i], mean[i], 1e-6);
      const float fed = exchange->Averaged()[i] + residual[i];
      ASSERT_EQ(exchange->AveragedFed()[i], fed);
      ASSERT_EQ(update[i] + exchange->Residual(3)[i], fed);
    }
    residual.assign(exchange->Residual(0).begin(), exchange->Residual(0).end());
    EXPECT_EQ(exchange->ElementsSent(), kDensity * kNumel);
  }
}

TEST(CompressedMean, AgainChangesBytesAndNoResult) {
  for (const int workers : {1, 4, 5}) {
    for (const std::string again : {"gather", "dense"}) {
      ExpectEqual("topk:where=after-mean", "topk:where=after-mean,again=" + again, workers, false);
    }
  }
  const Unit unit = test::MakeUnit(kNumel);
  const int64_t dense = *MakeScheme("dense")->MessageBytes(unit, 1);
  const int64_t topk = *MakeScheme("topk")->MessageBytes(unit, kDensity);
  const auto bytes = [&](const std::string& again) {
    return MakeScheme("topk:where=after-mean" + again)->MessageBytes(unit, kDensity);
  };
  EXPECT_EQ(bytes(""), dense);
  EXPECT_EQ(bytes(",again=gather"), dense + topk);
  EXPECT_EQ(bytes(",again=dense"), 2 * dense);
}

TEST(CompressedMean, EachWorkerDoesTheWorkOfOneMessage) {
  const Unit unit = test::MakeUnit(kNumel);
  const auto elements = [](const WorkList& works, const std::string& kernel) {
    int64_t sum = 0;
    for (const Work& work : works) sum += work.kernel == kernel ? work.elements : 0;
    return sum;
  };
  const auto own = MakeScheme("topk")->Plan(unit, kDensity, 1)->front().call;
  for (const int workers : {1, 8}) {
    const auto calls = *MakeScheme("topk:where=after-mean")->Plan(unit, kDensity, workers);
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].call.collective, Collective::kAllReduce);
    for (const WorkList& works : {own.encode, own.decode}) {
      for (const Work& work : works) {
        EXPECT_GE(elements(calls[0].call.decode, work.kernel), work.elements) << work.kernel;
      }
    }
    const auto gather =
        *MakeScheme("topk:where=after-mean,again=gather")->Plan(unit, kDensity, workers);
    ASSERT_EQ(gather.size(), 2u);
    EXPECT_EQ(gather[1].call.collective, Collective::kAllGather);
    for (const Work& work : own.decode) {
      EXPECT_EQ(elements(gather[1].call.decode, work.kernel), workers * work.elements);
    }
  }
}

// A server's Top-K draws nothing, so its update is that of workers that compress the mean.
TEST(CompressedMean, IsTheSameAtAServer) {
  for (const int workers : {1, 3}) {
    ExpectEqual("topk:where=after-mean", "topk:where=server", workers, false);
  }
}

// u + r' = mean C(g_w + r_w) + r, and the workers' residuals are those of where=worker.
TEST(CompressedMean, CompressesTwiceAndLosesNothing) {
  constexpr int kWorkers = 4;
  const Unit unit = test::MakeUnit(kNumel);
  const auto workers = MakeScheme("topk")->Open(unit, kWorkers);
  const auto both = MakeScheme("topk:where=both")->Open(unit, kWorkers);
  std::vector<double> owed(kNumel);  // what the server has got and not returned
  for (int64_t step = 0; step < 8; ++step) {
    const Gradients gradients = Different(kWorkers, step);
    const std::vector<float> mean = test::RunStep(*workers, StepOf(step), gradients);
    const std::vector<float> update = test::RunStep(*both, StepOf(step), gradients);
    EXPECT_EQ(std::ranges::count_if(update, [](float u) { return u != 0; }), kDensity * kNumel);
    for (int w = 0; w < kWorkers; ++w) {
      ASSERT_TRUE(std::ranges::equal(both->Residual(w), workers->Residual(w)));
    }
    for (int64_t i = 0; i < kNumel; ++i) {
      owed[i] += mean[i];
      ASSERT_TRUE(update[i] == 0 || std::abs(update[i] - owed[i]) < 1e-5) << i;
      owed[i] -= update[i];
    }
  }
}

// A server rounds by draws of its own, so that its rounding does not depend on a worker's.
TEST(CompressedMean, DrawsAnotherRoundingAtTheServer) {
  const Unit unit = test::MakeUnit(kNumel);
  const Gradients gradients = Different(1, 3);
  const auto update = [&](const std::string& where) {
    const SchemeOptions options{.error_feedback = false};
    return test::RunStep(*MakeScheme("qsgd:where=" + where, options)->Open(unit, 1), StepOf(0, 2),
                         gradients);
  };
  EXPECT_EQ(update("worker"), update("after-mean"));
  EXPECT_NE(update("worker"), update("server"));
}

TEST(CompressedMean, ServersWorkAndAnswerWithOneMessage) {
  const Unit unit = test::MakeUnit(kNumel);
  const int64_t dense = *MakeScheme("dense")->MessageBytes(unit, 1);
  const PlannedCall own = MakeScheme("topk")->Plan(unit, kDensity, 1)->front();
  const PlannedCall gathered = MakeScheme("topk")->Plan(unit, kDensity, 6)->front();
  const auto sum = [](WorkList one, const WorkList& other) {
    AddWork(other, one);
    return one;
  };
  const auto expect_equal = [](const WorkList& a, const WorkList& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].kernel, b[i].kernel);
      EXPECT_EQ(a[i].elements, b[i].elements);
      EXPECT_EQ(a[i].launches, b[i].launches);
    }
  };
  const auto server = MakeScheme("topk:where=server")->Plan(unit, kDensity, 6)->front();
  EXPECT_EQ(server.bytes, dense);
  const auto both = MakeScheme("topk:where=both")->Plan(unit, kDensity, 6)->front();
  EXPECT_EQ(both.bytes, own.bytes);
  expect_equal(both.call.encode, own.call.encode);
  expect_equal(both.call.serve, sum(gathered.call.decode, own.call.encode));
  for (const CollectiveCall& call : {server.call, both.call}) {
    EXPECT_EQ(call.reduction, Reduction::kServed);
    EXPECT_EQ(call.pull, own.bytes);
    expect_equal(call.decode, own.call.decode);
  }
}

// Returns the energy of the k largest magnitudes.
double LargestEnergy(std::span<const float> values, size_t k) {
  std::vector<double> squares;
  for (const float x : values) squares.push_back(double{x} * double{x});
  std::ranges::sort(squares, std::greater());
  return std::accumulate(squares.begin(), squares.begin() + static_cast<int64_t>(k), 0.0);
}

int64_t ElementsOf(const WorkList& works, const std::string& kernel) {
  int64_t sum = 0;
  for (const Work& work : works) sum += work.kernel == kernel ? work.elements : 0;
  return sum;
}

// Candidates are measured on e, after the only call, and the one that is chosen gives the bits of a
// step with that density.
TEST(CompressedMean, ChoosesAmongCandidatesOnceTheMeanIsKnown) {
  constexpr int kWorkers = 4;
  const std::vector<double> candidates = {1, 0.1, kDensity};
  for (const bool estimate : {false, true}) {
    const auto scheme = MakeScheme("topk:where=after-mean");
    ASSERT_TRUE(scheme->Traits().takes_candidates);
    const auto chosen = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    const auto given = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    for (int64_t step = 0; step < 9; ++step) {
      const size_t choice = 2 - static_cast<size_t>(step) % 3;
      const Gradients gradients = Different(kWorkers, step);
      UnitStep context = StepOf(step);
      context.candidates = candidates;
      context.estimate = estimate;
      chosen->Begin(context);
      CollectiveCall call = chosen->NextCall().value();
      EXPECT_EQ(call.collective, Collective::kAllReduce);
      for (int w = 0; w < kWorkers; ++w) {
        chosen->Accumulate(w, chosen->Encode(w, gradients[w]).bytes);
      }
      chosen->Complete(call);
      EXPECT_EQ(ElementsOf(call.decode, "topk.encode"), 0);
      chosen->FinishCall();
      const std::span<const float> e = chosen->AveragedFed();
      const Probe probe = chosen->Measure(0, {});
      const double all = LargestEnergy(e, kNumel);
      EXPECT_NEAR(probe.squared, all, 1e-5 * all);
      ASSERT_EQ(probe.kept.size(), 3u);
      for (size_t c = 0; c < 3; ++c) {
        const auto k = static_cast<size_t>(candidates[c] * kNumel);
        EXPECT_NEAR(probe.kept[c], LargestEnergy(e, k), (estimate ? 1e-2 : 1e-5) * all);
      }
      chosen->Choose(choice);
      chosen->Complete(call);
      EXPECT_EQ(ElementsOf(call.decode, "sparse.encode"),
                choice == 0 ? 0 : candidates[choice] * kNumel);
      EXPECT_EQ(ElementsOf(call.decode, "topk.encode"), estimate && choice > 0 ? kNumel : 0)
          << "measuring has selected already";
      EXPECT_FALSE(chosen->NextCall());
      std::vector<float> update(kNumel);
      chosen->Mean(update);
      ASSERT_EQ(update, test::RunStep(*given, StepOf(step, candidates[choice]), gradients));
      ASSERT_TRUE(std::ranges::equal(chosen->Residual(0), given->Residual(0)));
      EXPECT_EQ(chosen->ElementsSent(), given->ElementsSent());
    }
    EXPECT_EQ(chosen->Save(), given->Save());
  }
}

TEST(CompressedMean, LeavesTheChoiceToNobodyWhereOthersSend) {
  for (const std::string where : {"server", "both", "after-mean,again=gather"}) {
    const auto scheme = MakeScheme("topk:where=" + where);
    EXPECT_FALSE(scheme->Traits().takes_candidates) << where;
    UnitStep context = StepOf(0);
    context.candidates = {1, 0.1};
    EXPECT_THROW(scheme->Open(test::MakeUnit(kNumel), 2)->Begin(context), Error) << where;
    EXPECT_NE(MessageOf([&] {
                MakePolicy("gravac", {.scheme = scheme.get(), .units = {test::MakeUnit(kNumel)}});
              }).find("after-mean and again=off"),
              std::string::npos);
  }
  EXPECT_FALSE(MakeScheme("qsgd:where=after-mean")->Traits().takes_candidates);
}

TEST(CompressedMean, RefusesWhatIsNotOneMean) {
  const auto message = [](const std::string& scheme) -> std::string {
    try {
      MakeScheme(scheme);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message("topk:where=after-mean"), "nothing");
  EXPECT_NE(message("sidco:where=after-mean").find("depend on the data"), std::string::npos);
  EXPECT_NE(message("topk:where=after-mean,memory=momentum").find("memory=momentum"),
            std::string::npos);
  EXPECT_NE(message("qsgd:where=after-mean,reduction=requantise").find("rounded on the way"),
            std::string::npos);
  EXPECT_NE(message("topk:again=gather").find("off without where=after-mean"), std::string::npos);
  EXPECT_NE(message("sidco:where=both").find("depend on the data"), std::string::npos);
  EXPECT_NE(message("topk:where=server,again=gather").find("off without"), std::string::npos);
  EXPECT_NE(message("topk:where=switch").find("worker, after-mean, server"), std::string::npos);
  EXPECT_NE(message("powersgd:where=after-mean").find("where"), std::string::npos);
}

TEST(CompressedMean, NoticesMessagesThatDiffer) {
  const auto exchange =
      MakeScheme("topk:where=after-mean,again=gather")->Open(test::MakeUnit(kNumel), 2);
  exchange->Begin(StepOf(0));
  const Gradients gradients = Different(2, 0);
  exchange->NextCall();
  for (int w = 0; w < 2; ++w) exchange->Accumulate(w, exchange->Encode(w, gradients[w]).bytes);
  exchange->FinishCall();
  ASSERT_TRUE(exchange->NextCall());
  Message message = exchange->Encode(1, {});
  exchange->Accumulate(0, message.bytes);
  message.bytes.back() ^= std::byte{1};
  EXPECT_THROW(exchange->Accumulate(1, message.bytes), Error);
}

}  // namespace
}  // namespace legacy::compressed_mean_test
