#include "ns3-module/fabric/population/availability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "ns3-module/fabric/population/dropout.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::availability_test {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs kHour = 3600 * kSecond;

std::shared_ptr<const Availability> Make(const std::string& text, uint64_t seed = 1) {
  return MakeAvailability(text, seed, "availability");
}

std::string TraceFile(const std::string& rows) {
  const std::string path = OwnFolder() + "availability_test.csv";
  std::ofstream(path) << "client,start_s,end_s\n" << rows;
  return path;
}

constexpr const char* kTraceRows =
    "a,0,10\na,20,30\na,30,45\na,90,100\n"
    "b,5,6\n"
    "c,0,100\n";

class Kinds : public ::testing::TestWithParam<const char*> {};

// The change is the first: a bisection of the open interval finds no other state, and at a hundred
// times inside there is none.
TEST_P(Kinds, NextChangeIsRightAtManyRandomTimes) {
  std::string text = GetParam();
  if (text == "trace") text += ":file=" + TraceFile(kTraceRows);
  const auto availability = Make(text);
  const TimeNs span = text[0] == 't' ? 300 * kSecond : 40 * kDay;
  int never = 0;
  for (uint64_t i = 0; i < 25'000; ++i) {
    const auto client = static_cast<int64_t>(Reduce(HashWords({i, 1}), 1000));
    const auto t = static_cast<TimeNs>(UnitInterval(HashWords({i, 2})) * static_cast<double>(span));
    const double longitude = 360 * UnitInterval(HashWords({i, 3})) - 180;
    const bool now = availability->Available(client, longitude, t);
    const TimeNs next = availability->NextChange(client, longitude, t);
    ASSERT_GT(next, t);
    const TimeNs end = next == kNever ? t + span : next;
    if (next == kNever) {
      ++never;
    } else {
      ASSERT_NE(availability->Available(client, longitude, next), now) << client << " " << t;
      ASSERT_EQ(availability->Available(client, longitude, next - 1), now) << client << " " << t;
    }
    for (uint64_t j = 0; j < 20; ++j) {
      const double part = UnitInterval(HashWords({i, j, 4}));
      const TimeNs inside = t + static_cast<TimeNs>(part * static_cast<double>(end - t));
      ASSERT_EQ(availability->Available(client, longitude, inside), now)
          << client << " " << t << " " << inside;
    }
  }
  EXPECT_EQ(never > 0, text[0] == 't');  // client c of the trace is always available
}

INSTANTIATE_TEST_SUITE_P(All, Kinds,
                         ::testing::Values("nightly",
                                           "nightly:chance=1,length=20h,length_spread=6h",
                                           "sessions", "sessions:on=15m,off=5m", "trace"),
                         [](const auto& info) { return "kind" + std::to_string(info.index); });

TEST(Availability, DoesNotDependOnTheOrderOfAsking) {
  for (const char* text : {"nightly", "sessions:on=30m,off=20m"}) {
    const auto forward = Make(text), backward = Make(text);
    std::vector<TimeNs> changes;
    for (int64_t client = 0; client < 50; ++client) {
      for (int hour = 0; hour < 48; ++hour) {
        changes.push_back(forward->NextChange(client, 30, hour * kHour));
      }
    }
    for (int64_t client = 49; client >= 0; --client) {
      for (int hour = 47; hour >= 0; --hour) {
        ASSERT_EQ(backward->NextChange(client, 30, hour * kHour), changes[client * 48 + hour]);
      }
    }
    EXPECT_NE(Make(text, 2)->NextChange(0, 30, 0), changes[0]);
  }
}

// With start 22h +- 2h, 7 h +- 1 h, and a chance of .8: at 02:00 local time a client is available
// with .8 (P[start < 2h] - P[end < 2h]), where start is N(22, 2) and end N(29, sqrt(5)).
TEST(Availability, NightlyFollowsLocalTimeAndItsDistribution) {
  const auto nightly = Make("nightly");
  const auto share = [&](double longitude, double hour) {
    int available = 0;
    for (int64_t client = 0; client < 20'000; ++client) {
      const auto t = static_cast<TimeNs>(hour * static_cast<double>(kHour)) + 5 * kDay;
      available += nightly->Available(client, longitude, t);
    }
    return available / 20'000.0;
  };
  const auto phi = [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; };
  const double two = .8 * (phi((26 - 22) / 2.) - phi((26 - 29) / std::sqrt(5)));
  EXPECT_NEAR(share(0, 2), two, .01);
  EXPECT_NEAR(share(90, 20), two, .01);    // six hours east: local time is 02:00
  EXPECT_NEAR(share(-120, 10), two, .01);  // eight hours west
  EXPECT_NEAR(share(0, 14), 0, .002);
  const auto zone = Make("nightly:zone=0,spread=0s,length_spread=0s,chance=1");
  EXPECT_FALSE(zone->Available(3, 90, 22 * kHour - 1));
  EXPECT_TRUE(zone->Available(3, 90, 22 * kHour));
  EXPECT_EQ(zone->NextChange(3, 90, 22 * kHour), 29 * kHour);
  EXPECT_TRUE(zone->Available(3, 90, 0));  // the night before reaches into the first day
  EXPECT_EQ(Make("nightly:chance=0")->NextChange(0, 0, 0), kNever);
  EXPECT_EQ(Make("nightly:chance=1,spread=0s,length=24h,length_spread=0s")->NextChange(0, 0, 0),
            kNever);
}

TEST(Availability, SessionsAreStationary) {
  const auto sessions = Make("sessions:on=1h,off=3h");
  for (double hour : {0.0, 0.5, 11.0, 23.9, 24.1}) {
    int available = 0;
    for (int64_t client = 0; client < 20'000; ++client) {
      available += sessions->Available(client, 0, static_cast<TimeNs>(hour * 3600e9));
    }
    EXPECT_NEAR(available / 20'000.0, .25, .01) << hour;
  }
  // Away from midnight, what is left of a session is exponential with its mean.
  double left = 0;
  int counted = 0;
  for (int64_t client = 0; client < 20'000; ++client) {
    if (!sessions->Available(client, 0, kHour)) continue;
    left += static_cast<double>(sessions->NextChange(client, 0, kHour) - kHour) / 3600e9;
    ++counted;
  }
  EXPECT_NEAR(left / counted, 1, .04);
}

TEST(Availability, TracesWrapAndClientsShareThem) {
  const auto trace = Make("trace:file=" + TraceFile(kTraceRows));
  EXPECT_TRUE(trace->Available(0, 0, 0));
  EXPECT_FALSE(trace->Available(0, 0, 10 * kSecond));
  EXPECT_EQ(trace->NextChange(0, 0, 20 * kSecond), 45 * kSecond);   // rows that touch are one
  EXPECT_EQ(trace->NextChange(0, 0, 95 * kSecond), 110 * kSecond);  // over the period's end
  EXPECT_EQ(trace->NextChange(4, 0, 7 * kSecond), 105 * kSecond);   // client 4 is b
  EXPECT_EQ(trace->NextChange(2, 0, 0), kNever);
}

TEST(Availability, BernoulliDrawsByChoice) {
  const auto bernoulli = Make("bernoulli:p=0.3");
  int joined = 0;
  for (uint64_t choice = 0; choice < 100; ++choice) {
    for (int64_t client = 0; client < 200; ++client) joined += bernoulli->Joins(client, choice);
  }
  EXPECT_NEAR(joined / 20'000.0, .3, .01);
  EXPECT_FALSE(bernoulli->DependsOnTime());
  EXPECT_TRUE(bernoulli->Draws());
  EXPECT_FALSE(Make("nightly")->Draws());
}

TEST(Availability, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) { return MessageOf([&] { Make(text); }); };
  const auto rows = [&](const std::string& text) {
    const std::string path = TraceFile(text);
    const std::string message = error("trace:file=" + path);
    return message.substr(std::min(message.size(), path.size()));
  };
  EXPECT_EQ(error("daily").substr(0, 40), "availability: got 'daily'; allowed: alwa");
  EXPECT_EQ(error("bernoulli:p=1.1"), "availability: p: got '1.1'; allowed: a number from 0 to 1");
  EXPECT_EQ(error("bernoulli").substr(0, 31), "availability: got 'bernoulli'; ");
  EXPECT_EQ(error("nightly:zone=UTC"), "availability: zone: got 'UTC'; allowed: client, 0");
  EXPECT_EQ(error("sessions:on=1s"), "availability: on: got '1s'; allowed: 1 minute to 8760h");
  EXPECT_EQ(error("always:p=1").substr(0, 42), "availability: unknown key of always: got '");
  EXPECT_EQ(rows("a,5,9\na,7,12\n"),
            ":3: start_s: got '7'; allowed: not before the end of the client's row above, 9 s");
  EXPECT_EQ(rows("a,5,5\n"), ":2: end_s: got '5'; allowed: after its start");
  EXPECT_EQ(rows(""), ": no rows");
}

// Of 65 tasks at least 50 survive dropout .05, .1, .2, .3 with these probabilities.
TEST(Dropout, SurvivorsAreBinomial) {
  const std::pair<const char*, double> oracles[] = {
      {"0.05", 1.000000}, {"0.1", .999462}, {"0.2", .784586}, {"0.3", .138595}};
  for (const auto& [text, probability] : oracles) {
    const Dropout dropout = Dropout::Parse(text, 7, "dropout");
    double exact = 0;  // the oracle's own arithmetic
    for (int k = 50; k <= 65; ++k) {
      const double p = dropout.Chance();
      exact += std::exp(std::lgamma(66) - std::lgamma(k + 1) - std::lgamma(66 - k) +
                        k * std::log1p(-p) + (65 - k) * std::log(p));
    }
    EXPECT_NEAR(exact, probability, 1e-6);
    constexpr int kRounds = 20'000;
    int enough = 0;
    for (uint64_t round = 0; round < kRounds; ++round) {
      int survivors = 0;
      for (int64_t client = 0; client < 65; ++client) {
        survivors += !dropout.LossOf(round, client).lost;
      }
      enough += survivors >= 50;
    }
    const double deviation = std::sqrt(probability * (1 - probability) / kRounds);
    EXPECT_NEAR(enough / double{kRounds}, probability, 4 * deviation + 1e-9) << text;
  }
}

TEST(Dropout, SaysWhereATaskIsLost) {
  const Dropout work = Dropout::Parse("1", 7, "dropout");
  const Dropout upload = Dropout::Parse("1:where=upload", 7, "dropout");
  const Dropout any = Dropout::Parse("1:where=any", 7, "dropout");
  double part = 0, stages = 0;
  for (uint64_t key = 0; key < 10'000; ++key) {
    ASSERT_EQ(work.LossOf(key, 1).stage, TaskStage::Work);
    ASSERT_EQ(upload.LossOf(key, 1).stage, TaskStage::Upload);
    stages += static_cast<int>(any.LossOf(key, 1).stage) / 1e4;
    part += work.LossOf(key, 1).part / 1e4;
  }
  EXPECT_NEAR(stages, 1, .04);
  EXPECT_NEAR(part, .5, .02);
  const Dropout hazard = Dropout::Parse("hazard:mean=10m", 7, "dropout");
  double mean = 0;
  for (uint64_t key = 0; key < 10'000; ++key) {
    mean += static_cast<double>(hazard.HazardOf(key, 3)) / 600e9 / 1e4;
  }
  EXPECT_NEAR(mean, 1, .04);
  EXPECT_FALSE(hazard.LossOf(0, 0).lost);
  EXPECT_EQ(work.HazardOf(0, 0), kNever);
  EXPECT_FALSE(Dropout::Parse("off", 1, "d").LossOf(0, 0).lost);
  EXPECT_NE(MessageOf([] { Dropout::Parse("nan", 1, "dropout"); }).find("got 'nan'; allowed: a p"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { Dropout::Parse("hazard", 1, "dropout"); }).find("mean: got 'nothing'"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { Dropout::Parse("0.1:where=x", 1, "d"); }).find("work, upload, any"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::fabric::availability_test
