// Messages to the owners of slices, as sharded trainings send them.
#include "compress/schemes/owners/owned_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/exchange.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"

namespace legacy::owned_slices_test {
namespace {

constexpr int kWorkers = 4;
constexpr int64_t kRows = 10, kColumns = 30, kNumel = kRows * kColumns;

Unit Matrix() {
  Unit unit = test::MakeUnit(kNumel, 1);
  unit.shape = {kRows, kColumns};
  return unit;
}

std::vector<std::vector<float>> Gradients(int64_t step, int workers = kWorkers) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < workers; ++w) gradients.push_back(test::Normals(kNumel, 100 * step + w));
  return gradients;
}

UnitStep StepOf(int64_t step, double parameter) {
  return {.info = {.seed = 7, .step = step}, .parameter = parameter};
}

std::vector<int64_t> Sizes(const Unit& unit, const Cut& cut) {
  std::vector<int64_t> sizes;
  int64_t offset = unit.offset;
  for (const Unit& slice : CutUnit(unit, cut)) {
    EXPECT_EQ(slice.offset, offset);
    int64_t product = 1;
    for (const int64_t side : slice.shape) product *= side;
    EXPECT_EQ(product, slice.numel);
    sizes.push_back(slice.numel);
    offset += slice.numel;
  }
  EXPECT_EQ(offset, unit.offset + unit.numel);
  return sizes;
}

TEST(OwnedSlices, AreCutAsFrameworksCutTensors) {
  using List = std::vector<int64_t>;
  EXPECT_EQ(Sizes(Matrix(), {4, true}), (List{90, 90, 90, 30}));
  EXPECT_EQ(Sizes(Matrix(), {4, false}), (List{75, 75, 75, 75}));
  EXPECT_EQ(Sizes(Matrix(), {7, true}), (List{60, 60, 60, 60, 60})) << "the last two own nothing";
  EXPECT_EQ(Sizes(Matrix(), {7, false}), (List{43, 43, 43, 43, 43, 43, 42}));
  EXPECT_EQ(Sizes(Matrix(), {1, true}), (List{300}));
  EXPECT_EQ(Sizes(test::MakeUnit(3, 0), {8, true}), (List{1, 1, 1}));
}

// Every worker's message to an owner is the message of the slice alone, and the owner's mean is
// that of an exchange of the slice alone. The first slice shares its draws with such an exchange.
TEST(OwnedSlices, EachSliceIsAUnitOfItsOwn) {
  for (const char* text : {"topk", "topk:index=u32+bf16", "qsgd:norm=max,bucket=64", "threshold"}) {
    const std::string name = text;
    const size_t plus = name.find('+');
    const std::string first = name.substr(0, plus);
    const std::string owned = first + (first.find(':') == name.npos ? ":" : ",") + "owners=4" +
                              (plus == name.npos ? "" : name.substr(plus));
    const auto together = MakeScheme(owned)->Open(Matrix(), kWorkers);
    const Unit slice = CutUnit(Matrix(), {kWorkers, true}).front();
    const auto alone = MakeScheme(text)->Open(slice, kWorkers);
    const double parameter = name.starts_with("qsgd") ? 4 : name == "threshold" ? 1 : 0.05;
    for (int64_t step = 0; step < 4; ++step) {
      auto gradients = Gradients(step);
      const std::vector<float> mean = test::RunStep(*together, StepOf(step, parameter), gradients);
      for (auto& gradient : gradients) gradient.resize(static_cast<size_t>(slice.numel));
      const std::vector<float> own = test::RunStep(*alone, StepOf(step, parameter), gradients);
      EXPECT_TRUE(std::equal(own.begin(), own.end(), mean.begin())) << text;
    }
  }
}

TEST(OwnedSlices, WithEverythingSentAreDense) {
  const auto gradients = Gradients(3);
  const auto dense =
      test::RunStep(*MakeScheme("dense")->Open(Matrix(), kWorkers), StepOf(0, 1), gradients);
  for (const char* text : {"dense:owners=4", "dense:owners=2,cut=values", "topk:owners=4"}) {
    EXPECT_EQ(test::RunStep(*MakeScheme(text)->Open(Matrix(), kWorkers), StepOf(0, 1), gradients),
              dense)
        << text;
  }
}

// The decoded values and the residuals add up to the gradients.
TEST(OwnedSlices, LoseNothing) {
  for (const char* text : {"topk:owners=4", "topk:owners=2,cut=values", "sidco:owners=4"}) {
    const auto exchange = MakeScheme(text)->Open(Matrix(), kWorkers);
    std::vector<double> in(kNumel), out(kNumel);
    for (int64_t step = 0; step < 5; ++step) {
      const auto gradients = Gradients(step);
      const auto mean = test::RunStep(*exchange, StepOf(step, 0.05), gradients);
      for (int64_t i = 0; i < kNumel; ++i) {
        for (const auto& gradient : gradients) in[i] += gradient[i];
        out[i] += static_cast<double>(mean[i]) * kWorkers;
      }
    }
    for (int w = 0; w < kWorkers; ++w) {
      const std::span<const float> residual = exchange->Residual(w);
      ASSERT_EQ(std::ssize(residual), kNumel);
      for (int64_t i = 0; i < kNumel; ++i) out[i] += residual[i];
    }
    for (int64_t i = 0; i < kNumel; ++i) EXPECT_NEAR(in[i], out[i], 1e-4) << text << " " << i;
  }
}

// Sends one step and returns its calls with the bytes that were sent.
std::vector<SentCall> SentBy(const char* text, double parameter) {
  const auto exchange = MakeScheme(text)->Open(Matrix(), kWorkers);
  const auto gradients = Gradients(1);
  std::vector<SentCall> calls;
  const std::vector<int> all = {0, 1, 2, 3};
  exchange->Begin(StepOf(0, parameter));
  while (const auto call = exchange->NextCall()) {
    SentCall& sent = calls.emplace_back(Unsent(*call, kWorkers));
    std::vector<Message> messages;
    for (int w = 0; w < kWorkers; ++w) {
      messages.push_back(exchange->Encode(
          w, calls.size() == 1 ? std::span<const float>(gradients[w]) : std::span<const float>()));
    }
    for (int w = 0; w < kWorkers; ++w) {
      SetSent(w, messages[w].size(), exchange->PartBytes(w, messages[w].bytes), all, sent);
      exchange->Accumulate(w, messages[w].bytes);
    }
    exchange->FinishCall();
  }
  return calls;
}

TEST(OwnedSlices, SendEachOwnerItsPart) {
  const auto planned = SentBy("topk:owners=4", 0.05);
  ASSERT_EQ(planned.size(), 1U);
  const SentCall& call = planned.front();
  EXPECT_EQ(call.reduction, Reduction::kOwned);
  EXPECT_EQ(call.collective, Collective::kAllToAll);
  // 4, 4, 4 and 1 values with positions of 7, 7, 7 and 5 bits: 12 bits are 2 bytes.
  const auto slice_bytes = [](int64_t numel) {
    Unit unit = test::MakeUnit(numel, 0);
    return *MakeScheme("topk")->MessageBytes(unit, 0.05);
  };
  EXPECT_EQ(call.owned->bytes,
            (std::vector{slice_bytes(90), slice_bytes(90), slice_bytes(90), slice_bytes(30)}));
  EXPECT_TRUE(call.pair_bytes.empty());
  EXPECT_EQ(call.bytes.front(),
            std::accumulate(call.owned->bytes.begin(), call.owned->bytes.end(), int64_t{0}));

  // Lengths that depend on the data travel first: 4 bytes to each owner. Two copies of the model
  // have two owners each.
  const auto announced = SentBy("threshold:owners=2", 1);
  ASSERT_EQ(announced.size(), 2U);
  for (const SentCall& sent : announced) {
    EXPECT_TRUE(sent.owned->bytes.empty());
    ASSERT_EQ(sent.pair_bytes.size(), size_t{kWorkers * kWorkers});
    for (int w = 0; w < kWorkers; ++w) {
      int64_t own = 0, other = 0;
      for (int to = 0; to < kWorkers; ++to) {
        (to / 2 == w / 2 ? own : other) += sent.pair_bytes[w * kWorkers + to];
      }
      EXPECT_EQ(own, sent.bytes[w]);
      EXPECT_EQ(other, 0);
    }
  }
  EXPECT_EQ(announced[0].bytes, (std::vector<int64_t>(4, 8)));
  EXPECT_GT(announced[1].bytes[0], 2 * 16);
}

// A worker encodes all slices, and decodes its own alone: that of the workers of its copy.
TEST(OwnedSlices, ChargeAnOwnerItsSlice) {
  const auto elements = [](const WorkList& work) {
    int64_t sum = 0;
    for (const Work& entry : work) sum += entry.kernel.ends_with("decode") ? entry.elements : 0;
    return sum;
  };
  const auto whole = SentBy("qsgd", 4).front(),
             four = SentBy("qsgd:owners=4,cut=values", 4).front(),
             two = SentBy("qsgd:owners=2,cut=values", 4).front();
  EXPECT_EQ(elements(four.decode), elements(whole.decode) / 4);
  EXPECT_EQ(elements(two.decode), elements(whole.decode) / 4) << "half, of half the workers";
}

// With nodes there are two exchanges: inside nodes, of slices whose owners have one position, and
// across them, of the nodes' means.
TEST(OwnedSlices, CrossNodesOnce) {
  const char* text = "int:owners=4,node=2,bucket=64,cut=values,decay=0";
  const auto calls = SentBy(text, 8);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].owned->group, 2);
  EXPECT_EQ(calls[0].owned->stride, 1);
  EXPECT_EQ(calls[1].owned->group, 2);
  EXPECT_EQ(calls[1].owned->stride, 2);
  const int64_t slice = 20 + 8 + 75;  // two scales
  EXPECT_EQ(calls[0].owned->bytes, (std::vector<int64_t>(4, 2 * slice)));
  EXPECT_EQ(calls[1].owned->bytes, (std::vector<int64_t>(4, slice)));
  EXPECT_EQ(calls[0].bytes[3], 4 * slice);
  EXPECT_EQ(calls[1].bytes[3], 2 * slice);
  // The mean is that of the workers, within both roundings.
  const auto gradients = Gradients(1);
  const auto mean =
      test::RunStep(*MakeScheme(text)->Open(Matrix(), kWorkers), StepOf(0, 8), gradients);
  const auto dense =
      test::RunStep(*MakeScheme("dense")->Open(Matrix(), kWorkers), StepOf(0, 1), gradients);
  double error = 0;
  for (int64_t i = 0; i < kNumel; ++i)
    error = std::max(error, std::abs(double{mean[i]} - dense[i]));
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.06);
  // More bits inside the node leave the error of the others.
  const auto error_of = [&](const std::string& options) {
    double sum = 0;
    const auto exchange =
        MakeScheme("int:owners=4,bucket=64,decay=0" + options)->Open(Matrix(), kWorkers);
    for (int64_t step = 0; step < 20; ++step) {
      const auto some = Gradients(step);
      const auto got = test::RunStep(*exchange, StepOf(step, 4), some);
      for (int64_t i = 0; i < kNumel; ++i) {
        double exact = 0;
        for (const auto& gradient : some) exact += gradient[i] / double{kWorkers};
        sum += std::pow(got[i] - exact, 2);
      }
    }
    return sum;
  };
  EXPECT_LT(error_of(",node=2,inner=8"), 0.75 * error_of(",node=2"));
  EXPECT_LT(error_of(""), error_of(",node=2"));
  for (const char* bad : {"int:owners=4,node=3", "threshold:owners=4,node=2"}) {
    EXPECT_THROW(MakeScheme(bad), Error) << bad;
  }
  EXPECT_EQ(SentBy("int:owners=4,node=4", 8).size(), 1U) << "all owners are in one node";
}

TEST(OwnedSlices, RefuseSumsThatAreNeededWhole) {
  for (const char* text :
       {"powersgd", "ar-topk", "flexible-topk", "bf16:reduction=hop", "maxmin:reduction=requantise",
        "topk:where=after-mean", "topk:where=server", "oktopk", "omnireduce", "thc", "dynamiq",
        "arc", "terngrad-shared", "onebit-adam"}) {
    const std::string name = text;
    const std::string owned = name + (name.find(':') == name.npos ? ":" : ",") + "owners=2";
    const std::string message = MessageOf([&] { MakeScheme(owned); });
    EXPECT_NE(message.find("option owners of"), std::string::npos) << text << ": " << message;
  }
  CollectiveCall three{.reduction = Reduction::kOwned, .collective = Collective::kAllToAll};
  three.owned = {.owners = 3, .rows = true, .bytes = {}};
  SentCall sent = Unsent(three, kWorkers);
  const std::vector<int> all = {0, 1, 2, 3};
  EXPECT_NE(MessageOf([&] {
              SetSent(0, 3, std::vector<int64_t>{1, 1, 1}, all, sent);
            }).find("a divisor of the 4 workers"),
            std::string::npos);
  EXPECT_THROW(MakeScheme("topk:owners=-1"), Error);
  EXPECT_THROW(MakeScheme("topk:owners=2,cut=columns"), Error);
}

// All other schemes take owners.
TEST(OwnedSlices, ServeEverySchemeOfOneMessage) {
  int served = 0;
  for (const std::string& name : SchemeNames()) {
    try {
      MakeScheme(name + ":owners=4");
    } catch (const Error&) {
      continue;
    }
    const auto scheme = MakeScheme(name + ":owners=4");
    const auto exchange = scheme->Open(Matrix(), kWorkers);
    for (int64_t step = 0; step < 3; ++step) {
      const auto mean =
          test::RunStep(*exchange, StepOf(step, scheme->Parameter().fallback), Gradients(step));
      // The rate of demo is 0 here, and variance waits for more gradients.
      if (name == "demo" || name == "variance") continue;
      EXPECT_TRUE(std::ranges::any_of(mean, [](float value) { return value != 0; })) << name;
    }
    EXPECT_EQ(scheme->Traits().owners, 4);
    ++served;
  }
  EXPECT_GE(served, 29);
}

}  // namespace
}  // namespace legacy::owned_slices_test
