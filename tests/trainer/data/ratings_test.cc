// Ratings, and items that users did not take.
#include "trainer/data/ratings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"
#include "tests/trainer/data/temporary_folder.h"
#include "trainer/data/tastes.h"

namespace legacy::ratings_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* kHeader = "userId,movieId,rating,timestamp\n";

class RatingsTest : public testing::Test {
 protected:
  Ratings Read(const std::string& text) { return ReadRatings(root_.WriteText("r", text), 0.5, 5); }
  void Refuses(const std::string& text, const std::string& where, const std::string& found,
               const std::string& allowed) {
    EXPECT_THAT(
        [&] { Read(text); },
        ThrowsMessage<Error>(AllOf(HasSubstr("/r" + where), HasSubstr(found), HasSubstr(allowed))));
  }
  TemporaryFolder root_;
};

// User 7 took 30 last; user 3's last two have the same time, so that the later line counts.
TEST_F(RatingsTest, TheLastItemOfEachUserIsHeldOut) {
  const std::string lines =
      "7,10,3.5,100\n3,20,5,50\n7,30,0.5,300\n7,20,1,200\n3,10,4,90\n3,40,4,90\n9,10,2,1\n";
  for (const std::string& header : {std::string(kHeader), std::string()}) {
    const Ratings ratings = Read(header + lines);
    EXPECT_EQ(ratings.users, 3);  // 7, 3, 9
    EXPECT_EQ(ratings.items, 4);  // 10, 20, 30, 40
    EXPECT_EQ(ratings.lines, 7);
    EXPECT_THAT(ratings.ItemsOf(0), ElementsAre(0, 1));
    EXPECT_THAT(ratings.ItemsOf(1), ElementsAre(0, 1));
    EXPECT_THAT(ratings.ItemsOf(2), ElementsAre(0));
    EXPECT_THAT(ratings.held_out, ElementsAre(2, 3, -1));
    EXPECT_THAT(ratings.EvaluatedUsers(), ElementsAre(0, 1));
    EXPECT_THAT(ratings.TrainUsers(), ElementsAre(0, 0, 1, 1, 2));
    for (int64_t pair = 0; pair < ratings.pairs(); ++pair) {
      EXPECT_EQ(ratings.UserOf(pair), ratings.TrainUsers()[static_cast<size_t>(pair)]);
    }
    EXPECT_TRUE(ratings.Has(0, 2));
    EXPECT_FALSE(ratings.Trains(0, 2));
    EXPECT_FALSE(ratings.Has(0, 3));
  }
}

TEST_F(RatingsTest, TheFormOfMovielens1MIsTheSame) {
  const Ratings ratings = Read("1::1193::5::978300760\r\n1::661::3::978302109\r\n");
  EXPECT_EQ(ratings.users, 1);
  EXPECT_THAT(ratings.train_items, ElementsAre(0));
  EXPECT_THAT(ratings.held_out, ElementsAre(1));
}

TEST_F(RatingsTest, RepeatedItemsCountOnce) {
  const Ratings ratings = Read("1,5,3,10\n1,6,3,20\n1,5,4,30\n2,5,1,1\n2,5,1,2\n");
  EXPECT_EQ(ratings.repeated, 2);
  EXPECT_THAT(ratings.held_out, ElementsAre(0, -1));  // item 5, again at 30; user 2 has one item
  EXPECT_THAT(ratings.ItemsOf(0), ElementsAre(1));
  EXPECT_THAT(ratings.ItemsOf(1), ElementsAre(0));
}

TEST_F(RatingsTest, MalformedLinesAreRefusedWithTheirNumber) {
  Refuses("", "", "no ratings", "lines of user");
  Refuses(kHeader, "", "no ratings", "lines of user");
  Refuses("1,2,3,4\n1,2,3\n", ":2", "'1,2,3'", "userId,movieId");
  Refuses("1,2,3,4\n1,2,3,4,5\n", ":2", "'1,2,3,4,5'", "userId,movieId");
  Refuses("1::2::3::4\n\n", ":2", "''", "UserID::MovieID");
  Refuses(std::string(kHeader) + "1,2,5.5,4\n", ":2", "rating 5.5", "0.5 to 5");
  Refuses("1,2,x,4\n", ":1", "rating x", "0.5 to 5");
  Refuses("1,2,nan,4\n", ":1", "rating nan", "0.5 to 5");
  Refuses("-1,2,3,4\n", ":1", "user -1", "users from 0");
  Refuses("1,2.5,3,4\n", ":1", "item 2.5", "items from 0");
  Refuses("1,2,3,\n", ":1", "time ", "times from 0");
  Refuses("1,2,3,99999999999999999999\n", ":1", "time 9999", "times from 0");
  Refuses("1,2,3,4\n" + std::string(2'000'000, 'x'), ":2", "4096 bytes", "ratings");
}

// Lines are read in parts of a megabyte.
TEST_F(RatingsTest, ManyLinesJoin) {
  std::string text;
  constexpr int kUsers = 2000, kEach = 50;
  for (int i = 0; i < kUsers * kEach; ++i) {
    text += std::to_string(100'000'000 + i / kEach) + "," + std::to_string(i % kEach) + ",3," +
            std::to_string(1'000'000'000 + i) + "\n";
  }
  ASSERT_GT(text.size(), size_t{1} << 21);
  const Ratings ratings = Read(text);
  EXPECT_EQ(ratings.users, kUsers);
  EXPECT_EQ(ratings.items, kEach);
  EXPECT_EQ(ratings.pairs(), kUsers * (kEach - 1));
  EXPECT_THAT(ratings.held_out, ::testing::Each(kEach - 1));
}

TEST_F(RatingsTest, TheCacheGivesTheSame) {
  const std::string file = root_.WriteText("mine,csv", std::string("")).parent_path() / "mine.csv";
  root_.WriteText("mine.csv", "7,10,3.5,100\n3,20,5,50\n7,30,0.5,300\n");
  const CatalogEntry entry = FindInCatalog("ratings:file=" + file + ",negatives=1");
  const Ratings first = LoadRatings(entry, root_.path());
  const Ratings second = LoadRatings(entry, root_.path());
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_FALSE(LoadRatings(entry, root_.path(), false).from_cache);
  EXPECT_EQ(first.starts, second.starts);
  EXPECT_EQ(first.train_items, second.train_items);
  EXPECT_EQ(first.held_out, second.held_out);
  EXPECT_EQ(second.negatives, 1);
  EXPECT_THROW(LoadRatings(FindInCatalog("ratings:most=4,file=" + file), root_.path()), Error);
  EXPECT_THROW(LoadRatings(FindInCatalog("ptb"), root_.path()), Error);
}

TEST(NegativesTest, AreDifferentItemsThatTheUserLacks) {
  const Ratings ratings = LoadRatings(FindInCatalog("tastes:users=40,items=60,per_user=10"), "");
  std::map<int32_t, int> drawn;
  for (int32_t user = 0; user < ratings.users; ++user) {
    const std::vector<int32_t> negatives = EvaluationNegatives(ratings, user, 30, 5);
    EXPECT_EQ(std::set<int32_t>(negatives.begin(), negatives.end()).size(), 30u);
    for (const int32_t item : negatives) {
      EXPECT_FALSE(ratings.Has(user, item));
      ++drawn[item];
    }
    EXPECT_EQ(EvaluationNegatives(ratings, user, 30, 5), negatives);
    EXPECT_NE(EvaluationNegatives(ratings, user, 30, 6), negatives);
    // These are all negatives that there are.
    EXPECT_EQ(EvaluationNegatives(ratings, user, 50, 5).size(), 50u);
    EXPECT_THAT([&] { EvaluationNegatives(ratings, user, 51, 5); },
                ThrowsMessage<Error>(HasSubstr("allowed: 0 to 50")));
  }
  EXPECT_EQ(drawn.size(), 60u);
  EXPECT_NE(EvaluationNegatives(ratings, 0, 30, 5), EvaluationNegatives(ratings, 1, 30, 5));
}

// A training must not learn from its draws which item is held out.
TEST(NegativesTest, OfATrainingMayBeTheHeldOutItem) {
  const Ratings ratings = LoadRatings(FindInCatalog("tastes:users=1,items=4,per_user=3"), "");
  RandomStream random({.seed = 1});
  std::set<int32_t> seen;
  for (int i = 0; i < 100; ++i) {
    seen.insert(DrawNegative(ratings, 0, random));
    EXPECT_FALSE(ratings.Trains(0, *seen.rbegin()));
  }
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains(ratings.held_out[0]));
}

TEST(TastesTest, KnowingThemBeatsPopularityWhichBeatsChance) {
  const Ratings ratings = LoadRatings(FindInCatalog("tastes"), "");
  EXPECT_EQ(ratings.users, 1000);
  EXPECT_EQ(ratings.items, 1500);
  EXPECT_EQ(ratings.pairs(), 19'000);
  EXPECT_EQ(ratings.EvaluatedUsers().size(), 1000u);
  const TasteModel model(ratings.users, ratings.items);
  std::vector<int> popularity(1500);
  for (const int32_t item : ratings.train_items) ++popularity[static_cast<size_t>(item)];
  int known = 0, popular = 0;
  for (int32_t user = 0; user < ratings.users; ++user) {
    const int32_t held_out = ratings.held_out[static_cast<size_t>(user)];
    int liked_more = 0, more_popular = 0;
    for (const int32_t item : EvaluationNegatives(ratings, user, 99, 1)) {
      liked_more += model.Liking(user, item) > model.Liking(user, held_out) ? 1 : 0;
      more_popular +=
          popularity[static_cast<size_t>(item)] > popularity[static_cast<size_t>(held_out)] ? 1 : 0;
    }
    known += liked_more < 10 ? 1 : 0;
    popular += more_popular < 10 ? 1 : 0;
  }
  EXPECT_GT(known, 950);
  EXPECT_GT(popular, 300);  // chance: 100
  EXPECT_LT(popular, 700);
}

}  // namespace
}  // namespace legacy::ratings_test
