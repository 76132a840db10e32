// Several parameter servers that compress, each its slice: where=server and both with `servers`.
#include "compress/schemes/served_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/exchange.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"

namespace legacy::served_slices_test {
namespace {

constexpr int kWorkers = 4;
constexpr int64_t kNumel = 1003;
constexpr double kDensity = 0.02;

using Values = std::vector<double>;

UnitStep StepOf(int64_t step, double parameter = kDensity) {
  return {.info = {.seed = 7, .step = step}, .parameter = parameter};
}

std::vector<std::vector<float>> Gradients(int64_t numel, int64_t step) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) gradients.push_back(test::Normals(numel, 100 * step + w));
  return gradients;
}

// Keeps the k largest magnitudes of e = values + residual; the residual gets the others.
Values Kept(const Values& values, size_t k, Values& residual) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    residual[i] += values[i];
  }
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return std::abs(residual[a]) > std::abs(residual[b]); });
  Values kept(values.size());
  for (size_t i = 0; i < std::min(k, order.size()); ++i) {
    std::swap(kept[order[i]], residual[order[i]]);
  }
  return kept;
}

// One server with its slice, in double precision.
struct Server {
  size_t begin = 0, size = 0;
  Values residual;
  std::vector<Values> of_workers;

  void Step(const std::vector<std::vector<float>>& gradients, bool both, Values& update) {
    const auto k = std::max<size_t>(1, static_cast<size_t>(kDensity * static_cast<double>(size)));
    Values mean(size);
    for (int w = 0; w < kWorkers; ++w) {
      Values part(gradients[w].begin() + static_cast<int64_t>(begin),
                  gradients[w].begin() + static_cast<int64_t>(begin + size));
      if (both) part = Kept(part, k, of_workers[w]);
      for (size_t i = 0; i < size; ++i) mean[i] += part[i] / kWorkers;
    }
    const Values kept = Kept(mean, k, residual);
    std::ranges::copy(kept, update.begin() + static_cast<int64_t>(begin));
  }
};

std::vector<Server> Servers(size_t numel, size_t count) {
  std::vector<Server> servers;
  for (size_t s = 0, begin = 0; s < count; ++s) {
    const size_t size = (numel + count - 1 - s) / count;
    servers.push_back({begin, size, Values(size), std::vector<Values>(kWorkers, Values(size))});
    begin += size;
  }
  return servers;
}

TEST(ServedSlices, AreCompressedByTheirServersAlone) {
  for (const bool both : {false, true}) {
    const std::string where = both ? "both" : "server";
    const Unit unit = test::MakeUnit(kNumel);
    const auto exchange = MakeScheme("topk:where=" + where + ",servers=3")->Open(unit, kWorkers);
    std::vector<Server> servers = Servers(kNumel, 3);
    for (int64_t step = 0; step < 6; ++step) {
      const auto gradients = Gradients(kNumel, step);
      const std::vector<float> update = test::RunStep(*exchange, StepOf(step), gradients);
      Values expected(kNumel);
      for (Server& server : servers) server.Step(gradients, both, expected);
      for (int64_t i = 0; i < kNumel; ++i) {
        ASSERT_NEAR(update[i], expected[i], 1e-5) << where << ", step " << step << ", " << i;
      }
      EXPECT_EQ(exchange->ElementsSent(), 6 + 6 + 6) << "2 % of 335, 334 and 334";
      for (const Server& server : servers) {
        for (size_t i = 0; i < server.size; ++i) {
          const Values& residual = both ? server.of_workers[1] : server.residual;
          ASSERT_NEAR(exchange->Residual(1)[server.begin + i], residual[i], 1e-5);
        }
      }
    }
  }
}

TEST(ServedSlices, OfOneServerAreTheUnit) {
  for (const std::string codec : {"topk", "qsgd:norm=max", "randomk", "eden"}) {
    for (const std::string where : {"server", "both"}) {
      const std::string text =
          codec + (codec.find(':') == std::string::npos ? ":" : ",") + "where=" + where;
      const auto plain = MakeScheme(text), one = MakeScheme(text + ",servers=1");
      const double parameter = plain->Parameter().fallback;
      const Unit unit = test::MakeUnit(kNumel);
      const auto a = plain->Open(unit, kWorkers), b = one->Open(unit, kWorkers);
      EXPECT_TRUE(plain->Plan(unit, parameter, kWorkers)->front().call.served.empty());
      for (int64_t step = 0; step < 3; ++step) {
        ASSERT_EQ(test::RunStep(*a, StepOf(step, parameter), Gradients(kNumel, step)),
                  test::RunStep(*b, StepOf(step, parameter), Gradients(kNumel, step)));
      }
      EXPECT_EQ(a->Save(), b->Save()) << text;
    }
  }
}

TEST(ServedSlices, HaveTheBytesOfTheirMessages) {
  const auto bytes = [](const std::string& text, int64_t numel) {
    return *MakeScheme(text)->MessageBytes(test::MakeUnit(numel), kDensity);
  };
  const auto scheme = [](const std::string& where) {
    return MakeScheme("topk:where=" + where + ",servers=4");
  };
  for (const int64_t numel : {1003, 4, 3, 1, 0}) {
    const Unit unit = test::MakeUnit(numel);
    for (const std::string where : {"server", "both"}) {
      const PlannedCall call = scheme(where)->Plan(unit, kDensity, kWorkers)->front();
      EXPECT_EQ(call.call.reduction, Reduction::kServed);
      ASSERT_EQ(call.call.served.size(), 4u);
      int64_t sent = 0, answered = 0;
      for (int64_t s = 0; s < 4; ++s) {
        const int64_t slice = numel / 4 + (s < numel % 4 ? 1 : 0);
        const bool none = slice == 0 && s > 0;
        const ServedSlice& of = call.call.served[s];
        EXPECT_EQ(of.sent, none ? 0 : bytes(where == "both" ? "topk" : "dense", slice));
        EXPECT_EQ(of.answered, none ? 0 : bytes("topk", slice));
        sent += of.sent;
        answered += of.answered;
      }
      EXPECT_EQ(call.bytes, sent);
      EXPECT_EQ(call.call.pull, answered);
      const auto exchange = scheme(where)->Open(unit, kWorkers);
      exchange->Begin(StepOf(0));
      exchange->NextCall();
      EXPECT_EQ(exchange->Encode(2, test::Normals(numel, 1)).size(), sent) << numel;
    }
  }
}

// The unit says what is sent whole, not its slices, which are shorter and have no rows.
TEST(ServedSlices, FollowTheRuleOfTheirUnit) {
  Unit matrix = test::MakeUnit(600);
  matrix.shape = {20, 30};
  const Unit vector = test::MakeUnit(300);
  const auto scheme = MakeScheme("topk:where=both,min_numel=400,vectors=off,servers=3");
  const auto elements = [&](const Unit& unit) {
    const auto exchange = scheme->Open(unit, kWorkers);
    const auto update = test::RunStep(*exchange, StepOf(0), Gradients(unit.numel, 0));
    EXPECT_EQ(exchange->ElementsSent(), scheme->ElementsSent(unit, kDensity));
    return std::ranges::count_if(update, [](float u) { return u != 0; });
  };
  EXPECT_EQ(elements(matrix), 3 * 4);
  EXPECT_EQ(elements(vector), 300);
  EXPECT_EQ(*scheme->MessageBytes(vector, kDensity), 3 * (16 + 400));
}

TEST(ServedSlices, ChargeWorkersAsUnitsOfABucketAndServersAlone) {
  constexpr int kServers = 5;
  const auto plan = [](const std::string& options, int64_t numel) {
    return MakeScheme("topk:where=both" + options)->Plan(test::MakeUnit(numel), 0.1, 6)->front();
  };
  const CollectiveCall all = plan(",servers=5", 1000).call;
  const CollectiveCall one = plan("", 1000 / kServers).call;
  const auto expect = [](const WorkList& works, const WorkList& slice, int64_t sets) {
    WorkList single;
    AddWork(slice, single);
    ASSERT_EQ(works.size(), single.size());
    for (size_t i = 0; i < works.size(); ++i) {
      EXPECT_EQ(works[i].kernel, single[i].kernel);
      EXPECT_EQ(works[i].elements, kServers * single[i].elements);
      EXPECT_EQ(works[i].launches, kServers * single[i].launches);
      EXPECT_EQ(works[i].sets, sets * single[i].sets);
    }
  };
  expect(all.encode, one.encode, 1);
  expect(all.decode, one.decode, 1);
  expect(all.serve, one.serve, kServers);
}

// Equal slices of the gradient are rounded differently.
TEST(ServedSlices, DrawForThemselves) {
  const std::vector<float> half = test::Normals(256, 5);
  std::vector<float> gradient = half;
  gradient.insert(gradient.end(), half.begin(), half.end());
  for (const std::string text : {"qsgd:where=server", "randomk:where=both"}) {
    const auto exchange =
        MakeScheme(text + ",servers=2", {.error_feedback = false})->Open(test::MakeUnit(512), 1);
    const double parameter = text[0] == 'q' ? 2 : 0.1;
    const auto update = test::RunStep(*exchange, StepOf(0, parameter), {gradient});
    EXPECT_FALSE(std::equal(update.begin(), update.begin() + 256, update.begin() + 256)) << text;
  }
}

TEST(ServedSlices, HaveTheErrorsOfTheirSelections) {
  const Unit unit = test::MakeUnit(kNumel);
  const std::vector<float> values = test::Normals(kNumel, 3);
  const std::vector<double> parameters = {0.5, kDensity};
  const auto errors = MakeScheme("topk:where=server,servers=3")
                          ->SquaredErrors(unit, values, parameters, {.seed = 1});
  for (size_t p = 0; p < parameters.size(); ++p) {
    double expected = 0;
    for (const Server& server : Servers(kNumel, 3)) {
      Values rest(server.size);
      const auto begin = values.begin() + static_cast<int64_t>(server.begin);
      Kept(Values(begin, begin + static_cast<int64_t>(server.size)),
           static_cast<size_t>(parameters[p] * static_cast<double>(server.size)), rest);
      for (const double x : rest) expected += x * x;
    }
    EXPECT_NEAR(errors[p], expected, 1e-3 * expected);
  }
}

TEST(ServedSlices, RefuseWhatNoServerDoes) {
  const auto message = [](const std::string& text) { return MessageOf([&] { MakeScheme(text); }); };
  EXPECT_NE(message("topk:servers=2").find("1 without where=server or where=both"),
            std::string::npos);
  EXPECT_NE(message("topk:where=after-mean,servers=2").find("1 without where=server"),
            std::string::npos);
  EXPECT_NE(message("topk:where=server,servers=0").find("1 to 65536"), std::string::npos);
  EXPECT_NE(message("sidco:where=both,servers=2").find("depend on the data"), std::string::npos);
  // A message with another length than that of its slices together adds nothing.
  const auto exchange = MakeScheme("topk:where=both,servers=2")->Open(test::MakeUnit(kNumel), 1);
  exchange->Begin(StepOf(0));
  exchange->NextCall();
  Message sent = exchange->Encode(0, test::Normals(kNumel, 1));
  sent.bytes.pop_back();
  EXPECT_THROW(exchange->Accumulate(0, sent.bytes), Error);
}

}  // namespace
}  // namespace legacy::served_slices_test
