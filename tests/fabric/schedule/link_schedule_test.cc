#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "ns3-module/fabric/schedule/link-schedule.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::link_schedule_test {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
constexpr int64_t kMega = 1'000'000;

// 2 Mbit/s for a second, nothing for a second, 8 Mbit/s for a second, repeating.
LinkSchedule Repeating() {
  return LinkSchedule({{0, 2 * kMega}, {kSecond, 0}, {2 * kSecond, 8 * kMega}}, 3 * kSecond);
}

TEST(LinkScheduleTest, RatesAndChanges) {
  const LinkSchedule schedule = Repeating();
  EXPECT_EQ(schedule.RateAt(0), 2 * kMega);
  EXPECT_EQ(schedule.RateAt(kSecond - 1), 2 * kMega);
  EXPECT_EQ(schedule.RateAt(kSecond), 0);
  EXPECT_EQ(schedule.RateAt(302 * kSecond), 8 * kMega);
  EXPECT_EQ(schedule.NextChange(0), kSecond);
  EXPECT_EQ(schedule.NextChange(2 * kSecond), 3 * kSecond);
  EXPECT_EQ(schedule.MaxRate(), 8 * kMega);
  EXPECT_EQ(schedule.MeanRate(), 3'333'333);
  const LinkSchedule once({{0, kMega}, {kSecond, 5 * kMega}});
  EXPECT_EQ(once.RateAt(100 * kSecond), 5 * kMega);
  EXPECT_EQ(once.NextChange(kSecond), kNever);
  EXPECT_TRUE(LinkSchedule({{0, kMega}}).Constant());
  EXPECT_EQ(LinkSchedule({{0, kMega}, {kSecond, kMega}}, 2 * kSecond).NextChange(0), kNever);
}

TEST(LinkScheduleTest, BitsEndWhenTheyHaveLeft) {
  const LinkSchedule schedule = Repeating();
  const auto end = [&](double start, double bytes) {
    return static_cast<double>(schedule.Finish(static_cast<TimeNs>(start * 1e9), 8 * bytes)) / 1e9;
  };
  EXPECT_DOUBLE_EQ(end(0, 125'000), 0.5);
  EXPECT_DOUBLE_EQ(end(0.5, 125'000), 1.0);
  EXPECT_DOUBLE_EQ(end(0.5, 250'000), 2.125);
  EXPECT_DOUBLE_EQ(end(1.2, 1e6), 3.0);
  EXPECT_DOUBLE_EQ(end(0, 5e6), 12.0);
  EXPECT_EQ(LinkSchedule({{0, kMega}, {kSecond, 0}}).Finish(0, 2e6), kNever);
  EXPECT_EQ(LinkSchedule({{0, kMega}, {kSecond, 0}}).Finish(0, 1e6), kSecond);
}

// Walks from change to change, which needs no prefix sums.
TimeNs Walked(const LinkSchedule& schedule, TimeNs start, double bits) {
  TimeNs at = start;
  while (true) {
    const TimeNs next = schedule.NextChange(at);
    const auto rate = static_cast<double>(schedule.RateAt(at));
    const double left = rate * static_cast<double>(next - at) / 1e9;
    if (rate > 0 && (next == kNever || left >= bits)) return at + RoundedTime(bits / rate * 1e9);
    if (next == kNever) return kNever;
    bits -= left;
    at = next;
  }
}

TEST(LinkScheduleTest, FinishEqualsAWalkFromChangeToChange) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    const auto draw = [&](uint64_t key, uint64_t bound) {
      return Reduce(HashWords({seed, key}), bound);
    };
    std::vector<RatePoint> points;
    TimeNs at = 0;
    for (uint64_t i = 0; i < 1 + draw(0, 6); ++i) {
      points.push_back({at, static_cast<int64_t>(draw(10 + i, 4)) * kMega});
      at += 1 + static_cast<TimeNs>(draw(20 + i, 2'000'000'000));
    }
    points.front().rateBps += kMega;
    LinkSchedule schedule(points, draw(1, 2) ? at : kNever);
    schedule = schedule.Shifted(static_cast<TimeNs>(draw(2, 3'000'000'000)));
    schedule = schedule.Scaled(0.5 + static_cast<double>(draw(3, 4)));
    if (draw(4, 2)) {
      const auto from = static_cast<TimeNs>(draw(5, 4'000'000'000));
      schedule = schedule.Without({from, from + 1 + static_cast<TimeNs>(draw(6, 2'000'000'000))});
    }
    const auto start = static_cast<TimeNs>(draw(7, 4'000'000'000));
    const double bits = 1e3 + static_cast<double>(draw(8, 50'000'000));
    const TimeNs expected = Walked(schedule, start, bits);
    const TimeNs found = schedule.Finish(start, bits);
    if (expected == kNever) {
      EXPECT_EQ(found, kNever) << seed;
      continue;
    }
    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(expected), 10) << seed;
    EXPECT_NEAR(schedule.Bits(start, found), bits, 100) << seed;
  }
}

TEST(LinkScheduleTest, Outages) {
  const LinkSchedule line({{0, 8 * kMega}});
  const LinkSchedule cut = line.Without({60 * kSecond, 90 * kSecond});
  EXPECT_EQ(cut.RateAt(60 * kSecond), 0);
  EXPECT_EQ(cut.RateAt(90 * kSecond), 8 * kMega);
  EXPECT_EQ(cut.NextChange(0), 60 * kSecond);
  EXPECT_EQ(cut.NextChange(70 * kSecond), 90 * kSecond);
  EXPECT_EQ(cut.NextChange(90 * kSecond), kNever);
  EXPECT_EQ(cut.Finish(59 * kSecond, 16e6), 91 * kSecond);
  const LinkSchedule ended = Repeating().Without({4 * kSecond, kNever});
  EXPECT_EQ(ended.NextChange(5 * kSecond), kNever);
  EXPECT_EQ(ended.Finish(5 * kSecond, 1), kNever);
  EXPECT_NE(cut.Hash(), line.Hash());
  EXPECT_EQ(line.Hash(), LinkSchedule({{0, 8 * kMega}}).Hash());
}

TEST(LinkScheduleTest, RefusesWhatIsNoSchedule) {
  const auto refused = [](const std::vector<RatePoint>& points, TimeNs period) {
    return MessageOf([&] { LinkSchedule(points, period); });
  };
  EXPECT_NE(refused({}, kNever).find("none"), std::string::npos);
  EXPECT_NE(refused({{1, 1}}, kNever).find("first at 0 s"), std::string::npos);
  EXPECT_NE(refused({{0, 1}, {0, 2}}, kNever).find("after the point before"), std::string::npos);
  EXPECT_NE(refused({{0, -1}}, kNever).find("-1"), std::string::npos);
  EXPECT_NE(refused({{0, 0}}, kNever).find("at least one above 0"), std::string::npos);
  EXPECT_NE(refused({{0, 1}, {5, 2}}, 5).find("after the last point"), std::string::npos);
  const LinkSchedule line({{0, kMega}});
  EXPECT_THROW(line.Scaled(0), Error);
  EXPECT_THROW(line.Scaled(1e-9), Error);
  EXPECT_THROW(line.Shifted(-1), Error);
  EXPECT_THROW(line.Without({5, 5}), Error);
}

}  // namespace
}  // namespace legacy::fabric::link_schedule_test
