// Which experts tokens go to, and which ranks divide what.
#include "trainer/clock/experts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/message_of.h"
#include "trainer/clock/layout.h"

namespace legacy::experts_test {
namespace {

using Kind = ExpertLoad::Kind;

TEST(ExpertLoad, GivesSharesToRanks) {
  EXPECT_TRUE(ExpertShares({}, 8, 2, 4).empty());
  // 1, 1/2, 1/3, 1/4 of four experts.
  const std::vector<double> shares = ExpertShares({.kind = Kind::kZipf, .amount = 1}, 4, 1, 2);
  const double sum = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4;
  ASSERT_EQ(shares.size(), 4u);
  for (const size_t rank : {0, 1}) {
    EXPECT_DOUBLE_EQ(shares[2 * rank], 1.5 / sum);
    EXPECT_DOUBLE_EQ(shares[2 * rank + 1], (1.0 / 3 + 1.0 / 4) / sum);
  }
  EXPECT_DOUBLE_EQ(SlowestShare({.kind = Kind::kZipf, .amount = 1}, 4, 1, 2, 100), 3 / sum);
}

// No expert gets a token twice: with two experts a token, none has more than half of all.
TEST(ExpertLoad, SendsNoTokenTwiceToAnExpert) {
  for (const double amount : {0.5, 1.0, 3.0, 16.0}) {
    const std::vector<double> shares =
        ExpertShares({.kind = Kind::kZipf, .amount = amount}, 8, 2, 8);
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_LE(shares[i], 0.5 + 1e-12);
      if (i > 0) EXPECT_LE(shares[i], shares[i - 1] + 1e-12);
    }
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.begin() + 8, 0.0), 1, 1e-12);
  }
  // Where only one has any, the others share the rest.
  const std::vector<double> one =
      ExpertShares({.kind = Kind::kCounts, .counts = {{5, 0, 0, 0, 0}}}, 5, 2, 5);
  EXPECT_DOUBLE_EQ(one[0], 0.5);
  EXPECT_DOUBLE_EQ(one[4], 0.125);
  // All experts for each token: equal shares, whatever is asked for.
  for (const double share : ExpertShares({.kind = Kind::kZipf, .amount = 2}, 4, 4, 4)) {
    EXPECT_DOUBLE_EQ(share, 0.25);
  }
}

TEST(ExpertLoad, RoundsBuffersUpToWholeTokens) {
  const auto share = [](double factor, double tokens) {
    return SlowestShare({.kind = Kind::kCapacity, .amount = factor}, 8, 2, 4, tokens);
  };
  EXPECT_DOUBLE_EQ(share(1.25, 4096), 1.25);
  // An expert's even share of four ranks' 3 tokens is 3; of one rank's, 3/4.
  EXPECT_DOUBLE_EQ(share(1, 3), 1);
  EXPECT_DOUBLE_EQ(SlowestShare({.kind = Kind::kCapacity, .amount = 1}, 8, 2, 1, 3), 4.0 / 3);
  EXPECT_DOUBLE_EQ(SlowestShare({}, 8, 2, 4, 3), 1);
}

TEST(ExpertLoad, IsParsed) {
  const ExpertLoad capacity = ParseExpertLoad("capacity:1.5", "key");
  EXPECT_EQ(capacity.kind, Kind::kCapacity);
  EXPECT_EQ(capacity.amount, 1.5);
  EXPECT_EQ(ParseExpertLoad("balanced", "key").kind, Kind::kBalanced);
  for (const char* text : {"", "capacity", "capacity:", "capacity:-1", "zipf:x", "zipf:99", "/"}) {
    EXPECT_NE(MessageOf([&] { ParseExpertLoad(text, "key"); }).find("key"), std::string::npos)
        << text;
  }
}

// Ranks are ((stage D + data) C + context) T + part, and groups of experts follow each other among
// those of data and context.
TEST(ParallelLayout, NumbersRanks) {
  constexpr int kParts = 2, kContexts = 2, kData = 4, kStages = 3;
  constexpr int kRanks = kParts * kContexts * kData * kStages;
  const ParallelLayout layout = ParseParallel("tp=2,cp=2,ep=4,pp=3,sequence=off", "clock.parallel");
  EXPECT_EQ(DataRanks(layout, kRanks), kData * kContexts);
  const auto rank = [](int stage, int data, int context, int part) {
    return ((stage * kData + data) * kContexts + context) * kParts + part;
  };
  for (int stage = 0; stage < kStages; ++stage) {
    std::set<std::vector<int>> tensors, contexts, experts;
    for (int data = 0; data < kData; ++data) {
      for (int part = 0; part < kParts; ++part) {
        contexts.insert({rank(stage, data, 0, part), rank(stage, data, 1, part)});
        if (data % 2 == 1) continue;
        experts.insert({rank(stage, data, 0, part), rank(stage, data, 1, part),
                        rank(stage, data + 1, 0, part), rank(stage, data + 1, 1, part)});
      }
      for (int context = 0; context < kContexts; ++context) {
        tensors.insert({rank(stage, data, context, 0), rank(stage, data, context, 1)});
      }
    }
    const auto groups = [&](RankAxis axis) {
      const auto list = GroupsInStage(layout, kRanks, stage, axis);
      return std::set(list.begin(), list.end());
    };
    EXPECT_EQ(groups(RankAxis::kTensor), tensors);
    EXPECT_EQ(groups(RankAxis::kContext), contexts);
    EXPECT_EQ(groups(RankAxis::kExpert), experts);
  }
}

}  // namespace
}  // namespace legacy::experts_test
